import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GroupListing, GroupPosition } from '../../../src/client/admin-groups.js'
import { filterOf } from '../../../src/mirror/filters.js'
import { chooseGroups } from '../../../src/sync/groups/choose.js'
import { planGroup } from '../../../src/sync/groups/plan.js'
import { isDue } from '../../../src/sync/groups/renewal.js'

const listing = (
  ...groups: ReadonlyArray<readonly [groupId: string, type: string, state: string, coordinator?: number]>
): GroupListing => ({
  groups: groups.map(([groupId, type, state, coordinator = 1]) => ({ groupId, type, state, coordinator })),
  unanswered: new Map(),
})

describe('what the destination has of a group', () => {
  const standing = (source: string, destination: GroupListing) =>
    chooseGroups(listing(['g', source, 'Stable', 3]), destination, filterOf(['.*'], []))[0]!.destination

  it.each([
    ['classic', 'classic', 'Empty', { what: 'empty', coordinator: 1 }],
    ['consumer', 'classic', 'Empty', { what: 'empty', coordinator: 1 }],
    ['classic', 'streams', 'Empty', { what: 'empty', coordinator: 1 }],
    ['share', 'share', 'Empty', { what: 'empty', coordinator: 1 }],
    ['classic', 'classic', 'Dead', { what: 'empty', coordinator: 1 }],
    ['classic', 'classic', 'PreparingRebalance', { what: 'active' }],
    ['consumer', 'consumer', 'Reconciling', { what: 'active' }],
    ['streams', 'streams', 'NotReady', { what: 'active' }],
    ['classic', 'classic', 'a state of a later Kafka', { what: 'active' }],
    ['classic', 'classic', '', { what: 'active' }],
    ['classic', 'share', 'Empty', { what: 'other', type: 'share' }],
    ['share', 'classic', 'Stable', { what: 'other', type: 'classic' }],
    ['share', 'consumer', 'Empty', { what: 'other', type: 'consumer' }],
  ])('a %s group and there a %s one that is %j: %j', (source, type, state, expected) => {
    expect(standing(source, listing(['g', type, state]))).toEqual(expected)
  })

  it('nothing is absent, and of two listings during a move the one with members counts', () => {
    expect(standing('classic', listing(['h', 'classic', 'Stable']))).toEqual({ what: 'absent' })
    for (const states of [
      ['Empty', 'Stable'],
      ['Stable', 'Empty'],
    ] as const) {
      const twice = listing(['g', 'classic', states[0], 1], ['g', 'classic', states[1], 2])
      expect(standing('classic', twice)).toEqual({ what: 'active' })
    }
  })
})

it('the filter holds, and the group of the runners is never taken', () => {
  const source = listing(
    ['a', 'classic', 'Empty'],
    ['b', 'classic', 'Empty'],
    ['a.b', 'classic', 'Empty'],
    ['__kafka_mirrors', 'classic', 'Stable'],
  )
  const chosen = (include: string[], exclude: string[]) =>
    chooseGroups(source, listing(), filterOf(include, exclude)).map(({ groupId }) => groupId)
  expect(chosen(['.*'], [])).toEqual(['a', 'b', 'a.b'])
  expect(chosen(['__kafka_mirrors', 'a.b'], [])).toEqual(['a.b'])
  expect(chosen(['.*'], ['a.*'])).toEqual(['b'])
})

const at = (partition: number, offset: bigint, metadata = ''): GroupPosition => ({ topic: 't', partition, offset, metadata })
const bounds = (...logs: ReadonlyArray<readonly [start: bigint, end: bigint]>) =>
  new Map(logs.map(([logStartOffset, logEndOffset], partition) => [`t/${partition}`, { logStartOffset, logEndOffset }]))

describe('the plan of a group', () => {
  it.each([
    ['inside', 5n, 0n, 10n, 5n],
    ['at 0', 0n, 0n, 10n, 0n],
    ['beyond the end, which the copy has yet to reach', 20n, 0n, 10n, 10n],
    ['before the start', 2n, 4n, 10n, 4n],
    ['in a log that is empty', 7n, 0n, 0n, 0n],
    ['in a log that is empty and starts late', 7n, 9n, 9n, 9n],
    ['beyond 2^53', 9_007_199_254_740_993n, 0n, 2n ** 62n, 9_007_199_254_740_993n],
  ])('a position %s', (_, committed, start, end, expected) => {
    expect(planGroup([at(0, committed)], [], bounds([start, end]))).toEqual({ positions: [at(0, expected)], changes: 1 })
  })

  it('writes what differs, in offset or metadata, and leaves alone what only the destination has', () => {
    const wanted = [at(0, 5n), at(1, 6n, 'new'), at(2, 7n, 'same')]
    const current = [at(0, 4n), at(1, 6n, 'old'), at(2, 7n, 'same'), at(3, 9n)]
    const logs = bounds([0n, 9n], [0n, 9n], [0n, 9n], [0n, 9n])
    expect(planGroup(wanted, current, logs)).toEqual({ positions: [at(0, 5n), at(1, 6n, 'new')], changes: 2 })
    expect(planGroup(wanted, current, logs, true)).toEqual({ positions: wanted, changes: 2 })
    expect(planGroup(wanted, wanted, logs)).toEqual({ positions: [], changes: 0 })
    expect(planGroup(wanted, wanted, logs, true)).toEqual({ positions: wanted, changes: 0 })
  })

  it('waits where the bounds are unknown', () => {
    expect(planGroup([at(0, 5n), at(7, 5n)], [], bounds([0n, 9n]))).toEqual({ positions: [at(0, 5n)], changes: 1 })
  })

  it('changes nothing once it was carried out', () => {
    const position = fc.record({ partition: fc.nat(3), offset: fc.bigInt(0n, 50n), metadata: fc.constantFrom('', 'm') })
    const positions = fc.uniqueArray(position, { selector: ({ partition }) => partition })
    const log = fc.tuple(fc.bigInt(0n, 50n), fc.bigInt(0n, 50n)).map(([start, length]) => [start, start + length] as const)
    const logs = fc.array(log, { minLength: 4, maxLength: 4 })
    fc.assert(
      fc.property(positions, positions, logs, (a, b, ends) => {
        const wanted = a.map((one) => ({ topic: 't', ...one }))
        const current = b.map((one) => ({ topic: 't', ...one }))
        const known = bounds(...ends)
        const { positions: written } = planGroup(wanted, current, known)
        const after = [...current.filter(({ partition }) => !written.some((one) => one.partition === partition)), ...written]
        expect(planGroup(wanted, after, known)).toEqual({ positions: [], changes: 0 })
        for (const { partition, offset } of written) {
          expect(offset >= ends[partition]![0] && offset <= ends[partition]![1]).toBe(true)
        }
      }),
    )
  })
})

it('every group is renewed at least once in six hours, not all at the same time, and no more than a few times', () => {
  const [interval, window, hours] = [5_000, 15_000, 6 * 3_600_000]
  const from = 1_700_000_000_000
  const busiest = new Map<number, number>()
  for (let group = 0; group < 50; group++) {
    let times = 0
    for (let now = from; now < from + hours; now += interval) {
      if (!isDue(`group-${group}`, now, window)) continue
      times++
      busiest.set(now, (busiest.get(now) ?? 0) + 1)
    }
    expect(times).toBe(3)
  }
  expect(Math.max(...busiest.values())).toBeLessThan(5)
})

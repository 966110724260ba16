import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assignShards, type ShardMember } from '../../../src/mirror/assignor.js'
import { SHARDS, shardOf } from '../../../src/mirror/shards.js'

const members = fc
  .uniqueArray(fc.string({ minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 12 })
  .chain((ids) =>
    fc.tuple(
      ...ids.map((memberId) => fc.record({ memberId: fc.constant(memberId), owned: fc.array(fc.integer({ min: -1, max: SHARDS })) })),
    ),
  )

const next = (given: readonly ShardMember[]) => [...assignShards(given)].map(([memberId, owned]) => ({ memberId, owned }))
const totals = (given: readonly ShardMember[]) => given.map(({ owned }) => owned.length)

describe('assignShards', () => {
  it('never gives a shard to one member that another still holds, nor to two', () => {
    fc.assert(
      fc.property(members, (given) => {
        const result = next(given)
        const all = result.flatMap(({ owned }) => owned)
        expect(new Set(all).size).toBe(all.length)
        for (const { memberId, owned } of result) {
          for (const other of given) {
            if (other.memberId !== memberId) expect(owned.filter((shard) => other.owned.includes(shard))).toEqual([])
          }
        }
      }),
    )
  })

  it('is complete and balanced one round after everyone let go, and then stays as it is', () => {
    fc.assert(
      fc.property(members, (given) => {
        const settled = next(next(given))
        expect(settled.flatMap(({ owned }) => owned).sort((a, b) => a - b)).toEqual(Array.from({ length: SHARDS }, (_, i) => i))
        expect(Math.max(...totals(settled)) - Math.min(...totals(settled))).toBeLessThanOrEqual(1)
        expect(next(settled)).toEqual(settled)
      }),
    )
  })

  it('does not depend on the order of the members', () => {
    fc.assert(
      fc.property(members, (given) => {
        expect(assignShards([...given].reverse())).toEqual(assignShards(given))
      }),
    )
  })

  it('moves only what it must when a runner joins', () => {
    const alone = next([{ memberId: 'a', owned: [] }])
    expect(totals(alone)).toEqual([50])
    const joining = assignShards([...alone, { memberId: 'b', owned: [] }])
    expect(joining.get('a')).toHaveLength(25)
    expect(joining.get('b')).toEqual([])
    const settled = assignShards([...joining].map(([memberId, owned]) => ({ memberId, owned })))
    expect(settled.get('a')).toEqual(joining.get('a'))
    expect(settled.get('b')).toHaveLength(25)
  })

  it('has nothing to give without members', () => {
    expect(assignShards([])).toEqual(new Map())
  })
})

describe('shardOf', () => {
  it('is part of the stored format', () => {
    expect([shardOf('my-mirror', 'my-topic', 0), shardOf('my-mirror', 'my-topic', 1), shardOf('m', 'ünï', 7)]).toEqual(EXPECTED_SHARDS)
  })

  it('spreads the partitions of a topic', () => {
    const shards = Array.from({ length: 500 }, (_, partition) => shardOf('my-mirror', 'my-topic', partition))
    const counts = Array.from({ length: SHARDS }, (_, shard) => shards.filter((other) => other === shard).length)
    expect(Math.max(...counts)).toBeLessThan(30)
    expect(Math.min(...counts)).toBeGreaterThan(0)
  })
})

const EXPECTED_SHARDS = [25, 12, 16]

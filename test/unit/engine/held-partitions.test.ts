import { expect, test } from 'vitest'
import { HeldPartitions } from '../../../src/engine/held-partitions.js'
import type { PartitionMirror } from '../../../src/engine/partition-mirror.js'
import { keyOf, type Wanted, wantedPartitions } from '../../../src/engine/wanted.js'
import type { MirrorEntry } from '../../../src/mirror/fold.js'
import type { TopicSpec } from '../../../src/mirror/state.js'

const spec = (addedAt = 1, desired: TopicSpec['desired'] = 'MIRRORING') => ({ addedAt, desired, partitions: 2 }) as TopicSpec

const one = (partition: number, of = spec()): Wanted => ({ mirror: 'm', topic: 't', partition, shard: partition, spec: of })

const wantedOf = (...wants: Wanted[]) => new Map(wants.map((want) => [keyOf(want), want]))

/** Holds partitions that tell what becomes of them, and are gone when that is said. */
function holding() {
  const told: string[] = []
  const ends: (() => void)[] = []
  const held = new HeldPartitions({
    takeUp: ({ partition }, current) => {
      told.push(`take up ${partition}`)
      const gone = new Promise<void>((resolve) => ends.push(resolve))
      const fake: Partial<PartitionMirror> = {
        release: async ({ handsOver } = { handsOver: false }) => void told.push(`release ${partition}${handsOver ? ' to another' : ''}`),
        abandon: () => void told.push(`abandon ${partition}`),
        changed: () => void told.push(`wake ${partition}, added at ${current().addedAt}`),
        applyThrottle: () => {},
        whenGone: () => gone,
      }
      return fake as PartitionMirror
    },
    gone: () => void told.push('gone'),
  })
  const reconcile = (wanted: ReadonlyMap<string, Wanted>, mayBegin = true) => {
    const free = held.reconcile(wanted, { wake: true, mayBegin: () => mayBegin })
    return { told: told.splice(0), free: free.map(({ partition }) => partition) }
  }
  const endAll = async () => {
    for (const end of ends.splice(0)) end()
    await new Promise(setImmediate)
  }
  return { held, told, reconcile, endAll }
}

test('a partition that was let go is not taken up again before it is done', async () => {
  const { reconcile, told, endAll, held } = holding()
  expect(reconcile(wantedOf(one(0))).told).toEqual(['take up 0'])
  expect(reconcile(wantedOf()).told).toEqual(['release 0'])
  expect(reconcile(wantedOf(one(0)))).toEqual({ told: [], free: [] })
  expect([...held.mirrors]).toEqual(['m'])
  await endAll()
  expect(told.splice(0)).toEqual(['gone'])
  expect([...held.mirrors]).toEqual([])
  expect(reconcile(wantedOf(one(0))).told).toEqual(['take up 0'])
})

test('one that goes on goes by what is wanted now, and one that was added anew is another', () => {
  const { reconcile } = holding()
  reconcile(wantedOf(one(0)))
  expect(reconcile(wantedOf(one(0, { ...spec(), desired: 'PAUSED' }))).told).toEqual(['wake 0, added at 1'])
  expect(reconcile(wantedOf(one(0, spec(2)))).told).toEqual(['release 0'])
})

test('those that cannot begin are told of', () => {
  expect(holding().reconcile(wantedOf(one(0), one(1)), false)).toEqual({ told: [], free: [0, 1] })
})

test('shards that are given up are handed over, those that are lost are dropped', async () => {
  const { held, reconcile, told } = holding()
  reconcile(wantedOf(one(0), one(1)))
  await held.release([0])
  held.abandon([1])
  expect(told).toEqual(['release 0 to another', 'abandon 1'])
  expect(held.all).toEqual([])
})

test('wanted are the partitions on the shards that are held, of topics that are added', () => {
  const topics = new Map([
    ['here', spec()],
    ['begun', spec(1, 'ADDING')],
    ['gone', spec(1, 'STOPPED')],
  ])
  const mirrors = [{ name: 'm', topics } as unknown as MirrorEntry]
  const all = wantedPartitions(mirrors, () => true)
  expect([...all.keys()]).toEqual(['m/here/0', 'm/here/1'])
  const { shard } = all.get('m/here/1')!
  expect([...wantedPartitions(mirrors, (held) => held === shard).values()].every((want) => want.shard === shard)).toBe(true)
})

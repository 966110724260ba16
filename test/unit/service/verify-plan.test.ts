import { describe, expect, it } from 'vitest'
import type { FoundLog, PartitionStatus } from '../../../src/mirror/state.js'
import { NO_UUID } from '../../../src/protocol/schema.js'
import { nothingWarning, planPartition } from '../../../src/service/verify/plan.js'
import type { TopicPair } from '../../../src/service/verify/topic-pairs.js'

const PAIR: TopicPair = {
  topic: 't',
  partitions: 5,
  topicIds: { source: NO_UUID, destination: NO_UUID },
  settings: {
    policies: { source: ['delete'], destination: ['delete'] },
    tombstonesKeptMs: { source: 0, destination: 0 },
    compacted: false,
  },
  removed: false,
  removedAt: new Map(),
  statuses: new Map(),
  found: [],
  notMirrored: 0,
}

const STATUS: PartitionStatus = {
  ownerEpoch: 1,
  addedAt: 1,
  destinationTopicId: NO_UUID,
  owner: 'r1',
  state: 'MIRRORING',
  since: 1,
  sourceLeaderEpochs: [],
  fillMode: 'markers',
  lostRanges: [],
}

/** Partitions that end at these offsets on the destination and begin at 5 on the source. */
const planned = (options: { from?: bigint; to?: bigint }, ...ends: bigint[]) =>
  ends.map((destinationEnd, partition) => {
    const bounds = { sourceStart: 5n, sourceEnd: 1_000n, lastStableOffset: 900n, destinationStart: 0n, destinationEnd }
    return planPartition(PAIR, partition, bounds, options, undefined, undefined)
  })

const warned = (options: { from?: bigint; to?: bigint }, ...ends: bigint[]) => nothingWarning(planned(options, ...ends), options)

describe('what a destination held before it was mirrored', () => {
  const bounds = { sourceStart: 5n, sourceEnd: 1_000n, lastStableOffset: 900n, destinationStart: 50n, destinationEnd: 800n }
  const job = (...found: FoundLog[]) => planPartition({ ...PAIR, found }, 0, bounds, {}, undefined, undefined).job

  it('is not the mirror’s own, and may begin where it began then', () => {
    // A later partition.
    expect(job()).toMatchObject({ ownFrom: 0n, belowStart: { from: 5n, to: 50n } })
    expect(job({ logStartOffset: 0n, logEndOffset: 100n })).toMatchObject({ ownFrom: 100n, belowStart: { from: 5n, to: 50n } })
    expect(job({ logStartOffset: 50n, logEndOffset: 100n })).toMatchObject({ ownFrom: 100n, belowStart: undefined })
    // Something moved the start up since.
    expect(job({ logStartOffset: 20n, logEndOffset: 100n })).toMatchObject({ ownFrom: 100n, belowStart: { from: 20n, to: 50n } })
  })
})

describe('what an earlier version took over, which is not on record', () => {
  const bounds = { sourceStart: 0n, sourceEnd: 1_000n, lastStableOffset: 900n, destinationStart: 0n, destinationEnd: 800n }
  const ownFrom = (...starts: bigint[]) => {
    const sourceLeaderEpochs = starts.map((startOffset, epoch) => ({ epoch, startOffset }))
    const statuses = new Map([[0, { ...STATUS, sourceLeaderEpochs }]])
    return planPartition({ ...PAIR, found: undefined, statuses }, 0, bounds, {}, undefined, undefined).job.ownFrom
  }

  it('lies below what the mirror appended as its status tells', () => {
    expect(ownFrom(300n, 500n)).toBe(300n)
    expect(ownFrom(0n, 500n)).toBe(0n)
    expect(ownFrom()).toBe(800n)
    expect(planPartition({ ...PAIR, found: undefined }, 0, bounds, {}, undefined, undefined).job.ownFrom).toBe(0n)
  })
})

describe('a range of offsets to compare', () => {
  it('that a partition has nothing of is said, with what it has', () => {
    expect(warned({ from: 100n }, 100n, 101n)).toEqual([
      'nothing was compared of t-0 (offsets 5 to 99 can be): no offset from 100 is on both sides',
    ])
    expect(warned({ from: 950n, to: 1_000n }, 1_000n)).toEqual([
      'nothing was compared of t-0 (offsets 5 to 899 can be): no offset from 950 up to, not including, 1000 is on both sides',
    ])
    expect(warned({ to: 5n }, 100n, 0n)).toEqual([
      'nothing was compared of t-0 (offsets 5 to 99 can be), t-1 (no offset can be): no offset up to, not including, 5 is on both sides',
    ])
  })

  it('is one sentence for many partitions', () => {
    expect(warned({ from: 5_000n }, 10n, 20n, 30n, 40n, 50n)).toEqual([
      'nothing was compared of t-0 (offsets 5 to 9 can be), t-1 (offsets 5 to 19 can be), t-2 (offsets 5 to 29 can be) and 2 more: no offset from 5000 is on both sides',
    ])
  })

  it('needs no word where it was not asked for, or where something is in it', () => {
    expect(warned({}, 0n, 100n)).toEqual([])
    expect(warned({ from: 99n }, 100n)).toEqual([])
    expect(warned({ to: 6n }, 100n)).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import type { Cluster } from '../../../src/client/cluster.js'
import { openTransactions, TransactionWatch, type WatchedPartition, waitsForTransaction } from '../../../src/engine/open-transactions.js'

const producer = (producerId: bigint, currentTxnStartOffset: bigint, lastTimestamp = 5n) => ({
  producerId,
  producerEpoch: 0,
  lastSequence: 0,
  lastTimestamp,
  coordinatorEpoch: -1,
  currentTxnStartOffset,
})

/** A source with these producers in each partition; what it was asked is in `asked`. */
function sourceOf(producers: Record<number, ReturnType<typeof producer>[]>) {
  const asked: number[][] = []
  const cluster = {
    leaderOf: () => ({ brokerId: 1, leaderEpoch: 0, topicId: '' }),
    refresh: async () => {},
    broker: async (_id: number, _api: unknown, request: { topics: { name: string; partitionIndexes: number[] }[] }) => {
      asked.push(request.topics.flatMap(({ partitionIndexes }) => partitionIndexes))
      return {
        topics: request.topics.map(({ name, partitionIndexes }) => ({
          name,
          partitions: partitionIndexes.map((partitionIndex) => ({
            partitionIndex,
            errorCode: producers[partitionIndex] ? 0 : 7,
            errorMessage: null,
            activeProducers: producers[partitionIndex] ?? [],
          })),
        })),
      }
    },
  }
  return { cluster: cluster as unknown as Cluster, asked }
}

const at = (partition: number, more: Partial<WatchedPartition> = {}): WatchedPartition => ({
  mirror: 'm',
  topic: 't',
  partition,
  sourceHighWatermark: 20n,
  lastStableOffset: 10n,
  logEndOffset: 10n,
  ...more,
})

describe('open transactions', () => {
  it('are the oldest of each partition', async () => {
    const { cluster } = sourceOf({ 0: [producer(1n, 15n), producer(2n, 10n, 99n), producer(3n, -1n)], 1: [producer(4n, -1n)] })
    const found = await openTransactions(
      cluster,
      [0, 1, 2].map((partition) => ({ topic: 't', partition })),
    )
    expect([...found]).toEqual([['t/0', { producerId: 2n, firstOffset: 10n, lastWriteAt: 99 }]])
  })

  it.each([
    ['all stable records are copied and there are more', at(0), true],
    ['some are still to be copied', at(0, { logEndOffset: 9n }), false],
    ['nothing is open', at(0, { lastStableOffset: 20n, logEndOffset: 20n }), false],
    ['nothing is known', at(0, { lastStableOffset: undefined }), false],
  ])('hold a partition up when %s', (_, partition, waits) => {
    expect(waitsForTransaction(partition)).toBe(waits)
  })
})

describe('the watch for them', () => {
  function watch(partitions: WatchedPartition[], producers: Record<number, ReturnType<typeof producer>[]>) {
    const source = sourceOf(producers)
    const now = { partitions }
    const watching = new TransactionWatch({ partitions: () => now.partitions, source: () => source.cluster })
    return { watching, now, asked: source.asked }
  }

  it('asks, in one request, only for partitions that waited at the same offset at the look before', async () => {
    const { watching, now, asked } = watch([at(0), at(1), at(2, { logEndOffset: 5n })], { 0: [producer(7n, 10n)], 1: [producer(7n, 10n)] })
    await watching.look()
    expect(asked).toEqual([])
    now.partitions = [at(0), at(1), at(2)]
    await watching.look()
    expect(asked).toEqual([[0, 1]])
    expect([watching.of(at(0))?.producerId, watching.of(at(2))]).toEqual([7n, undefined])
  })

  it('forgets a transaction once the partition goes on', async () => {
    const { watching, now } = watch([at(0)], { 0: [producer(7n, 10n)] })
    await watching.look()
    await watching.look()
    expect(watching.of(at(0, { lastStableOffset: 20n, logEndOffset: 15n }))).toBeUndefined()
    now.partitions = []
    await watching.look()
    expect(watching.of(at(0))).toBeUndefined()
  })
})

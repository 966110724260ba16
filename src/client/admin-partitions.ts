import { DeleteRecords, DescribeProducers, ListOffsets, OffsetForLeaderEpoch } from '../protocol/index.js'
import { byLeader, groupByTopic, inOrder, type TopicPartition } from './by-leader.js'
import type { CallOptions, Cluster } from './cluster.js'
import { type Result, resultOf } from './result.js'

/** `earliest` is the log start, `latest` the high watermark, `lastStable` the last stable offset. */
export type OffsetPoint = 'earliest' | 'latest' | 'lastStable'

export interface OffsetQuery extends TopicPartition {
  readonly at: OffsetPoint
  /** Fences the question; −1 or absent asks whoever leads. */
  readonly currentLeaderEpoch?: number
}

export interface OffsetAnswer {
  readonly offset: bigint
  /** Epoch of the record at that offset; −1 if unknown. */
  readonly leaderEpoch: number
}

type Patience = Pick<CallOptions, 'deadlineMs' | 'timeoutMs'>

const TIMESTAMPS: Readonly<Record<OffsetPoint, bigint>> = { earliest: -2n, latest: -1n, lastStable: -1n }

/** Log bounds of many partitions, in the order of the queries, two requests per leader at most. Never throws: see each result. */
export async function listOffsets(
  cluster: Cluster,
  queries: readonly OffsetQuery[],
  options: Patience = {},
): Promise<Array<Result<OffsetAnswer>>> {
  // One request has one isolation level, and names a partition once.
  const results: Array<Result<OffsetAnswer>> = []
  await Promise.all(
    (['earliest', 'latest', 'lastStable'] as const).map(async (at) => {
      const chosen = queries.map((query, index) => ({ ...query, index })).filter((query) => query.at === at)
      const answers = await byLeader(cluster, chosen, (brokerId, items) => askOffsets(cluster, brokerId, items, at, options))
      for (const [i, { index }] of chosen.entries()) results[index] = answers[i]!
    }),
  )
  return results
}

async function askOffsets(
  cluster: Cluster,
  brokerId: number,
  items: readonly OffsetQuery[],
  at: OffsetPoint,
  options: Patience,
): Promise<Array<Result<OffsetAnswer>>> {
  const request = {
    isolationLevel: at === 'lastStable' ? 1 : 0,
    topics: [...groupByTopic(items)].map(([name, partitions]) => ({
      name,
      partitions: partitions.map(({ partition, currentLeaderEpoch = -1 }) => ({
        partitionIndex: partition,
        currentLeaderEpoch,
        timestamp: TIMESTAMPS[at],
      })),
    })),
  }
  const response = await cluster.broker(brokerId, ListOffsets, request, options)
  const answers = response.topics.flatMap(({ name, partitions }) =>
    partitions.map((p) => [name, p.partitionIndex, resultOf(p.errorCode, null, { offset: p.offset, leaderEpoch: p.leaderEpoch })] as const),
  )
  return inOrder(items, answers)
}

export interface DeleteBefore extends TopicPartition {
  /** First offset to keep; −1 is the high watermark. */
  readonly beforeOffset: bigint
}

/** Moves log starts up (KIP-107); gives the new ones, in order. Never throws: see each result. */
export async function deleteRecords(
  cluster: Cluster,
  items: readonly DeleteBefore[],
  options: Patience = {},
): Promise<Array<Result<bigint>>> {
  return byLeader(cluster, items, async (brokerId, group) => {
    const topics = [...groupByTopic(group)].map(([name, partitions]) => ({
      name,
      partitions: partitions.map(({ partition, beforeOffset }) => ({ partitionIndex: partition, offset: beforeOffset })),
    }))
    const response = await cluster.broker(brokerId, DeleteRecords, { topics, timeoutMs: options.timeoutMs ?? 30_000 }, options)
    const answers = response.topics.flatMap(({ name, partitions }) =>
      partitions.map((p) => [name, p.partitionIndex, resultOf(p.errorCode, null, p.lowWatermark)] as const),
    )
    return inOrder(group, answers)
  })
}

export interface EpochQuery extends TopicPartition {
  readonly leaderEpoch: number
  readonly currentLeaderEpoch?: number
}

export interface EpochEnd {
  /** The largest epoch of the log not above the asked one; −1 if there is none. */
  readonly leaderEpoch: number
  /** First offset after that epoch; −1 if there is none. */
  readonly endOffset: bigint
}

/** Where leader epochs end in the leaders' logs (KIP-101), in order. Never throws: see each result. */
export async function offsetForLeaderEpoch(
  cluster: Cluster,
  items: readonly EpochQuery[],
  options: Patience = {},
): Promise<Array<Result<EpochEnd>>> {
  return byLeader(cluster, items, async (brokerId, group) => {
    const topics = [...groupByTopic(group)].map(([topic, partitions]) => ({
      topic,
      partitions: partitions.map(({ partition, leaderEpoch, currentLeaderEpoch = -1 }) => ({ partition, leaderEpoch, currentLeaderEpoch })),
    }))
    const response = await cluster.broker(brokerId, OffsetForLeaderEpoch, { topics }, options)
    const answers = response.topics.flatMap(({ topic, partitions }) =>
      partitions.map(
        (p) => [topic, p.partition, resultOf(p.errorCode, null, { leaderEpoch: p.leaderEpoch, endOffset: p.endOffset })] as const,
      ),
    )
    return inOrder(group, answers)
  })
}

export interface ActiveProducer {
  readonly producerId: bigint
  readonly producerEpoch: number
  /** −1 when only markers came so far. */
  readonly lastSequence: number
  readonly lastTimestamp: bigint
  /** Of the last marker; −1 when there was none. */
  readonly coordinatorEpoch: number
  /** −1 when no transaction is open. */
  readonly currentTransactionStartOffset: bigint
}

/** The producer state of partitions at their leaders (KIP-664), in order. Never throws: see each result. */
export async function describeProducers(
  cluster: Cluster,
  items: readonly TopicPartition[],
  options: Patience = {},
): Promise<Array<Result<ActiveProducer[]>>> {
  return byLeader(cluster, items, async (brokerId, group) => {
    const topics = [...groupByTopic(group)].map(([name, partitions]) => ({ name, partitionIndexes: partitions.map((p) => p.partition) }))
    const response = await cluster.broker(brokerId, DescribeProducers, { topics }, options)
    const answers = response.topics.flatMap(({ name, partitions }) =>
      partitions.map((p) => {
        const producers = p.activeProducers.map(({ currentTxnStartOffset, ...producer }) => ({
          ...producer,
          currentTransactionStartOffset: currentTxnStartOffset,
        }))
        return [name, p.partitionIndex, resultOf(p.errorCode, p.errorMessage, producers)] as const
      }),
    )
    return inOrder(group, answers)
  })
}

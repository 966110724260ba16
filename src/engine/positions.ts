import { failed, type Result, resultOf } from '../client/admin.js'
import { groupByTopic } from '../client/by-leader.js'
import type { Cluster } from '../client/cluster.js'
import { type FetchedFrom, fetchPartition } from '../client/fetch-partition.js'
import { DescribeProducers } from '../protocol/api/describe-producers.js'
import { ListOffsets } from '../protocol/api/list-offsets.js'
import { kafkaError } from '../protocol/errors.js'
import { At, scanBatches } from '../records/index.js'

const EARLIEST = -2n
const LATEST = -1n
const READ_UNCOMMITTED = 0
const READ_COMMITTED = 1
/** A debugging consumer: sees the log end even where it lies above the high watermark (`FetchRequest.DEBUGGING_CONSUMER_ID`). */
const DEBUGGING_REPLICA = -2
const CONSUMER_REPLICA = -1

interface Question {
  readonly timestamp: bigint
  readonly isolationLevel?: number
  readonly replicaId?: number
}

/** One ListOffsets to the leader, fenced by its epoch. Throws KafkaError. */
async function offset(cluster: Cluster, topic: string, partition: number, leaderEpoch: number, question: Question): Promise<bigint> {
  const response = await cluster.leader(topic, partition, ListOffsets, {
    replicaId: question.replicaId ?? CONSUMER_REPLICA,
    isolationLevel: question.isolationLevel ?? READ_UNCOMMITTED,
    topics: [{ name: topic, partitions: [{ partitionIndex: partition, currentLeaderEpoch: leaderEpoch, timestamp: question.timestamp }] }],
  })
  const answer = response.topics[0]?.partitions[0]
  if (answer === undefined) throw new Error(`the ListOffsets answer lacks ${topic}-${partition}`)
  if (answer.errorCode !== 0) throw kafkaError(answer.errorCode)
  return answer.offset
}

export interface SourcePositions {
  readonly logStartOffset: bigint
  readonly lastStableOffset: bigint
  readonly highWatermark: bigint
}

/** The source's bounds as a consumer may see them. Throws KafkaError. */
export async function sourcePositions(cluster: Cluster, topic: string, partition: number, leaderEpoch: number): Promise<SourcePositions> {
  const ask = (question: Question) => offset(cluster, topic, partition, leaderEpoch, question)
  const [logStartOffset, lastStableOffset, highWatermark] = await Promise.all([
    ask({ timestamp: EARLIEST }),
    ask({ timestamp: LATEST, isolationLevel: READ_COMMITTED }),
    ask({ timestamp: LATEST }),
  ])
  return { logStartOffset, lastStableOffset, highWatermark }
}

/** The first thing the source can still give. */
export interface FirstBatch {
  /** First offset it can give: the log start, or the start of the batch that the log start lies in. */
  readonly firstOffset: bigint
  /** Where its first batch starts, maybe far above the log start; undefined where that can't be told from the header. */
  readonly firstRecordOffset: bigint | undefined
}

/**
 * What lies at the source's log start `logStartOffset`: DeleteRecords moves the start inside batches, and brokers give them
 * whole; compaction may have emptied everything up to far above it. Throws KafkaError.
 */
export async function firstBatch(cluster: Cluster, partition: FetchedFrom, logStartOffset: bigint): Promise<FirstBatch> {
  // Enough for a header.
  const { records } = await fetchPartition(cluster, partition, logStartOffset, { committedOnly: false, maxBytes: At.records, maxWaitMs: 0 })
  const [first] = scanBatches(records)
  if (first === undefined) return { firstOffset: logStartOffset, firstRecordOffset: undefined }
  const { baseOffset, magic } = first.header
  return {
    firstOffset: baseOffset < logStartOffset ? baseOffset : logStartOffset,
    // The base offset of an old compressed wrapper is that of its last message.
    firstRecordOffset: magic >= 2 ? baseOffset : undefined,
  }
}

/**
 * The destination's true log end, above the high watermark too. Followers answer the debugging id as well, so it is
 * believed only if the same leader then answers an ordinary request, which a follower refuses. Throws KafkaError.
 */
export async function destinationLogEnd(cluster: Cluster, topic: string, partition: number, leaderEpoch: number): Promise<bigint> {
  // A broker takes the requests of a connection in their order: both at once cost one round trip.
  const [logEndOffset] = await Promise.all([
    offset(cluster, topic, partition, leaderEpoch, { timestamp: LATEST, replicaId: DEBUGGING_REPLICA }),
    offset(cluster, topic, partition, leaderEpoch, { timestamp: LATEST }),
  ])
  return logEndOffset
}

/** A partition whose leader is asked, fenced by its epoch. */
export interface LedPartition {
  readonly topic: string
  readonly partition: number
  readonly leaderEpoch: number
}

/**
 * The true log ends of several partitions, in their order, asked right behind a write that proves that the broker leads them: a
 * second question, as {@link destinationLogEnd} asks, would prove no more. Throws ConnectionError.
 */
export async function destinationLogEnds(
  cluster: Cluster,
  brokerId: number,
  items: readonly LedPartition[],
): Promise<Array<Result<bigint>>> {
  const topics = [...groupByTopic(items)].map(([name, partitions]) => ({
    name,
    partitions: partitions.map((p) => ({ partitionIndex: p.partition, currentLeaderEpoch: p.leaderEpoch, timestamp: LATEST })),
  }))
  const request = { replicaId: DEBUGGING_REPLICA, isolationLevel: READ_UNCOMMITTED, topics }
  const response = await cluster.broker(brokerId, ListOffsets, request)
  const ends = new Map(
    response.topics.flatMap(({ name, partitions }) => partitions.map((p) => [`${name}/${p.partitionIndex}`, p] as const)),
  )
  return items.map(({ topic, partition }) => {
    const end = ends.get(`${topic}/${partition}`)
    if (end === undefined) return failed(new Error(`the ListOffsets answer lacks ${topic}-${partition}`))
    return resultOf(end.errorCode, null, end.offset)
  })
}

export const destinationLogStart = (cluster: Cluster, topic: string, partition: number, leaderEpoch: number): Promise<bigint> =>
  offset(cluster, topic, partition, leaderEpoch, { timestamp: EARLIEST })

export interface ProducerState {
  /** The sequence the next data batch must carry; any would do while the broker has no state. */
  readonly nextSequence: number
  readonly producerEpoch: number
  /** Of the last marker; −1 when there was none. */
  readonly coordinatorEpoch: number
}

/** Where the next batch goes, and with what sequence: of one moment, so that the two belong together. */
export interface AppendPosition {
  readonly logEndOffset: bigint
  /** Undefined while the broker knows nothing of the producer. */
  readonly producer: ProducerState | undefined
}

/** Late appends are few: whoever sends them has lost the connection. */
const SNAPSHOT_ATTEMPTS = 20

/**
 * Log end and producer state of the same moment. A late append of ours that landed between two single reads would give a
 * sequence that does not belong to the log end: the next batch then looks like a duplicate or is sent twice, and the
 * one behind it lands in its place. So the state is read before and after, until both are the same. Throws KafkaError.
 */
export async function appendPosition(
  cluster: Cluster,
  topic: string,
  partition: number,
  leaderEpoch: number,
  producerId: bigint,
): Promise<AppendPosition> {
  let producer = await producerState(cluster, topic, partition, producerId)
  for (let attempt = 0; attempt < SNAPSHOT_ATTEMPTS; attempt++) {
    const logEndOffset = await destinationLogEnd(cluster, topic, partition, leaderEpoch)
    const after = await producerState(cluster, topic, partition, producerId)
    if (after?.nextSequence === producer?.nextSequence && after?.producerEpoch === producer?.producerEpoch)
      return { logEndOffset, producer }
    producer = after
  }
  throw new Error(`${topic}-${partition} is written to all the while: its log end and producer state could not be read together`)
}

/** What the destination's leader remembers of one producer id; undefined when nothing (KIP-664). Throws KafkaError. */
export async function producerState(
  cluster: Cluster,
  topic: string,
  partition: number,
  producerId: bigint,
): Promise<ProducerState | undefined> {
  const response = await cluster.leader(topic, partition, DescribeProducers, { topics: [{ name: topic, partitionIndexes: [partition] }] })
  const answer = response.topics[0]?.partitions[0]
  if (answer === undefined) throw new Error(`the DescribeProducers answer lacks ${topic}-${partition}`)
  if (answer.errorCode !== 0) throw kafkaError(answer.errorCode, answer.errorMessage ?? undefined)
  const state = answer.activeProducers.find((producer) => producer.producerId === producerId)
  if (state === undefined) return undefined
  return {
    nextSequence: (state.lastSequence + 1) % 2 ** 31,
    producerEpoch: state.producerEpoch,
    coordinatorEpoch: state.coordinatorEpoch,
  }
}

import { setTimeout as pause } from 'node:timers/promises'
import { createTopics } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'
import { ConnectionError } from '../../client/errors.js'
import { inPool } from '../../client/many.js'
import { destinationLogEnd } from '../../engine/positions.js'
import { failure } from '../../mirror/errors.js'
import type { ReplacedTopic } from '../../mirror/state.js'
import { Produce } from '../../protocol/api/produce.js'
import { Errors, KafkaError, kafkaError } from '../../protocol/errors.js'
import { NO_UUID } from '../../protocol/schema.js'
import { type Compression, nextSequence, patchForAppend } from '../../records/index.js'
import type { OpenRecord } from '../../records/open-records.js'
import { type Piece, reEncode } from '../../records/re-encode.js'
import { appeared } from '../../sync/topics/create-topic.js'
import { logBounds } from '../../sync/topics/log-bounds.js'
import { type PartitionLog, visibleBatches } from './visible-batches.js'

const PARTITIONS_AT_ONCE = 4
/** Small neighbours share a request. */
const GROUP_BYTES = 256 << 10
const ATTEMPTS = 5
const RETRY_MS = 500

export interface TailToKeep {
  readonly destination: Cluster
  readonly topic: string
  readonly old: ReplacedTopic
  readonly tailTopic: string
  /** Settings of the topic that keeps it. */
  readonly settings: ReadonlyMap<string, string>
  /** Most bytes of one of its batches. */
  readonly maxMessageBytes: number
}

/**
 * Copies what differs, from each partition's first differing offset to its end, into the same partition of a topic of its own:
 * what consumers see, with key, value, headers and timestamps. Returns the partitions' ends, looked at last of all, once nobody
 * has written to the old topic any more meanwhile; `upTo` are the ends that an earlier call gave. The number of records in the
 * tail is where it goes on: safe to be interrupted and repeated, also twice at once. Throws KafkaError, ConnectionError, MirrorError.
 */
export async function keepTail(tail: TailToKeep, upTo?: readonly bigint[]): Promise<readonly bigint[]> {
  const { destination, topic, old } = tail
  const partitions = old.differsFrom.map((from, partition) => ({ from, partition }))
  const ends = async () => (await logBounds(destination, topic, partitions.length)).map(({ highWatermark }) => highWatermark)
  for (let done = upTo; ; ) {
    const before = await ends()
    if (done !== undefined && isSame(before, done)) return before
    const differing = partitions.filter(({ from, partition }) => from < before[partition]!)
    if (differing.length > 0) await ensureTopic(tail)
    const kept = await inPool(PARTITIONS_AT_ONCE, differing, ({ partition, from }) =>
      keepPartition(tail, partition, from, before[partition]!),
    )
    // Others who keep this tail too may be further on only if there is more.
    if (!isSame(await ends(), before)) continue
    if (differing.length > 0) await checkLength(tail, sum(kept))
    done = before
  }
}

const isSame = (a: readonly bigint[], b: readonly bigint[]) => a.every((end, partition) => end === b[partition])
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

async function checkLength({ destination, old, tailTopic }: TailToKeep, kept: number): Promise<void> {
  const lengths = await logBounds(destination, tailTopic, old.differsFrom.length)
  const there = sum(lengths.map(({ highWatermark }) => Number(highWatermark)))
  if (there !== kept) throw notOurs(tailTopic, `topic ${tailTopic} has ${there} records where ${kept} were kept`)
}

async function ensureTopic({ destination, old, tailTopic, settings }: TailToKeep): Promise<void> {
  const wanted = { name: tailTopic, partitions: old.differsFrom.length, replicationFactor: old.replicationFactor, configs: settings }
  const created = (await createTopics(destination, [wanted])).get(tailTopic)!
  if (!created.ok && !(created.error instanceof KafkaError && created.error.code === Errors.TOPIC_ALREADY_EXISTS)) throw created.error
  await appeared(destination, tailTopic, wanted.partitions, NO_UUID)
  await destination.refresh([tailTopic])
}

/** Returns how many records of the partition differ, all of them kept. */
async function keepPartition(tail: TailToKeep, partition: number, from: bigint, end: bigint): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await copyRest(tail, partition, from, end)
    } catch (error) {
      const isPassing = error instanceof ConnectionError || (error instanceof KafkaError && (error.retriable || OTHERS.has(error.code)))
      if (!isPassing || attempt === ATTEMPTS) throw error
      await pause(RETRY_MS)
      await tail.destination.refresh([tail.topic, tail.tailTopic])
    }
  }
}

/** What the broker says when a batch of an earlier attempt, or of somebody else at the same work, landed first. */
const OTHERS: ReadonlySet<number> = new Set([Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, Errors.DUPLICATE_SEQUENCE_NUMBER])

async function copyRest(tail: TailToKeep, partition: number, from: bigint, end: bigint): Promise<number> {
  const { destination, topic, old, tailTopic } = tail
  const log: PartitionLog = { cluster: destination, topic, topicId: old.topicId, partition }
  const there = Number(await destinationLogEnd(destination, tailTopic, partition, -1))
  let seen = 0
  let group: Group = { records: [], compression: 'none', bytes: 0 }
  const flush = async () => {
    if (group.records.length > 0) await append(tail, partition, seen - group.records.length, group)
    group = { records: [], compression: 'none', bytes: 0 }
  }
  for await (const { records, compression } of visibleBatches(log, from, end)) {
    const missing = records.slice(Math.max(0, there - seen))
    const size = missing.reduce((sum, { content }) => sum + content.length, 0)
    if (group.bytes + size > GROUP_BYTES || group.compression !== compression) await flush()
    seen += records.length
    group.records.push(...missing)
    group.bytes += size
    group.compression = compression
  }
  await flush()
  return seen
}

interface Group {
  readonly records: OpenRecord[]
  compression: Compression
  bytes: number
}

/** The number of records before these is both their offset and their sequence. */
async function append(tail: TailToKeep, partition: number, position: number, { records, compression }: Group): Promise<void> {
  const { old, maxMessageBytes } = tail
  let next = position
  for (const piece of reEncode(
    records,
    { compression: compression === 'unknown' ? 'none' : compression, leaderEpoch: -1 },
    maxMessageBytes,
  )) {
    patchForAppend(piece.bytes, { producerId: old.producer.id, producerEpoch: old.producer.epoch, baseSequence: nextSequence(0, next) })
    await produce(tail, partition, piece, next)
    next += piece.count
  }
}

async function produce({ destination, tailTopic }: TailToKeep, partition: number, piece: Piece, position: number): Promise<void> {
  const topicId = destination.leaderOf(tailTopic, partition)?.topicId ?? NO_UUID
  const response = await destination.leader(tailTopic, partition, Produce, {
    acks: -1,
    timeoutMs: 30_000,
    topicData: [{ name: tailTopic, topicId, partitionData: [{ index: partition, records: [piece.bytes] }] }],
  })
  const answer = response.responses[0]?.partitionResponses[0]
  if (answer === undefined) throw new Error('the Produce answer lacks the partition')
  if (answer.errorCode !== 0) throw kafkaError(answer.errorCode, answer.errorMessage ?? undefined)
  if (answer.baseOffset !== BigInt(position))
    throw notOurs(tailTopic, `topic ${tailTopic} got a record at offset ${answer.baseOffset} where ${position} was next`)
}

const notOurs = (tailTopic: string, what: string) =>
  failure('CONFLICT', `${what}: something else writes to it`, `Delete topic ${tailTopic} and run recover again: nothing else was lost yet.`)

import type { Cluster } from '../client/cluster.js'
import type { TopicMetadata } from '../client/metadata.js'
import { COMPARED_AT_ONCE, compareTails, type TailComparison, unknownTail } from '../engine/compare-tails.js'
import { PartitionFailure } from '../engine/errors.js'
import { failure } from '../mirror/errors.js'
import type { MirrorState } from '../mirror/fold.js'
import { isActive } from '../mirror/fold.js'
import { CLUSTER_OWN_TOPICS } from '../mirror/state-topic.js'
import { kafkaError } from '../protocol/errors.js'
import { NO_UUID } from '../protocol/schema.js'
import { uuidToBase64 } from '../protocol/uuid.js'
import { inPool } from './context.js'
import { type LogBounds, logBounds } from './log-bounds.js'
import { readTopicConfigs } from './topic-settings.js'

/** Refuses what must not be mirrored whatever the logs say. Throws MirrorError. */
export function checkSourceTopic(source: TopicMetadata, wantedId: string | undefined): void {
  const topic = source.name
  if (source.internal || CLUSTER_OWN_TOPICS.has(topic)) {
    throw failure('INVALID_REQUEST', `topic ${topic} belongs to its cluster and cannot be mirrored`)
  }
  if (source.errorCode !== 0) throw failure('KAFKA', `topic ${topic} cannot be read on the source: ${kafkaError(source.errorCode).message}`)
  if (wantedId === undefined) return
  const id = source.topicId === NO_UUID ? undefined : uuidToBase64(source.topicId)
  if (id === wantedId) return
  throw failure(
    'TOPIC_ID_MISMATCH',
    id === undefined
      ? `topic ${topic} has no id on the source: its brokers are too old to check --topic-id`
      : `topic ${topic} has id ${id} on the source, not ${wantedId}`,
    'Leave the id out, or give the source’s.',
  )
}

/** Refuses a topic that another mirror copies, or that is just being removed. Throws MirrorError. */
export function checkNotTaken(state: MirrorState, mirror: string, topic: string): void {
  const owner = state.mirrorOf(topic)
  if (owner !== undefined && owner !== mirror) {
    throw failure('TOPIC_ALREADY_MIRRORED', `topic ${topic} is already mirrored by mirror ${owner}`, `Remove it from ${owner} first.`)
  }
  const spec = state.mirror(mirror)?.topics.get(topic)
  if (spec?.reseed !== undefined) {
    throw failure(
      'TOPIC_ALREADY_MIRRORED',
      `topic ${topic} is being copied again by mirror ${mirror}`,
      'Run recover again to finish that first.',
    )
  }
  if (spec?.desired === 'STOPPING') {
    throw failure(
      'TOPIC_ALREADY_MIRRORED',
      `topic ${topic} is being removed from mirror ${mirror}`,
      'Run remove again to finish that first.',
    )
  }
}

/** Refuses A→B→A: the source must not be copying this topic from the destination. */
export function checkNoLoop(sourceState: MirrorState | undefined, destinationClusterId: string, topic: string): void {
  const back = sourceState
    ?.mirrors()
    .find((entry) => entry.spec.sourceClusterId === destinationClusterId && isActive(entry.topics.get(topic)))
  if (back === undefined) return
  throw failure(
    'INVALID_REQUEST',
    `topic ${topic} would be mirrored in a circle: mirror ${back.name} on the source copies it from this cluster`,
    `Remove it from mirror ${back.name} there first.`,
  )
}

/** How an existing topic of the destination is taken in; a topic that is not there is created. */
export interface ExistingTopic {
  readonly how: 'taken-over' | 'continued'
  readonly bounds: readonly LogBounds[]
}

/**
 * Whether a destination topic that is there already can become the source's copy: empty, or holding the beginning of what the
 * source has. The last records of each partition are compared; the runner compares again before it appends. Throws MirrorError.
 */
export async function checkExisting(
  source: Cluster,
  destination: Cluster,
  there: TopicMetadata,
  here: TopicMetadata,
  sourceBounds: readonly LogBounds[],
): Promise<ExistingTopic> {
  const topic = there.name
  if (here.errorCode !== 0)
    throw failure('KAFKA', `topic ${topic} cannot be read on the destination: ${kafkaError(here.errorCode).message}`)
  if (here.partitions.length > there.partitions.length) {
    throw failure(
      'PARTITIONS_MISMATCH',
      `topic ${topic} has ${here.partitions.length} partitions on the destination but ${there.partitions.length} on the source`,
      'Partitions cannot be taken away: delete the topic on the destination, or add partitions on the source.',
    )
  }
  const bounds = await logBounds(destination, topic, here.partitions.length)
  const ids = { source: there.topicId, destination: here.topicId }
  const empty = bounds.every(({ highWatermark }) => highWatermark === 0n)
  const how = empty ? unknownTail() : unknownTail(...(await Promise.all([source, destination].map((side) => cleanupPolicy(side, topic)))))
  const partitions = bounds.map((own, partition) => ({ topic, partition, ids, own, other: sourceBounds[partition]!, how }))
  await inPool(COMPARED_AT_ONCE, partitions, (compared) => checkPartition(source, destination, compared))
  return { how: empty ? 'taken-over' : 'continued', bounds }
}

const cleanupPolicy = async (cluster: Cluster, topic: string) => (await readTopicConfigs(cluster, topic)).effective.get('cleanup.policy')

interface ComparedPartition {
  readonly topic: string
  readonly partition: number
  readonly ids: { readonly source: string; readonly destination: string }
  readonly own: LogBounds
  readonly other: LogBounds
  readonly how: TailComparison
}

async function checkPartition(source: Cluster, destination: Cluster, compared: ComparedPartition): Promise<void> {
  const { topic, partition, ids, own, other, how } = compared
  if (own.highWatermark > other.highWatermark) {
    throw otherData(topic, `partition ${partition} ends at offset ${own.highWatermark} there, at ${other.highWatermark} on the source`)
  }
  if (own.highWatermark === own.logStartOffset) {
    if (own.highWatermark <= other.logStartOffset) return
    throw otherData(
      topic,
      `partition ${partition} is empty but starts at offset ${own.logStartOffset}, and the source still has earlier records`,
    )
  }
  // The first offset both still have.
  let from = own.logStartOffset
  if (from < other.logStartOffset) from = other.logStartOffset
  if (from >= own.highWatermark) {
    throw otherData(
      topic,
      `partition ${partition} ends at offset ${own.highWatermark}, the source starts at ${other.logStartOffset}: nothing is left to compare`,
    )
  }
  try {
    await compareTails(source, destination, topic, partition, ids, from, own.highWatermark, how)
  } catch (error) {
    if (error instanceof PartitionFailure) throw otherData(topic, error.message)
    throw error
  }
}

const otherData = (topic: string, reason: string) =>
  failure(
    'TOPIC_HAS_OTHER_DATA',
    `topic ${topic} on the destination holds data that is not the source's: ${reason}`,
    'Delete the topic on the destination to copy it from the start, or leave it out.',
  )

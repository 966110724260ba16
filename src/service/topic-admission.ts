import { listOffsets } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { inPool } from '../client/many.js'
import type { TopicMetadata } from '../client/metadata.js'
import { COMPARED_AT_ONCE, compareTails, type TailComparison, unknownTail } from '../engine/compare-tails.js'
import { PartitionFailure } from '../engine/errors.js'
import { failure } from '../mirror/errors.js'
import { kafkaError } from '../protocol/errors.js'
import { type LogBounds, logBounds } from '../sync/topics/log-bounds.js'
import { readTopicConfigs } from '../sync/topics/topic-settings.js'
import type { ExistingTopic, TopicAdmission } from '../sync/types.js'
import { missingTopicRights, refuseMissingRights } from './rights.js'

/** What a topic has to pass before it is added: rights on both sides, and what a topic of the destination holds already. */
export function topicAdmission(source: Cluster, destination: Cluster): TopicAdmission {
  return {
    checkRights: async (topic) => refuseMissingRights(await missingTopicRights(source, destination, topic)),
    checkExisting: (there, here, sourceBounds) => checkExisting(source, destination, there, here, sourceBounds),
  }
}

/**
 * Whether a destination topic that is there already can become the source's copy: empty, or holding the beginning of what the
 * source has. The last records of each partition are compared; the runner compares again before it appends. Throws MirrorError.
 */
async function checkExisting(
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
  await refuseOpenTransactions(destination, topic, bounds)
  const ids = { source: there.topicId, destination: here.topicId }
  const empty = bounds.every(({ highWatermark }) => highWatermark === 0n)
  const how = empty ? unknownTail() : unknownTail(...(await Promise.all([source, destination].map((side) => cleanupPolicy(side, topic)))))
  const partitions = bounds.map((own, partition) => ({ topic, partition, ids, own, other: sourceBounds[partition]!, how }))
  await inPool(COMPARED_AT_ONCE, partitions, (compared) => checkPartition(source, destination, compared))
  return { how: empty ? 'taken-over' : 'continued', bounds }
}

/** What is open still may end either way, and ends at an offset of its own: nothing can be copied behind it. */
async function refuseOpenTransactions(destination: Cluster, topic: string, bounds: readonly LogBounds[]): Promise<void> {
  const stable = await listOffsets(
    destination,
    bounds.map((_, partition) => ({ topic, partition, at: 'lastStable' })),
  )
  for (const [partition, answer] of stable.entries()) {
    if (!answer.ok) throw answer.error
    if (answer.value.offset >= bounds[partition]!.highWatermark) continue
    throw otherData(topic, `a transaction is open in partition ${partition} since offset ${answer.value.offset}`)
  }
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

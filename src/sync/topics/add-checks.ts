import type { TopicMetadata } from '../../client/metadata.js'
import { failure } from '../../mirror/errors.js'
import type { MirrorState } from '../../mirror/fold.js'
import { CLUSTER_OWN_TOPICS } from '../../mirror/state-topic.js'
import { kafkaError } from '../../protocol/errors.js'
import { NO_UUID } from '../../protocol/schema.js'
import { uuidToBase64 } from '../../protocol/uuid.js'
import { isCircle, mirrorWith, type SourceState } from './origins.js'

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

/** Refuses A→B→A and A→B→C→A: the source must not have this topic from the destination. Throws MirrorError. */
export function checkNoLoop(source: SourceState, destinationClusterId: string, topic: string): void {
  if (source === 'unknown' || !isCircle(source, topic, destinationClusterId)) return
  const { name, spec } = mirrorWith(source, topic)!
  const from =
    spec.sourceClusterId === destinationClusterId ? 'this cluster' : `cluster ${spec.sourceClusterId}, which has it from this one`
  throw failure(
    'INVALID_REQUEST',
    `topic ${topic} would be mirrored in a circle: mirror ${name} on the source copies it from ${from}`,
    `Remove it from mirror ${name} there first.`,
  )
}

import type { Cluster } from '../client/cluster.js'
import type { TopicMetadata } from '../client/metadata.js'
import { failure } from '../mirror/errors.js'
import { isActive, type MirrorState } from '../mirror/fold.js'
import type { TopicSpec } from '../mirror/state.js'
import { checkExisting, checkNoLoop, checkNotTaken, checkSourceTopic } from './add-checks.js'
import { entriesOf, type ServiceContext } from './context.js'
import { type LogBounds, logBounds } from './log-bounds.js'
import { missingTopicRights, refuseMissingRights } from './rights.js'
import type { Mirror } from './state-store.js'
import type { AddedTopic, AddTopicsToMirrorOptions } from './types.js'

/** Fast-forward, as measured: offsets per second and bytes on disk per offset. */
const FAST_FORWARD_PER_SECOND = 14e6
const FAST_FORWARD_BYTES_PER_OFFSET = 1.4

/** What an addition to one mirror works with. */
export interface Addition {
  readonly context: ServiceContext
  readonly mirror: Mirror
  readonly source: Cluster
  readonly sourceClusterId: string
  readonly sourceTopics: ReadonlyMap<string, TopicMetadata>
  readonly sourceState: MirrorState | undefined
  readonly destinationClusterId: string
  readonly options: AddTopicsToMirrorOptions
  readonly warnings: string[]
}

/** A topic that passed every check, before anything is written for it. */
export interface Plan {
  readonly there: TopicMetadata
  readonly here: TopicMetadata | undefined
  readonly how: AddedTopic['how']
  readonly fastForward: AddedTopic['fastForward']
}

/** Looks at both sides and refuses what cannot be added; writes nothing. Throws MirrorError, KafkaError, ConnectionError. */
export async function planTopic(addition: Addition, topic: string): Promise<Plan> {
  const { context, mirror, source, sourceTopics, options } = addition
  const there = sourceTopics.get(topic)!
  checkSourceTopic(there, entriesOf(options.topicIds ?? {}).get(topic))
  const state = await context.store.read()
  checkNotTaken(state, mirror.name, topic)
  refuseMissingRights(await missingTopicRights(source, context.destination, topic))
  checkNoLoop(addition.sourceState, addition.destinationClusterId, topic)
  const found = (await context.destination.topics([topic])).get(topic)
  const here = found === undefined || found.partitions.length === 0 ? undefined : found
  const spec = state.mirror(mirror.name)?.topics.get(topic)
  if (isActive(spec)) return unchanged(there, here, spec)
  const sourceBounds = await logBounds(source, topic, there.partitions.length)
  const existing = here && (await checkExisting(source, context.destination, there, here, sourceBounds))
  return { there, here, how: existing?.how ?? 'created', fastForward: fastForwardOf(sourceBounds, existing?.bounds ?? []) }
}

/** A topic the mirror has already: fine as long as it is still the same topic on the source. */
function unchanged(there: TopicMetadata, here: TopicMetadata | undefined, spec: TopicSpec): Plan {
  if (there.topicId !== spec.sourceTopicId) {
    throw failure(
      'TOPIC_RECREATED',
      `topic ${there.name} was recreated on the source since it was added`,
      'To copy the new one and keep the old copy: recover --on-divergence reseed.',
    )
  }
  return { there, here, how: 'unchanged', fastForward: undefined }
}

function fastForwardOf(source: readonly LogBounds[], destination: readonly LogBounds[]): AddedTopic['fastForward'] {
  let offsets = 0n
  for (const [partition, { logStartOffset }] of source.entries()) {
    const from = destination[partition]?.highWatermark ?? 0n
    if (logStartOffset > from) offsets += logStartOffset - from
  }
  if (offsets === 0n) return undefined
  const count = Number(offsets)
  return { offsets, seconds: count / FAST_FORWARD_PER_SECOND, bytes: BigInt(Math.ceil(count * FAST_FORWARD_BYTES_PER_OFFSET)) }
}

import type { Cluster } from '../../client/cluster.js'
import type { TopicMetadata } from '../../client/metadata.js'
import { failure } from '../../mirror/errors.js'
import { isAdded, type MirrorState } from '../../mirror/fold.js'
import type { TopicSpec } from '../../mirror/state.js'
import type { TopicAdmission } from '../types.js'
import { checkNoLoop, checkNotTaken, checkSourceTopic } from './add-checks.js'
import { type LogBounds, logBounds } from './log-bounds.js'
import type { SourceState } from './origins.js'
import { readSourceState } from './source-state.js'

/** Fast-forward, as measured: offsets per second and bytes on disk per offset. */
const FAST_FORWARD_PER_SECOND = 14e6
const FAST_FORWARD_BYTES_PER_OFFSET = 1.4

/** What additions to one mirror work with: the source as it was seen, and where it leads. */
export interface Addition {
  readonly mirror: string
  readonly source: Cluster
  readonly destination: Cluster
  readonly admission: TopicAdmission
  readonly sourceClusterId: string
  readonly sourceTopics: ReadonlyMap<string, TopicMetadata>
  readonly sourceState: SourceState
  readonly destinationClusterId: string
}

/** Fast-forward of all partitions before copying begins. */
export interface FastForward {
  readonly offsets: bigint
  readonly seconds: number
  readonly bytes: bigint
}

/** A topic that passed every check, before anything is written for it. */
export interface Plan {
  readonly there: TopicMetadata
  readonly here: TopicMetadata | undefined
  readonly how: 'created' | 'taken-over' | 'continued' | 'unchanged'
  /** What the destination's partitions held when they were looked at; none where the topic is not there. */
  readonly found: readonly LogBounds[]
  /** Whether an addition that was not finished is on record. */
  readonly begun: boolean
  readonly fastForward: FastForward | undefined
}

/** Looks at the source, whose topics the caller may know already. Throws KafkaError, ConnectionError. */
export async function additionOf(
  sides: Omit<Addition, 'sourceTopics' | 'sourceState'>,
  known?: Addition['sourceTopics'],
): Promise<Addition> {
  const sourceTopics = known ?? (await sides.source.topics())
  return { ...sides, sourceTopics, sourceState: await readSourceState(sides.source) }
}

/**
 * Looks at both sides and refuses what cannot be added; writes nothing. `wantedId` is what the source's topic must have, in
 * Kafka's own spelling. Throws MirrorError, KafkaError, ConnectionError.
 */
export async function planTopic(addition: Addition, state: MirrorState, topic: string, wantedId?: string): Promise<Plan> {
  const { mirror, source, destination, admission } = addition
  const there = addition.sourceTopics.get(topic)!
  checkSourceTopic(there, wantedId)
  checkNotTaken(state, mirror, topic)
  await admission.checkRights(topic)
  checkNoLoop(addition.sourceState, addition.destinationClusterId, topic)
  const known = (await destination.topics([topic])).get(topic)
  const here = known === undefined || known.partitions.length === 0 ? undefined : known
  const spec = state.mirror(mirror)?.topics.get(topic)
  if (isAdded(spec)) return unchanged(there, here, spec)
  const sourceBounds = await logBounds(source, topic, there.partitions.length)
  const existing = here && (await admission.checkExisting(there, here, sourceBounds))
  const found = existing?.bounds ?? []
  const how = existing?.how ?? 'created'
  return {
    there,
    here,
    how,
    found,
    begun: spec?.desired === 'ADDING',
    fastForward: fastForwardOf(sourceBounds, found),
  }
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
  return { there, here, how: 'unchanged', found: [], begun: false, fastForward: undefined }
}

function fastForwardOf(source: readonly LogBounds[], destination: readonly LogBounds[]): FastForward | undefined {
  let offsets = 0n
  for (const [partition, { logStartOffset }] of source.entries()) {
    const from = destination[partition]?.highWatermark ?? 0n
    if (logStartOffset > from) offsets += logStartOffset - from
  }
  if (offsets === 0n) return undefined
  const count = Number(offsets)
  return { offsets, seconds: count / FAST_FORWARD_PER_SECOND, bytes: BigInt(Math.ceil(count * FAST_FORWARD_BYTES_PER_OFFSET)) }
}

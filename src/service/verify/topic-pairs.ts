import { type ConfigEntry, describeConfigs, type Result } from '../../client/admin.js'
import type { Cluster, TopicMetadata } from '../../client/cluster.js'
import { failure, MirrorError } from '../../mirror/errors.js'
import { about, DESTINATION, type Place, sourceOf, toMirrorError } from '../../mirror/failures.js'
import { parsePattern } from '../../mirror/filters.js'
import { isActive } from '../../mirror/fold.js'
import { policiesIn } from '../../mirror/held.js'
import type { Mirror } from '../../mirror/spec-store.js'
import type { FoundLog, PartitionStatus, TopicSpec } from '../../mirror/state.js'
import { Errors, kafkaError } from '../../protocol/errors.js'
import { NO_UUID } from '../../protocol/schema.js'
import { uuidToBase64 } from '../../protocol/uuid.js'
import type { BothClusters } from './bounds.js'
import type { Side } from './comparison.js'
import type { Timestamp } from './record-cursor.js'

/** How both sides treat old records. */
export interface TopicSettings {
  readonly policies: Readonly<Record<Side, readonly string[]>>
  /** `delete.retention.ms`. */
  readonly tombstonesKeptMs: Readonly<Record<Side, number>>
  /** Whether either side compacts, or the destination will once it is released. */
  readonly compacted: boolean
}

/** A topic on both sides. */
export interface TopicPair {
  readonly topic: string
  readonly partitions: number
  readonly topicIds: Readonly<Record<Side, string>>
  readonly settings: TopicSettings
  readonly removed: boolean
  /** Partition → where the mirror left a removed topic. */
  readonly removedAt: ReadonlyMap<number, bigint>
  readonly statuses: ReadonlyMap<number, PartitionStatus>
  /** By partition: what was there before the mirror's own copy. Undefined where it began with nothing, or no one put it on record. */
  readonly found: readonly FoundLog[] | undefined
  /** Partitions of the source that the mirror does not have yet. */
  readonly notMirrored: number
}

export interface UnpairedTopic {
  readonly topic: string
  readonly partitions: number
  readonly error: MirrorError
}

/** The mirror's topics that are meant, by name. Throws MirrorError for a name or regex that fits none. */
export function topicsToVerify(mirror: Mirror, selectors: readonly string[] | undefined): string[] {
  const active = [...mirror.topics].filter(([, spec]) => isActive(spec)).map(([topic]) => topic)
  if (selectors === undefined) return active.sort()
  const chosen = new Set<string>()
  for (const pattern of selectors.map(parsePattern)) {
    const found = pattern.literal ? [...mirror.topics.keys()].filter(pattern.matches) : active.filter(pattern.matches)
    if (found.length === 0) throw failure('TOPIC_NOT_MIRRORED', `mirror ${mirror.name} has no topic ${pattern.text}`)
    for (const topic of found) chosen.add(topic)
  }
  return [...chosen].sort()
}

/** Finds the topics on both sides; one that cannot be compared is told why. Throws MirrorError when a cluster is out of reach. */
export async function pairTopics(
  clusters: BothClusters,
  mirror: Mirror,
  topics: readonly string[],
): Promise<(TopicPair | UnpairedTopic)[]> {
  const places = { source: sourceOf(mirror.name), destination: DESTINATION }
  const [there, here] = await Promise.all(
    (['source', 'destination'] as const).map((side) => about(places[side], undefined, () => described(clusters[side], topics))),
  )
  return topics.map((topic, i) => {
    const spec = mirror.topics.get(topic)!
    try {
      const [source, destination] = [found(there!, topic, i, places.source), found(here!, topic, i, places.destination)]
      checkId(topic, spec, source.metadata)
      return pairOf(mirror, topic, spec, source, destination)
    } catch (error) {
      if (error instanceof MirrorError) return { topic, partitions: spec.partitions, error }
      throw error
    }
  })
}

interface Described {
  readonly metadata: ReadonlyMap<string, TopicMetadata>
  readonly configs: readonly Result<ConfigEntry[]>[]
}

async function described(cluster: Cluster, topics: readonly string[]): Promise<Described> {
  const metadata = await cluster.topics(topics)
  return {
    metadata,
    configs: await describeConfigs(
      cluster,
      topics.map((name) => ({ type: 'topic' as const, name })),
    ),
  }
}

interface Found {
  readonly metadata: TopicMetadata
  readonly configs: ReadonlyMap<string, string | undefined>
}

function found(described: Described, topic: string, index: number, place: Place): Found {
  const metadata = described.metadata.get(topic)
  if (metadata === undefined || metadata.errorCode === Errors.UNKNOWN_TOPIC_OR_PARTITION)
    throw failure('UNKNOWN_TOPIC', `topic ${topic} is not on ${place.name} any more, or the right to DESCRIBE it is missing`)
  if (metadata.errorCode !== 0) throw toMirrorError(kafkaError(metadata.errorCode), place, `topic ${topic} cannot be read on ${place.name}`)
  const configs = described.configs[index]!
  if (!configs.ok) throw toMirrorError(configs.error, place, `the settings of topic ${topic} cannot be read on ${place.name}`)
  return { metadata, configs: new Map(configs.value.map(({ name, value }) => [name, value])) }
}

function checkId(topic: string, spec: TopicSpec, { topicId }: TopicMetadata): void {
  if (spec.sourceTopicId === NO_UUID || topicId === NO_UUID || topicId === spec.sourceTopicId) return
  throw failure(
    'TOPIC_RECREATED',
    `topic ${topic} was deleted and created again on the source: its id is ${uuidToBase64(topicId)}, the one that was mirrored had ${uuidToBase64(spec.sourceTopicId)}`,
    'There is nothing left to compare the copy with.',
  )
}

function pairOf(mirror: Mirror, topic: string, spec: TopicSpec, source: Found, destination: Found): TopicPair {
  const removed = !isActive(spec)
  const result = removed ? mirror.results.get(topic) : undefined
  const statuses = [...(mirror.statuses.get(topic) ?? [])].filter(([, status]) => status.addedAt === spec.addedAt)
  return {
    topic,
    partitions: spec.partitions,
    topicIds: { source: source.metadata.topicId, destination: destination.metadata.topicId },
    settings: settingsOf(spec, source.configs, destination.configs),
    removed,
    removedAt: new Map(result?.partitions.map(({ partition, logEndOffset }) => [partition, logEndOffset])),
    statuses: new Map(statuses),
    found: spec.found,
    notMirrored: removed ? 0 : Math.max(0, source.metadata.partitions.length - spec.partitions),
  }
}

function settingsOf(spec: TopicSpec, source: Found['configs'], destination: Found['configs']): TopicSettings {
  const policies = { source: policiesIn(source.get('cleanup.policy')), destination: policiesIn(destination.get('cleanup.policy')) }
  const held = policiesIn(spec.held['cleanup.policy'])
  const kept = (configs: Found['configs']) => Number(configs.get('delete.retention.ms') ?? 0)
  return {
    policies,
    tombstonesKeptMs: { source: kept(source), destination: kept(destination) },
    compacted: [...policies.source, ...policies.destination, ...held].includes('compact'),
  }
}

/**
 * Whether a tombstone can be gone from one side: it has to be older than `delete.retention.ms` there. A time that is in the
 * future or absent says nothing about its age.
 */
export function mayHaveExpired({ tombstonesKeptMs }: TopicSettings, now: number): (timestamp: Timestamp, from: Side) => boolean {
  return (timestamp, from) => !(timestamp <= now && timestamp > now - tombstonesKeptMs[from])
}

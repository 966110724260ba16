import { createPartitions, createTopics, initProducerId, unwrap } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'
import type { TopicMetadata } from '../../client/metadata.js'
import { isLed } from '../../client/metadata.js'
import { failure } from '../../mirror/errors.js'
import { about, DESTINATION, isMissingRight } from '../../mirror/failures.js'
import { type HeldSettings, holdSettings } from '../../mirror/held.js'
import type { PartitionProducer } from '../../mirror/state.js'
import { STATE_TOPIC } from '../../mirror/state-topic.js'
import { Errors, KafkaError } from '../../protocol/errors.js'
import { NO_UUID } from '../../protocol/schema.js'
import { type AppliedSettings, applyTopicSettings, destinationDefaults, readTopicConfigs, refusalWarnings } from './topic-settings.js'

const APPEARS_WITHIN_MS = 30_000
/** InitProducerId requests in flight at once. */
const PRODUCER_IDS_AT_ONCE = 50

/** A destination topic ready to be copied into. */
export interface PreparedTopic {
  readonly topicId: string
  readonly held: Readonly<Record<string, string | null>>
  /** The source's own settings as they are in force here or held. */
  readonly taken: Readonly<Record<string, string>>
  readonly producers: readonly PartitionProducer[]
  readonly warnings: readonly string[]
}

export interface Preparation {
  readonly source: Cluster
  readonly destination: Cluster
  /** As the source has it. */
  readonly there: TopicMetadata
  /** As the destination has it, if it has. */
  readonly here: TopicMetadata | undefined
  readonly replicationFactor: number | undefined
  /** `mirror.topic.properties.exclude`. */
  readonly excludedSettings: readonly string[]
  /** What a topic that is created again had of its own, held settings left out: it keeps them. */
  readonly ownSettings?: ReadonlyMap<string, string>
}

/** Creates the topic complete, or takes in the one that is there: settings, partitions, producer ids. Throws MirrorError. */
export async function prepareTopic(preparation: Preparation): Promise<PreparedTopic> {
  const { source, destination, there, here } = preparation
  const partitions = there.partitions.length
  const doing = `topic ${there.name} could not be ${here === undefined ? 'created' : 'prepared'} on the destination`
  return about(DESTINATION, doing, async () => {
    const [sourceConfigs, defaults] = await Promise.all([
      readTopicConfigs(source, there.name),
      destinationDefaults(destination, STATE_TOPIC),
    ])
    const local = here === undefined ? preparation.ownSettings : (await readTopicConfigs(destination, there.name)).overrides
    const settings = holdSettings(sourceConfigs, defaults, preparation.excludedSettings, local)
    // First, since a broker without producer ids (a preview of KRaft) can be no destination at all.
    const producers = await allocateProducers(destination, partitions)
    const { refused, id } =
      here === undefined ? await create(preparation, settings) : { refused: await takeIn(preparation, here, settings), id: here.topicId }
    const topicId = await appeared(destination, there.name, partitions, id)
    const taken = Object.fromEntries(Object.entries(settings.taken).filter(([key]) => !refused.refused.some((other) => other.key === key)))
    return { topicId, held: settings.held, taken, producers, warnings: refusalWarnings(there.name, refused) }
  })
}

interface Created {
  readonly id: string
  readonly refused: AppliedSettings
}

const NONE_REFUSED: AppliedSettings = { refused: [], exists: true }

async function create(preparation: Preparation, settings: HeldSettings): Promise<Created> {
  const { destination, there, replicationFactor, ownSettings = new Map() } = preparation
  const configs = new Map([...ownSettings, ...settings.apply])
  const topic = { name: there.name, partitions: there.partitions.length, ...(replicationFactor === undefined ? {} : { replicationFactor }) }
  const complete = await tryCreate(destination, { ...topic, configs })
  if (!(complete instanceof KafkaError)) return { id: complete, refused: NONE_REFUSED }
  const lacksRight: boolean = isMissingRight(complete)
  if (lacksRight)
    throw failure('RIGHTS_MISSING', `a right is missing: CREATE on topic ${there.name} of the destination`, 'Grant it with kafka-acls.')
  if (complete.code !== Errors.INVALID_CONFIG && complete.code !== Errors.POLICY_VIOLATION) throw complete
  // Some setting of the source means nothing here. What old data needs comes first, the rest one by one.
  const needed = new Map([...settings.apply].filter(([key]) => Object.hasOwn(settings.held, key)))
  const reduced = await tryCreate(destination, { ...topic, configs: needed })
  if (reduced instanceof KafkaError) throw reduced
  await appeared(destination, there.name, topic.partitions, reduced)
  const rest = new Map([...configs].filter(([key]) => !needed.has(key)))
  return { id: reduced, refused: await applyTopicSettings(destination, there.name, rest) }
}

/** The new topic's id. */
async function tryCreate(destination: Cluster, topic: Parameters<typeof createTopics>[1][number]): Promise<KafkaError | string> {
  const result = (await createTopics(destination, [topic])).get(topic.name)!
  if (result.ok) return result.value.topicId
  if (!(result.error instanceof KafkaError)) throw result.error
  return result.error
}

async function takeIn({ destination, there }: Preparation, here: TopicMetadata, settings: HeldSettings): Promise<AppliedSettings> {
  const applied = await applyTopicSettings(destination, there.name, settings.apply)
  const essential = applied.refused.find(({ key }) => Object.hasOwn(settings.held, key))
  if (essential !== undefined) throw failure('KAFKA', `it does not take ${essential.key}: ${essential.reason}`)
  if (here.partitions.length < there.partitions.length) {
    unwrap((await createPartitions(destination, new Map([[there.name, there.partitions.length]]))).get(there.name)!)
  }
  return applied
}

/** The topic's id once every partition has a leader; of a topic with this very id, unless brokers have none or don't tell. */
export async function appeared(destination: Cluster, topic: string, partitions: number, id: string): Promise<string> {
  const deadline = Date.now() + APPEARS_WITHIN_MS
  for (;;) {
    const found = (await destination.topics([topic])).get(topic)
    const isIt = id === NO_UUID || found?.topicId === id
    if (isLed(found) && isIt && found.partitions.length === partitions) {
      return found.topicId
    }
    if (Date.now() > deadline) throw failure('TIMEOUT', `topic ${topic} has no leaders after ${APPEARS_WITHIN_MS / 1000} s`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** One producer id per partition: whoever copies it uses that one, so that the broker sees duplicates and gaps. */
export async function allocateProducers(destination: Cluster, partitions: number): Promise<PartitionProducer[]> {
  const producers: PartitionProducer[] = []
  while (producers.length < partitions) {
    const count = Math.min(PRODUCER_IDS_AT_ONCE, partitions - producers.length)
    const given = await Promise.all(Array.from({ length: count }, () => initProducerId(destination)))
    producers.push(...given.map(({ producerId, producerEpoch }) => ({ id: producerId, epoch: producerEpoch })))
  }
  return producers
}

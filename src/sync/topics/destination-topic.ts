import { createPartitions, initProducerId, unwrap } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'
import type { TopicMetadata } from '../../client/metadata.js'
import { failure } from '../../mirror/errors.js'
import { about, DESTINATION } from '../../mirror/failures.js'
import { type HeldSettings, holdSettings } from '../../mirror/held.js'
import type { PartitionProducer } from '../../mirror/state.js'
import { STATE_TOPIC } from '../../mirror/state-topic.js'
import { appeared, creatable, createTopic, type Shape } from './create-topic.js'
import { type AppliedSettings, applyTopicSettings, destinationDefaults, readTopicConfigs, refusalWarnings } from './topic-settings.js'

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

/** What a destination topic is to get, before anything is changed. */
export interface IntendedTopic {
  readonly settings: HeldSettings
  readonly producers: readonly PartitionProducer[]
  /** What a topic that is not there is created with; all else is set one by one. */
  readonly first: ReadonlyMap<string, string>
}

/** Creates the topic complete. Throws MirrorError. */
export async function prepareTopic(preparation: Preparation): Promise<PreparedTopic> {
  return carryOut(preparation, await intendTopic(preparation))
}

/** Works out what the topic gets and whether it could be created so; changes nothing. Throws MirrorError. */
export function intendTopic(preparation: Preparation): Promise<IntendedTopic> {
  const { source, destination, there, here, excludedSettings } = preparation
  return doing(preparation, async () => {
    const [sourceConfigs, defaults] = await Promise.all([
      readTopicConfigs(source, there.name),
      destinationDefaults(destination, STATE_TOPIC),
    ])
    const settings = holdSettings(sourceConfigs, defaults, excludedSettings, await localSettings(preparation))
    // A broker without producer ids (a preview of KRaft) can be no destination at all.
    const producers = await allocateProducers(destination, there.partitions.length)
    if (here !== undefined) return { settings, producers, first: new Map() }
    // Old data needs what is held.
    const needed = new Map([...settings.apply].filter(([key]) => Object.hasOwn(settings.held, key)))
    return { settings, producers, first: await creatable(destination, shapeOf(preparation), completed(preparation, settings), needed) }
  })
}

/** Creates the topic, or takes in the one that is there: settings and partitions. Safe to repeat. Throws MirrorError. */
export function carryOut(preparation: Preparation, { settings, producers, first }: IntendedTopic): Promise<PreparedTopic> {
  const { destination, there, here } = preparation
  return doing(preparation, async () => {
    const { refused, id } =
      here === undefined
        ? await createTopic(destination, shapeOf(preparation), completed(preparation, settings), first)
        : { refused: await takeIn(preparation, here, settings), id: here.topicId }
    const topicId = await appeared(destination, there.name, there.partitions.length, id)
    const taken = Object.fromEntries(Object.entries(settings.taken).filter(([key]) => !refused.refused.some((other) => other.key === key)))
    return { topicId, held: settings.held, taken, producers, warnings: refusalWarnings(there.name, refused) }
  })
}

const doing = <T>({ there, here }: Preparation, action: () => Promise<T>): Promise<T> =>
  about(DESTINATION, `topic ${there.name} could not be ${here === undefined ? 'created' : 'prepared'} on the destination`, action)

const shapeOf = ({ there, replicationFactor }: Preparation): Shape => ({
  name: there.name,
  partitions: there.partitions.length,
  ...(replicationFactor === undefined ? {} : { replicationFactor }),
})

/** All that a topic gets that is not there yet. */
const completed = ({ ownSettings = new Map() }: Preparation, { apply }: HeldSettings): ReadonlyMap<string, string> =>
  new Map([...ownSettings, ...apply])

/** The destination's own overrides, as they are: an addition that was not finished may have put its own on. */
const localSettings = async ({ destination, there, here, ownSettings }: Preparation): Promise<ReadonlyMap<string, string> | undefined> =>
  here === undefined ? ownSettings : (await readTopicConfigs(destination, there.name)).overrides

async function takeIn({ destination, there }: Preparation, here: TopicMetadata, settings: HeldSettings): Promise<AppliedSettings> {
  const applied = await applyTopicSettings(destination, there.name, settings.apply)
  const essential = applied.refused.find(({ key }) => Object.hasOwn(settings.held, key))
  if (essential !== undefined) throw failure('KAFKA', `it does not take ${essential.key}: ${essential.reason}`)
  if (here.partitions.length < there.partitions.length) {
    unwrap((await createPartitions(destination, new Map([[there.name, there.partitions.length]]))).get(there.name)!)
  }
  return applied
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

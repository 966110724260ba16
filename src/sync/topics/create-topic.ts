import { createTopics, type NewTopic } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'
import { isLed } from '../../client/metadata.js'
import { failure } from '../../mirror/errors.js'
import { isMissingRight } from '../../mirror/failures.js'
import { Errors, KafkaError } from '../../protocol/errors.js'
import { NO_UUID } from '../../protocol/schema.js'
import { type AppliedSettings, applyTopicSettings } from './topic-settings.js'

const APPEARS_WITHIN_MS = 30_000

/** A topic to be created: its name, partitions and replication factor. */
export type Shape = Omit<NewTopic, 'configs' | 'partitions'> & { readonly partitions: number }
type Settings = ReadonlyMap<string, string>

/**
 * What the topic can be created with: all of `settings`, or what is `needed` from the beginning where some setting of the source means
 * nothing here. Changes nothing. Throws MirrorError, KafkaError, ConnectionError.
 */
export async function creatable(cluster: Cluster, topic: Shape, settings: Settings, needed: Settings): Promise<Settings> {
  const refusal = await tryCreate(cluster, topic, settings, { validateOnly: true })
  if (!(refusal instanceof KafkaError)) return settings
  const lacksRight: boolean = isMissingRight(refusal)
  if (lacksRight)
    throw failure('RIGHTS_MISSING', `a right is missing: CREATE on topic ${topic.name} of the destination`, 'Grant it with kafka-acls.')
  if (refusal.code !== Errors.INVALID_CONFIG && refusal.code !== Errors.POLICY_VIOLATION) throw refusal
  const reduced = await tryCreate(cluster, topic, needed, { validateOnly: true })
  if (reduced instanceof KafkaError) throw reduced
  return needed
}

/** Creates the topic with what it can be created with, and sets the others one by one. Throws MirrorError, KafkaError, ConnectionError. */
export async function createTopic(
  cluster: Cluster,
  topic: Shape,
  settings: Settings,
  first: Settings,
): Promise<{ readonly id: string; readonly refused: AppliedSettings }> {
  const id = await tryCreate(cluster, topic, first)
  if (id instanceof KafkaError) throw id
  const rest = new Map([...settings].filter(([key]) => !first.has(key)))
  if (rest.size > 0) await appeared(cluster, topic.name, topic.partitions, id)
  return { id, refused: await applyTopicSettings(cluster, topic.name, rest) }
}

/** The new topic's id. */
async function tryCreate(
  cluster: Cluster,
  topic: Shape,
  configs: Settings,
  options: { readonly validateOnly?: boolean } = {},
): Promise<KafkaError | string> {
  const result = (await createTopics(cluster, [{ ...topic, configs }], options)).get(topic.name)!
  if (result.ok) return result.value.topicId
  if (!(result.error instanceof KafkaError)) throw result.error
  return result.error
}

/** The topic's id once every partition has a leader; of a topic with this very id, unless brokers have none or don't tell. */
export async function appeared(cluster: Cluster, topic: string, partitions: number, id: string): Promise<string> {
  const deadline = Date.now() + APPEARS_WITHIN_MS
  for (;;) {
    const found = (await cluster.topics([topic])).get(topic)
    const isIt = id === NO_UUID || found?.topicId === id
    if (isLed(found) && isIt && found.partitions.length === partitions) {
      return found.topicId
    }
    if (Date.now() > deadline) throw failure('TIMEOUT', `topic ${topic} has no leaders after ${APPEARS_WITHIN_MS / 1000} s`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

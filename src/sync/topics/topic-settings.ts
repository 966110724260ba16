import { type ConfigEntry, describeConfigs, incrementalAlterConfigs, topicChange, unwrap } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'
import { failure } from '../../mirror/errors.js'
import { areForced, releaseSettings, type TopicConfigs } from '../../mirror/held.js'
import type { TopicSpec } from '../../mirror/state.js'
import { Errors, KafkaError } from '../../protocol/errors.js'
import { NO_UUID } from '../../protocol/schema.js'

/** A topic's settings: its own overrides, and what is in force. Throws KafkaError, ConnectionError. */
export async function readTopicConfigs(cluster: Cluster, topic: string): Promise<TopicConfigs> {
  const [entries] = await describeConfigs(cluster, [{ type: 'topic', name: topic }])
  return topicConfigsOf(unwrap(entries!))
}

/** One topic's settings as DescribeConfigs gives them. */
export function topicConfigsOf(entries: readonly ConfigEntry[]): TopicConfigs {
  const known = entries.flatMap(({ name, value, source }) => (value === undefined ? [] : [{ name, value, source }]))
  return {
    overrides: new Map(known.filter(({ source }) => source === 'topic').map(({ name, value }) => [name, value])),
    effective: new Map(known.map(({ name, value }) => [name, value])),
  }
}

/** What a change of many settings came to. */
export interface AppliedSettings {
  /** Settings the broker does not take, with its reason; the others are in force. */
  readonly refused: readonly { readonly key: string; readonly reason: string }[]
  /** False if the topic is not there any more. */
  readonly exists: boolean
}

/**
 * Sets topic settings (null removes an override) and leaves all others alone. A broker takes all of a request or nothing:
 * when it finds one of them wrong, each is tried by itself. Throws KafkaError for a missing right, ConnectionError.
 */
export async function applyTopicSettings(
  cluster: Cluster,
  topic: string,
  settings: ReadonlyMap<string, string | null>,
): Promise<AppliedSettings> {
  if (settings.size === 0) return { refused: [], exists: true }
  const [result] = await incrementalAlterConfigs(cluster, [topicChange(topic, settings)])
  if (result!.ok) return { refused: [], exists: true }
  const { error } = result!
  if (!(error instanceof KafkaError)) throw error
  if (error.code === Errors.UNKNOWN_TOPIC_OR_PARTITION) return { refused: [], exists: false }
  if (error.code !== Errors.INVALID_CONFIG && error.code !== Errors.INVALID_REQUEST && error.code !== Errors.POLICY_VIOLATION) throw error
  const [single] = settings
  if (settings.size === 1) return { refused: [{ key: single![0], reason: error.message }], exists: true }
  const refused: AppliedSettings['refused'][number][] = []
  for (const setting of settings) refused.push(...(await applyTopicSettings(cluster, topic, new Map([setting]))).refused)
  return { refused, exists: true }
}

/**
 * What a topic gets as it leaves; nothing if an addition that was not finished was to create it, and it does not hold what that creates it
 * with: somebody else has created it, or it was never touched. Throws KafkaError, ConnectionError.
 */
export async function settingsAtRelease(
  destination: Cluster,
  topic: string,
  { held, taken, destinationTopicId }: TopicSpec,
): Promise<ReadonlyMap<string, string | null>> {
  const settings = releaseSettings(held)
  if (taken !== undefined || destinationTopicId !== NO_UUID || settings.size === 0) return settings
  const [entries] = await describeConfigs(destination, [{ type: 'topic', name: topic }])
  // Not there: whoever changes it will see.
  if (!entries!.ok && entries!.error instanceof KafkaError && entries!.error.code === Errors.UNKNOWN_TOPIC_OR_PARTITION) return settings
  const { overrides } = topicConfigsOf(unwrap(entries!))
  return areForced(Object.fromEntries([...settings.keys()].map((key) => [key, overrides.get(key) ?? null]))) ? settings : new Map()
}

/** What was refused, as sentences for stderr. */
export const refusalWarnings = (topic: string, { refused }: AppliedSettings): string[] =>
  refused.map(({ key, reason }) => `topic ${topic}: the destination does not take ${key}: ${reason}`)

/** Every topic setting the destination knows, with its default; learnt from the state topic, whose own overrides hide theirs (empty). */
export async function destinationDefaults(destination: Cluster, stateTopic: string): Promise<ReadonlyMap<string, string>> {
  const [result] = await describeConfigs(destination, [{ type: 'topic', name: stateTopic }])
  if (!result!.ok) throw failure('RIGHTS_MISSING', `settings of topic ${stateTopic} cannot be read: ${result!.error.message}`)
  return new Map(result!.value.map(({ name, value, source }) => [name, source === 'topic' ? '' : (value ?? '')]))
}

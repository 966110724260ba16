import { CreatePartitions, CreateTopics, DeleteTopics, Errors, kafkaError } from '../protocol/index.js'
import { NO_UUID } from '../protocol/schema.js'
import type { Cluster } from './cluster.js'
import { failed, type Result, resultOf } from './result.js'

export interface NewTopic {
  readonly name: string
  /** Default: the broker's. */
  readonly partitions?: number
  /** Default: the broker's. */
  readonly replicationFactor?: number
  readonly configs?: ReadonlyMap<string, string>
}

export interface CreatedTopic {
  /** Hex text with hyphens; all zeros from brokers before 2.8 and when only validated. */
  readonly topicId: string
  /** −1 when the broker doesn't tell. */
  readonly partitions: number
  readonly replicationFactor: number
}

export interface AdminOptions {
  /** Check, change nothing. */
  readonly validateOnly?: boolean
  /** For the brokers to carry it out, in milliseconds. */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 30_000
const BROKER_DEFAULT = -1

/**
 * Creates topics, an outcome for each; brokers other than the controller learn of them a moment later. Sent again when the answer was lost: TOPIC_ALREADY_EXISTS may then mean our own topic.
 *
 * @throws ConnectionError
 */
export async function createTopics(
  cluster: Cluster,
  topics: readonly NewTopic[],
  { validateOnly = false, timeoutMs = TIMEOUT_MS }: AdminOptions = {},
): Promise<Map<string, Result<CreatedTopic>>> {
  const request = {
    topics: topics.map((topic) => ({
      name: topic.name,
      numPartitions: topic.partitions ?? BROKER_DEFAULT,
      replicationFactor: topic.replicationFactor ?? BROKER_DEFAULT,
      configs: [...(topic.configs ?? [])].map(([name, value]) => ({ name, value })),
    })),
    timeoutMs,
    validateOnly,
  }
  const response = await cluster.controller(CreateTopics, request, {
    timeoutMs: timeoutMs + 5_000,
    errorsOf: (answer) => answer.topics.map((topic) => topic.errorCode),
  })
  return complete(
    topics.map((topic) => topic.name),
    response.topics.map((topic) => {
      const value = { topicId: topic.topicId, partitions: topic.numPartitions, replicationFactor: topic.replicationFactor }
      return [topic.name, resultOf(topic.errorCode, topic.errorMessage, value)]
    }),
  )
}

export interface DeleteTopicsOptions extends Pick<AdminOptions, 'timeoutMs'> {
  /** Name → id: deleted is only the topic of that id (KIP-516), where the brokers are new enough to know (2.8); else by name. */
  readonly ids?: ReadonlyMap<string, string>
}

/**
 * Deletes topics, an outcome for each. By id, UNKNOWN_TOPIC_ID says that it is another topic by now.
 *
 * @throws ConnectionError
 */
export async function deleteTopics(
  cluster: Cluster,
  names: readonly string[],
  { timeoutMs = TIMEOUT_MS, ids = new Map() }: DeleteTopicsOptions = {},
): Promise<Map<string, Result<void>>> {
  const known = (name: string) => ids.get(name) ?? NO_UUID
  const topics = names.map((name) => (known(name) === NO_UUID ? { name } : { name: null, topicId: known(name) }))
  const response = await cluster.controller(DeleteTopics, { topics, topicNames: [...names], timeoutMs }, { timeoutMs: timeoutMs + 5_000 })
  const nameOf = (topicId: string) => names.find((name) => topicId !== NO_UUID && known(name) === topicId) ?? ''
  return complete(
    names,
    response.responses.map((topic) => [topic.name ?? nameOf(topic.topicId), resultOf(topic.errorCode, topic.errorMessage, undefined)]),
  )
}

/**
 * Grows topics to the given totals of partitions, an outcome for each.
 *
 * @throws ConnectionError
 */
export async function createPartitions(
  cluster: Cluster,
  totals: ReadonlyMap<string, number>,
  { validateOnly = false, timeoutMs = TIMEOUT_MS }: AdminOptions = {},
): Promise<Map<string, Result<void>>> {
  const request = { topics: [...totals].map(([name, count]) => ({ name, count, assignments: null })), timeoutMs, validateOnly }
  const response = await cluster.controller(CreatePartitions, request, { timeoutMs: timeoutMs + 5_000 })
  return complete(
    [...totals.keys()],
    response.results.map((topic) => [topic.name, resultOf(topic.errorCode, topic.errorMessage, undefined)]),
  )
}

/** Every name has an outcome, whatever the answer lacks. */
function complete<T>(names: readonly string[], answers: ReadonlyArray<readonly [string, Result<T>]>): Map<string, Result<T>> {
  const found = new Map(answers)
  const lacking = failed(kafkaError(Errors.UNKNOWN_SERVER_ERROR, 'the answer lacks the topic'))
  return new Map(names.map((name) => [name, found.get(name) ?? lacking]))
}

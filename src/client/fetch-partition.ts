import { Fetch } from '../protocol/api/fetch.js'
import { kafkaError } from '../protocol/errors.js'
import type { ResponseOf } from '../protocol/schema.js'
import type { Cluster } from './cluster.js'

export interface FetchedFrom {
  readonly topic: string
  /** All zeros where the cluster has none. */
  readonly topicId: string
  readonly partition: number
}

export interface FetchLimits {
  readonly committedOnly: boolean
  /** The broker gives at least one whole batch. */
  readonly maxBytes: number
  /** How long to wait for a first record, in milliseconds; 0: not at all. */
  readonly maxWaitMs: number
}

export type FetchedAnswer = ResponseOf<typeof Fetch>['responses'][number]['partitions'][number]

/**
 * One fetch of one partition from its leader, outside of any session: for what looks at a log now and then. The copying and
 * whoever reads whole logs have fetchers of their own. Throws KafkaError naming the place, ConnectionError.
 */
export async function fetchPartition(
  cluster: Cluster,
  { topic, topicId, partition }: FetchedFrom,
  fetchOffset: bigint,
  { committedOnly, maxBytes, maxWaitMs }: FetchLimits,
): Promise<FetchedAnswer> {
  const response = await cluster.leader(topic, partition, Fetch, {
    maxWaitMs,
    minBytes: maxWaitMs > 0 ? 1 : 0,
    maxBytes,
    isolationLevel: committedOnly ? 1 : 0,
    topics: [{ topic, topicId, partitions: [{ partition, fetchOffset, partitionMaxBytes: maxBytes }] }],
  })
  if (response.errorCode !== 0) throw kafkaError(response.errorCode)
  const answer = response.responses[0]?.partitions[0]
  if (answer === undefined) throw new Error(`the Fetch answer lacks ${topic}-${partition}`)
  if (answer.errorCode !== 0) throw kafkaError(answer.errorCode, `${topic}-${partition} at offset ${fetchOffset}`)
  return answer
}

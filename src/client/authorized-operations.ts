import { DescribeCluster, DescribeGroups, Errors, kafkaError, Metadata } from '../protocol/index.js'
import type { Cluster } from './cluster.js'

/** Kafka's AclOperation numbers; brokers answer with one bit for each. Without an authorizer every bit is set. */
const OPERATIONS = {
  READ: 3,
  WRITE: 4,
  CREATE: 5,
  DELETE: 6,
  ALTER: 7,
  DESCRIBE: 8,
  CLUSTER_ACTION: 9,
  DESCRIBE_CONFIGS: 10,
  ALTER_CONFIGS: 11,
} as const
export type Operation = keyof typeof OPERATIONS

/** The answer of a broker too old to tell (before 2.3): nothing can be said. */
const NOT_TOLD = -2147483648

/** What we may do with one resource (KIP-430), as bits; see {@link isAuthorized}. */
export type AuthorizedOperations = number

/** True where the broker does not tell, too. */
export const isAuthorized = (bits: AuthorizedOperations, operation: Operation): boolean =>
  bits === NOT_TOLD || (bits & (1 << OPERATIONS[operation])) !== 0

/** From version 6 on a group that does not exist yet is an error, without its rights. */
const TELLING = { maxVersion: 5 }

/** @throws KafkaError @throws ConnectionError */
export async function authorizedOnCluster(cluster: Cluster): Promise<AuthorizedOperations> {
  const answer = await cluster.any(DescribeCluster, { includeClusterAuthorizedOperations: true })
  return answer.errorCode === Errors.CLUSTER_AUTHORIZATION_FAILED ? 0 : answer.clusterAuthorizedOperations
}

/** Topics that do not exist are left out: they grant nothing. @throws ConnectionError */
export async function authorizedOnTopics(cluster: Cluster, topics: readonly string[]): Promise<Map<string, AuthorizedOperations>> {
  if (topics.length === 0) return new Map()
  const answer = await cluster.any(Metadata, { topics: topics.map((name) => ({ name })), includeTopicAuthorizedOperations: true })
  const known = answer.topics.filter(({ errorCode }) => errorCode !== Errors.UNKNOWN_TOPIC_OR_PARTITION)
  return new Map(
    known.map(({ name, errorCode, topicAuthorizedOperations: bits }) => [
      name ?? '',
      errorCode === Errors.TOPIC_AUTHORIZATION_FAILED ? 0 : bits,
    ]),
  )
}

/** Of a group whether or not it exists. @throws KafkaError @throws ConnectionError */
export async function authorizedOnGroup(cluster: Cluster, group: string): Promise<AuthorizedOperations> {
  try {
    const answer = await cluster.coordinator(
      'group',
      group,
      DescribeGroups,
      { groups: [group], includeAuthorizedOperations: true },
      { ...TELLING, errorsOf: ({ groups }) => groups.map(({ errorCode }) => errorCode) },
    )
    const found = answer.groups[0]
    if (found === undefined) return 0
    // The bits that come with an error tell nothing, and would be taken for every right there is.
    if (found.errorCode !== Errors.NONE) throw kafkaError(found.errorCode)
    return found.authorizedOperations
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === Errors.GROUP_AUTHORIZATION_FAILED) return 0
    throw error
  }
}

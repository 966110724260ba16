import { createTopics, initProducerId } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { failure } from '../mirror/errors.js'
import { RUNNER_GROUP } from '../mirror/state-topic.js'
import { TRANSACTIONAL_ID_PREFIX } from '../mirror/transactional-id.js'
import { DescribeCluster } from '../protocol/api/describe-cluster.js'
import { DescribeGroups } from '../protocol/api/describe-groups.js'
import { Metadata } from '../protocol/api/metadata.js'
import { Errors, KafkaError } from '../protocol/errors.js'
import { isMissingRight } from './failures.js'

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
type Operation = keyof typeof OPERATIONS

/** The answer of a broker too old to tell (before 2.3): nothing can be said. */
const NOT_TOLD = -2147483648

export interface MissingRight {
  readonly side: 'source' | 'destination'
  /** `READ`, or `ALTER or CLUSTER_ACTION` where either would do. */
  readonly operation: string
  /** `topic t`, `group g`, `the cluster`. */
  readonly resource: string
}

/** From version 6 on a group that does not exist yet is an error, without its rights. */
const TELLING = { maxVersion: 5 }

const SOURCE_TOPIC: readonly Operation[] = ['READ', 'DESCRIBE', 'DESCRIBE_CONFIGS']
const DESTINATION_TOPIC: readonly Operation[] = ['READ', 'WRITE', 'DELETE', 'DESCRIBE', 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS']
const STATE_TOPIC_OPERATIONS: readonly Operation[] = ['READ', 'WRITE', 'DESCRIBE']

/** Rights the source must grant for these topics and groups. Groups are names to be tried. Throws ConnectionError. */
export async function missingSourceRights(
  source: Cluster,
  wanted: { readonly topics: readonly string[]; readonly groups: readonly string[] },
): Promise<MissingRight[]> {
  const found = await Promise.all([
    clusterRights(source, [['DESCRIBE']]),
    topicRights(source, wanted.topics, SOURCE_TOPIC),
    groupRights(source, wanted.groups, ['DESCRIBE']),
  ])
  return found.flat().map((right) => ({ side: 'source', ...right }))
}

/** Rights the destination must grant a runner: `topics` are those that exist and are mirrored. Throws ConnectionError. */
export async function missingDestinationRights(
  destination: Cluster,
  wanted: { readonly topics: readonly string[]; readonly stateTopics: readonly string[] },
): Promise<MissingRight[]> {
  const found = await Promise.all([
    clusterRights(destination, [['DESCRIBE']]),
    fillRights(destination),
    topicRights(destination, wanted.topics, DESTINATION_TOPIC),
    topicRights(destination, wanted.stateTopics, STATE_TOPIC_OPERATIONS),
    groupRights(destination, [RUNNER_GROUP], ['READ']),
  ])
  return found.flat().map((right) => ({ side: 'destination', ...right }))
}

/** What adding this one topic needs on both sides; a topic that is not on the destination yet needs nothing there but CREATE. */
export async function missingTopicRights(source: Cluster, destination: Cluster, topic: string): Promise<MissingRight[]> {
  const [there, here] = await Promise.all([
    topicRights(source, [topic], SOURCE_TOPIC),
    topicRights(destination, [topic], DESTINATION_TOPIC),
  ])
  return [
    ...there.map((right) => ({ side: 'source' as const, ...right })),
    ...here.map((right) => ({ side: 'destination' as const, ...right })),
  ]
}

/** CREATE on a topic that is not there (as far as one may see): the broker is asked to validate the creation only. */
export async function missingCreateRight(destination: Cluster, topic: string): Promise<MissingRight[]> {
  const known = (await destination.topics([topic])).get(topic)
  if (known?.errorCode === 0) return []
  const result = (await createTopics(destination, [{ name: topic, partitions: 1 }], { validateOnly: true })).get(topic)!
  if (result.ok || !isMissingRight(result.error)) return []
  return [{ side: 'destination', operation: 'CREATE', resource: `topic ${topic}` }]
}

/** Throws MirrorError RIGHTS_MISSING that lists every one; nothing for an empty list. */
export function refuseMissingRights(missing: readonly MissingRight[]): void {
  if (missing.length === 0) return
  const listed = missing.map(({ side, operation, resource }) => `${operation} on ${resource} of the ${side}`)
  throw failure(
    'RIGHTS_MISSING',
    `${missing.length === 1 ? 'a right is' : 'rights are'} missing: ${listed.join(', ')}`,
    'Grant them with kafka-acls.',
  )
}

type Right = Omit<MissingRight, 'side'>

/** Each entry of `alternatives` needs one of its operations. */
async function clusterRights(cluster: Cluster, alternatives: readonly (readonly Operation[])[]): Promise<Right[]> {
  const answer = await cluster.any(DescribeCluster, { includeClusterAuthorizedOperations: true })
  const bits = answer.errorCode === Errors.CLUSTER_AUTHORIZATION_FAILED ? 0 : answer.clusterAuthorizedOperations
  return alternatives
    .filter((operations) => !operations.some((operation) => granted(bits, operation)))
    .map((operations) => ({ operation: operations.join(' or '), resource: 'the cluster' }))
}

/**
 * Offsets are filled with markers, for which the broker asks for either right (KafkaApis.handleWriteTxnMarkersRequest), else
 * with empty transactions. Whether a transactional id may be used only its use tells.
 */
async function fillRights(destination: Cluster): Promise<Right[]> {
  const [markers] = await clusterRights(destination, [['ALTER', 'CLUSTER_ACTION']])
  if (markers === undefined) return []
  try {
    await initProducerId(destination, { transactionalId: `${TRANSACTIONAL_ID_PREFIX}rights` })
    return []
  } catch (error) {
    if (!(error instanceof KafkaError && error.code === Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)) throw error
    const operation = `${markers.operation} on ${markers.resource} or WRITE`
    return [{ operation, resource: `transactional ids ${TRANSACTIONAL_ID_PREFIX}*` }]
  }
}

async function topicRights(cluster: Cluster, topics: readonly string[], operations: readonly Operation[]): Promise<Right[]> {
  if (topics.length === 0) return []
  const answer = await cluster.any(Metadata, { topics: topics.map((name) => ({ name })), includeTopicAuthorizedOperations: true })
  return answer.topics.flatMap(({ name, errorCode, topicAuthorizedOperations }) => {
    // A topic that does not exist grants nothing, and needs nothing yet.
    if (errorCode === Errors.UNKNOWN_TOPIC_OR_PARTITION) return []
    const bits = errorCode === Errors.TOPIC_AUTHORIZATION_FAILED ? 0 : topicAuthorizedOperations
    return lacking(bits, operations, `topic ${name}`)
  })
}

async function groupRights(cluster: Cluster, groups: readonly string[], operations: readonly Operation[]): Promise<Right[]> {
  const answers = await Promise.all(
    groups.map((group) =>
      cluster
        .coordinator('group', group, DescribeGroups, { groups: [group], includeAuthorizedOperations: true }, TELLING)
        .catch((error) => {
          if (error?.code === Errors.GROUP_AUTHORIZATION_FAILED) return undefined
          throw error
        }),
    ),
  )
  return answers.flatMap((answer, i) => {
    const group = answer?.groups[0]
    const refused = group === undefined || group.errorCode === Errors.GROUP_AUTHORIZATION_FAILED
    return lacking(refused ? 0 : group.authorizedOperations, operations, `group ${groups[i]}`)
  })
}

const lacking = (bits: number, operations: readonly Operation[], resource: string): Right[] =>
  operations.filter((operation) => !granted(bits, operation)).map((operation) => ({ operation, resource }))

const granted = (bits: number, operation: Operation): boolean => bits === NOT_TOLD || (bits & (1 << OPERATIONS[operation])) !== 0

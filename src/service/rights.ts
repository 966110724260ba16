import { createTopics, initProducerId } from '../client/admin.js'
import {
  authorizedOnCluster,
  authorizedOnGroup,
  authorizedOnTopics,
  isAuthorized,
  type Operation,
} from '../client/authorized-operations.js'
import type { Cluster } from '../client/cluster.js'
import { failure } from '../mirror/errors.js'
import { isMissingRight } from '../mirror/failures.js'
import { RUNNER_GROUP } from '../mirror/state-topic.js'
import { TRANSACTIONAL_ID_PREFIX } from '../mirror/transactional-id.js'
import { Errors, KafkaError } from '../protocol/errors.js'

export interface MissingRight {
  readonly side: 'source' | 'destination'
  /** `READ`, or `ALTER or CLUSTER_ACTION` where either would do. */
  readonly operation: string
  /** `topic t`, `group g`, `the cluster`. */
  readonly resource: string
}

const SOURCE_TOPIC: readonly Operation[] = ['READ', 'DESCRIBE', 'DESCRIBE_CONFIGS']
const DESTINATION_TOPIC: readonly Operation[] = ['READ', 'WRITE', 'DELETE', 'DESCRIBE', 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS']
const STATE_TOPIC_OPERATIONS: readonly Operation[] = ['READ', 'WRITE', 'DESCRIBE', 'DESCRIBE_CONFIGS']

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

/**
 * Rights the destination must grant a runner: `topics` are those that exist and are mirrored. `acls` says that somebody asked
 * for rules to be copied; where that is only the default, doing without is no reason to refuse. Throws ConnectionError.
 */
export async function missingDestinationRights(
  destination: Cluster,
  wanted: { readonly topics: readonly string[]; readonly stateTopics: readonly string[]; readonly acls?: boolean },
): Promise<MissingRight[]> {
  const found = await Promise.all([
    clusterRights(destination, wanted.acls ? [['DESCRIBE'], ['ALTER']] : [['DESCRIBE']]),
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
  const bits = await authorizedOnCluster(cluster)
  return alternatives
    .filter((operations) => !operations.some((operation) => isAuthorized(bits, operation)))
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
  const authorized = await authorizedOnTopics(cluster, topics)
  // A topic that does not exist grants nothing, and needs nothing yet.
  return [...authorized].flatMap(([name, bits]) => lacking(bits, operations, `topic ${name}`))
}

async function groupRights(cluster: Cluster, groups: readonly string[], operations: readonly Operation[]): Promise<Right[]> {
  const authorized = await Promise.all(groups.map((group) => authorizedOnGroup(cluster, group)))
  return authorized.flatMap((bits, i) => lacking(bits, operations, `group ${groups[i]}`))
}

const lacking = (bits: number, operations: readonly Operation[], resource: string): Right[] =>
  operations.filter((operation) => !isAuthorized(bits, operation)).map((operation) => ({ operation, resource }))

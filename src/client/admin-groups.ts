import { ListGroups, OffsetCommit, OffsetFetch } from '../protocol/index.js'
import { byCoordinator, type GroupAt, isElsewhere, PATIENCE_MS } from './by-coordinator.js'
import { groupByTopic, inOrder, type TopicPartition } from './by-leader.js'
import type { Cluster } from './cluster.js'
import { batchesOf } from './many.js'
import { failed, type Result, resultOf, success, unwrap } from './result.js'

/** As brokers name them; those older than 3.8 have classic groups only and don't say. */
export type GroupType = 'classic' | 'consumer' | 'streams' | 'share'

export interface ListedGroup {
  readonly groupId: string
  /** In lower case; a type of a later Kafka is passed on as it is. */
  readonly type: GroupType | (string & {})
  /** `Empty`, `Stable` …; empty text from brokers older than 2.6. */
  readonly state: string
  /** The broker that listed it, and so coordinates it. */
  readonly coordinator: number
}

export interface GroupListing {
  readonly groups: readonly ListedGroup[]
  /** Brokers that did not list theirs: nothing is known of the groups they coordinate. */
  readonly unanswered: ReadonlyMap<number, Error>
}

/**
 * All groups of the cluster that one may see, of all types. A broker lists those it coordinates only, so one that does not
 * answer leaves a part unknown.
 *
 * @throws KafkaError, ConnectionError when no broker answers
 */
export async function listGroups(cluster: Cluster): Promise<GroupListing> {
  const brokers = await cluster.brokers()
  const answers = await Promise.all(brokers.map(async ({ id }) => [id, await listOf(cluster, id)] as const))
  const unanswered = new Map(answers.flatMap(([id, answer]) => (answer.ok ? [] : [[id, answer.error] as const])))
  if (unanswered.size > 0 && unanswered.size === brokers.length) throw [...unanswered.values()][0]!
  return { groups: answers.flatMap(([, answer]) => (answer.ok ? answer.value : [])), unanswered }
}

async function listOf(cluster: Cluster, coordinator: number): Promise<Result<ListedGroup[]>> {
  try {
    const answer = await cluster.broker(coordinator, ListGroups, {}, { deadlineMs: PATIENCE_MS, errorsOf: ({ errorCode }) => [errorCode] })
    const groups = answer.groups.map(({ groupId, groupType, groupState }) => {
      return { groupId, type: groupType.toLowerCase() || 'classic', state: groupState, coordinator }
    })
    return resultOf(answer.errorCode, null, groups)
  } catch (error) {
    return failed(error as Error)
  }
}

/** Where a group stands in one partition. */
export interface GroupPosition extends TopicPartition {
  readonly offset: bigint
  /** What its clients wrote along with it; share groups have none. */
  readonly metadata: string
}

/** One group with what is to be written for it. */
export interface PositionsOf extends GroupAt {
  readonly positions: readonly GroupPosition[]
}

/** Positions that one commit names: a commit is one batch in the brokers' own topic. */
const COMMIT = 1_000
/** Groups that one OffsetFetch names. */
const FETCH = 100

/**
 * All committed offsets of groups of any type but share, in order (KIP-709: many groups at once). A group that is not there
 * has none. Never throws: see each result.
 */
export async function committedOffsets(cluster: Cluster, groups: readonly GroupAt[]): Promise<Array<Result<GroupPosition[]>>> {
  return byCoordinator(cluster, groups, { batch: FETCH, atOnce: 2 }, (brokerId, items) => fetchOffsets(cluster, brokerId, items))
}

async function fetchOffsets(cluster: Cluster, brokerId: number, items: readonly GroupAt[]): Promise<Array<Result<GroupPosition[]>>> {
  const first = items[0]!
  const request = { groupId: first.groupId, topics: null, groups: items.map(({ groupId }) => ({ groupId, topics: null })) }
  const answer = await cluster.broker(brokerId, OffsetFetch, request, { deadlineMs: PATIENCE_MS })
  if (answer.groups.length > 0) {
    const found = new Map(answer.groups.map((group) => [group.groupId, positionsIn(group)]))
    return items.map(({ groupId }) => found.get(groupId)!)
  }
  // Before version 8 a request names one group only, and that was the first.
  const others = await Promise.all(items.slice(1).map((item) => fetchOffsets(cluster, brokerId, [item])))
  return [positionsIn(answer), ...others.flat()]
}

interface FetchedGroup {
  readonly errorCode: number
  readonly topics: ReadonlyArray<{
    readonly name: string
    readonly partitions: ReadonlyArray<{
      readonly partitionIndex: number
      readonly committedOffset: bigint
      readonly metadata: string | null
      readonly errorCode: number
    }>
  }>
}

function positionsIn({ errorCode, topics }: FetchedGroup): Result<GroupPosition[]> {
  const positions = topics.flatMap(({ name, partitions }) =>
    partitions
      .filter((partition) => partition.errorCode === 0 && partition.committedOffset >= 0n)
      .map((partition) => ({
        topic: name,
        partition: partition.partitionIndex,
        offset: partition.committedOffset,
        metadata: partition.metadata ?? '',
      })),
  )
  return resultOf(errorCode, null, positions)
}

/**
 * Commits offsets from outside, which Kafka allows while a group has no members (UNKNOWN_MEMBER_ID else); a group that is
 * not there is made. The leader epoch is −1. Outcomes are in the order of the groups and, inside, of their positions.
 * Never throws: see each result.
 */
export async function commitOffsets(cluster: Cluster, groups: readonly PositionsOf[]): Promise<Array<Result<Array<Result<void>>>>> {
  return byCoordinator(cluster, groups, { batch: 1, atOnce: 32 }, async (brokerId, [group]) => {
    const outcomes: Array<Result<void>> = []
    for (const positions of batchesOf(group!.positions, COMMIT))
      outcomes.push(...(await commit(cluster, brokerId, group!.groupId, positions)))
    return [success(outcomes)]
  })
}

async function commit(
  cluster: Cluster,
  brokerId: number,
  groupId: string,
  positions: readonly GroupPosition[],
): Promise<Array<Result<void>>> {
  const topics = [...groupByTopic(positions)].map(([name, items]) => ({
    name,
    partitions: items.map(({ partition, offset, metadata }) => ({
      partitionIndex: partition,
      committedOffset: offset,
      committedMetadata: metadata,
    })),
  }))
  const answer = await cluster.broker(brokerId, OffsetCommit, { groupId, topics }, { deadlineMs: PATIENCE_MS })
  const outcomes = answer.topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partitionIndex, errorCode }) => [name, partitionIndex, errorCode] as const),
  )
  // That it is the wrong broker is said of each partition and means the whole group.
  for (const [, , errorCode] of outcomes) if (isElsewhere(errorCode)) unwrap(resultOf(errorCode, null, undefined))
  return inOrder(
    positions,
    outcomes.map(([topic, partition, errorCode]) => [topic, partition, resultOf(errorCode, null, undefined)] as const),
  )
}

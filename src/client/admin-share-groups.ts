import { AlterShareGroupOffsets, DescribeShareGroupOffsets } from '../protocol/index.js'
import type { GroupPosition, PositionsOf } from './admin-groups.js'
import { byCoordinator, type GroupAt, PATIENCE_MS } from './by-coordinator.js'
import { groupByTopic, inOrder } from './by-leader.js'
import type { Cluster } from './cluster.js'
import { type Result, resultOf, success, unwrap } from './result.js'

/** Groups that one request names. */
const DESCRIBE = 100

/**
 * Where share groups start in the partitions they have read (KIP-932), in order. Never throws: see each result, which is an
 * UnsupportedVersionError from brokers older than 4.1.
 */
export async function shareGroupOffsets(cluster: Cluster, groups: readonly GroupAt[]): Promise<Array<Result<GroupPosition[]>>> {
  return byCoordinator(cluster, groups, { batch: DESCRIBE, atOnce: 2 }, async (brokerId, items) => {
    const request = { groups: items.map(({ groupId }) => ({ groupId, topics: null })) }
    const answer = await cluster.broker(brokerId, DescribeShareGroupOffsets, request, { deadlineMs: PATIENCE_MS })
    const found = new Map(
      answer.groups.map(({ groupId, errorCode, errorMessage, topics }) => {
        const positions = topics.flatMap(({ topicName, partitions }) =>
          partitions
            .filter((partition) => partition.errorCode === 0 && partition.startOffset >= 0n)
            .map((partition) => ({ topic: topicName, partition: partition.partitionIndex, offset: partition.startOffset, metadata: '' })),
        )
        return [groupId, resultOf(errorCode, errorMessage, positions)] as const
      }),
    )
    return items.map(({ groupId }) => found.get(groupId)!)
  })
}

/**
 * Moves where share groups start, which Kafka allows while a group has no members (NON_EMPTY_GROUP else). Outcomes are in the
 * order of the groups and, inside, of their positions. Never throws: see each result.
 */
export async function alterShareGroupOffsets(
  cluster: Cluster,
  groups: readonly PositionsOf[],
): Promise<Array<Result<Array<Result<void>>>>> {
  return byCoordinator(cluster, groups, { batch: 1, atOnce: 32 }, async (brokerId, [group]) => {
    const { groupId, positions } = group!
    const topics = [...groupByTopic(positions)].map(([topicName, items]) => ({
      topicName,
      partitions: items.map(({ partition, offset }) => ({ partitionIndex: partition, startOffset: offset })),
    }))
    const answer = await cluster.broker(brokerId, AlterShareGroupOffsets, { groupId, topics }, { deadlineMs: PATIENCE_MS })
    unwrap(resultOf(answer.errorCode, answer.errorMessage, undefined))
    const outcomes = answer.responses.flatMap(({ topicName, partitions }) =>
      partitions.map((one) => [topicName, one.partitionIndex, resultOf(one.errorCode, one.errorMessage, undefined)] as const),
    )
    return [success(inOrder(positions, outcomes))]
  })
}

import type { Cluster } from '../client/cluster.js'
import { RUNNER_GROUP } from '../mirror/state-topic.js'
import { DescribeGroups } from '../protocol/api/describe-groups.js'

/** From version 6 on a group nobody joined yet is an error instead of an empty group. */
const EMPTY_IS_NO_ERROR = { maxVersion: 5 }

/** How many runners are alive, which is to say members of their group. Throws KafkaError, ConnectionError. */
export async function liveRunners(destination: Cluster): Promise<number> {
  const answer = await destination.coordinator(
    'group',
    RUNNER_GROUP,
    DescribeGroups,
    { groups: [RUNNER_GROUP] },
    { ...EMPTY_IS_NO_ERROR, errorsOf: (response) => response.groups.map(({ errorCode }) => errorCode) },
  )
  return answer.groups[0]?.members.length ?? 0
}

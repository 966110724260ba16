import type { Cluster } from '../../src/client/cluster.js'
import { kafkaError } from '../../src/protocol/index.js'
import { api, arrayOf, arrayOfInt32, arrayOfString, bool, int16, int32, string, structOf } from '../../src/protocol/schema.js'

const taskIds = { subtopologyId: string('0'), partitions: arrayOfInt32('0') }
const nullable = { nullable: '0', default: null } as const
const topicInfo = {
  name: string('0'),
  partitions: int32('0'),
  replicationFactor: int16('0'),
  topicConfigs: arrayOf('0', { key: string('0'), value: string('0') }),
}
const copartition = { sourceTopics: arrayOfInt32('0'), sourceTopicRegex: arrayOfInt32('0'), repartitionSourceTopics: arrayOfInt32('0') }

/** As much of StreamsGroupHeartbeat (KIP-1071) as a member needs to be one; its tasks are not read. */
const StreamsGroupHeartbeat = api({
  key: 88,
  name: 'StreamsGroupHeartbeat',
  versions: '0',
  flexible: '0+',
  request: {
    groupId: string('0'),
    memberId: string('0'),
    memberEpoch: int32('0'),
    endpointInformationEpoch: int32('0', { default: 0 }),
    instanceId: string('0', nullable),
    rackId: string('0', nullable),
    rebalanceTimeoutMs: int32('0', { default: -1 }),
    topology: structOf(
      '0',
      {
        epoch: int32('0'),
        subtopologies: arrayOf('0', {
          subtopologyId: string('0'),
          sourceTopics: arrayOfString('0'),
          sourceTopicRegex: arrayOfString('0', { default: [] }),
          stateChangelogTopics: arrayOf('0', topicInfo, { default: [] }),
          repartitionSinkTopics: arrayOfString('0', { default: [] }),
          repartitionSourceTopics: arrayOf('0', topicInfo, { default: [] }),
          copartitionGroups: arrayOf('0', copartition, { default: [] }),
        }),
      },
      nullable,
    ),
    activeTasks: arrayOf('0', taskIds, nullable),
    standbyTasks: arrayOf('0', taskIds, nullable),
    warmupTasks: arrayOf('0', taskIds, nullable),
    processId: string('0', nullable),
    userEndpoint: structOf('0', { host: string('0') }, nullable),
    clientTags: arrayOf('0', { key: string('0') }, nullable),
    taskOffsets: arrayOf('0', { subtopologyId: string('0') }, nullable),
    taskEndOffsets: arrayOf('0', { subtopologyId: string('0') }, nullable),
    shutdownApplication: bool('0', { default: false }),
  },
  // What follows begins with the high byte of a small number, which reads as "no tagged fields".
  response: {
    throttleTimeMs: int32('0'),
    errorCode: int16('0'),
    errorMessage: string('0', nullable),
    memberId: string('0'),
    memberEpoch: int32('0'),
    heartbeatIntervalMs: int32('0'),
  },
})

/** A member of a streams group that reads one topic and does nothing; gone when the returned function is called. */
export async function joinStreamsGroup(cluster: Cluster, groupId: string, topic: string): Promise<() => Promise<void>> {
  const memberId = `member-of-${groupId}`
  const beat = async (request: {
    memberEpoch: number
    topology?: { epoch: number; subtopologies: readonly { subtopologyId: string; sourceTopics: string[] }[] }
  }) => {
    const tasks = request.memberEpoch === 0 ? [] : null
    const answer = await cluster.coordinator('group', groupId, StreamsGroupHeartbeat, {
      groupId,
      memberId,
      processId: request.memberEpoch === 0 ? 'process' : null,
      rebalanceTimeoutMs: 60_000,
      activeTasks: tasks,
      standbyTasks: tasks,
      warmupTasks: tasks,
      clientTags: tasks,
      ...request,
    })
    if (answer.errorCode !== 0) throw kafkaError(answer.errorCode, answer.errorMessage)
  }
  await beat({ memberEpoch: 0, topology: { epoch: 0, subtopologies: [{ subtopologyId: '0', sourceTopics: [topic] }] } })
  return () => beat({ memberEpoch: -1 })
}

import { Cluster } from '../../../src/client/cluster.js'
import { FakeClock } from '../client/fake-clock.js'
import { CONFIG, FakeBrokers, metadata } from '../client/fake-cluster.js'

const BROKERS = { 1: 'one:1', 2: 'two:2' }

export interface ScriptedGroup {
  /** Broker that coordinates it. */
  readonly at: number
  readonly type?: string
  readonly state?: string
  /** Of partition 0 of topic `t`. */
  readonly offset?: bigint
}

/** Answers instead of what a broker would say; undefined lets it. */
export type Override = (broker: number, api: string, request: never) => unknown

/** Two brokers that lead topic `t` with offsets 0 to 100, and coordinate groups. */
export function clusterOf(groups: Record<string, ScriptedGroup>, override: Override = () => undefined) {
  const commits: string[] = []
  const brokers = new FakeBrokers((at, api, request) => {
    const broker = at === 'two:2' ? 2 : 1
    const other = override(broker, api, request as never)
    if (other !== undefined) return other
    switch (api) {
      case 'Metadata':
        return metadata(BROKERS, { t: [[1, 0]] })
      case 'ListGroups':
        return { errorCode: 0, groups: listed(groups, broker) }
      case 'FindCoordinator':
        return { errorCode: 0, coordinators: coordinators(groups, request as { coordinatorKeys: string[] }) }
      case 'OffsetFetch':
        return { errorCode: 0, topics: [], groups: fetched(groups, request as { groups: { groupId: string }[] }) }
      case 'ListOffsets':
        return bounds(request as BoundsRequest)
      case 'OffsetCommit': {
        const commit = request as CommitRequest
        commits.push(...spelled(broker, commit))
        return committed(commit)
      }
    }
    throw new Error(`${api} is not expected`)
  })
  const cluster = new Cluster(CONFIG, { open: brokers.open, clock: new FakeClock() })
  return { cluster, commits, sent: brokers.sent }
}

export type CommitRequest = {
  groupId: string
  topics: { name: string; partitions: { partitionIndex: number; committedOffset: bigint }[] }[]
}
type BoundsRequest = { topics: { name: string; partitions: { partitionIndex: number; timestamp: bigint }[] }[] }

const listed = (groups: Record<string, ScriptedGroup>, broker: number) =>
  Object.entries(groups).flatMap(([groupId, { at, type = 'classic', state = 'Empty' }]) =>
    at === broker ? [{ groupId, protocolType: 'consumer', groupState: state, groupType: type }] : [],
  )

const coordinators = (groups: Record<string, ScriptedGroup>, { coordinatorKeys }: { coordinatorKeys: string[] }) =>
  coordinatorKeys.map((key) => ({ key, nodeId: groups[key]?.at ?? 1, errorCode: 0, errorMessage: null }))

const fetched = (groups: Record<string, ScriptedGroup>, request: { groups: { groupId: string }[] }) =>
  request.groups.map(({ groupId }) => ({ groupId, errorCode: 0, topics: positions(groups[groupId]?.offset) }))

export const positions = (committedOffset: bigint | undefined) =>
  committedOffset === undefined
    ? []
    : [{ name: 't', partitions: [{ partitionIndex: 0, committedOffset, committedLeaderEpoch: 3, metadata: null, errorCode: 0 }] }]

const bounds = ({ topics }: BoundsRequest) => ({
  topics: topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map(({ partitionIndex, timestamp }) => ({
      partitionIndex,
      errorCode: 0,
      offset: timestamp === -2n ? 0n : 100n,
      leaderEpoch: 0,
    })),
  })),
})

const spelled = (broker: number, { groupId, topics }: CommitRequest) =>
  topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partitionIndex, committedOffset }) => `${broker}: ${groupId} ${name}-${partitionIndex} ${committedOffset}`),
  )

export const committed = ({ topics }: CommitRequest, errorCode = 0) => ({
  topics: topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode })),
  })),
})

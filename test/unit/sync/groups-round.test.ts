import { expect, it } from 'vitest'
import { Cluster } from '../../../src/client/cluster.js'
import { UnsupportedVersionError } from '../../../src/client/errors.js'
import { Errors } from '../../../src/protocol/index.js'
import { type GroupSync, syncGroups } from '../../../src/sync/groups/sync-groups.js'
import { FakeClock } from '../client/fake-clock.js'
import { CONFIG, FakeBrokers, metadata } from '../client/fake-cluster.js'

const BROKERS = { 1: 'one:1', 2: 'two:2' }

interface ScriptedGroup {
  /** Broker that coordinates it. */
  readonly at: number
  readonly type?: string
  readonly state?: string
  /** Of partition 0 of topic `t`. */
  readonly offset?: bigint
}

/** Answers instead of what a broker would say; undefined lets it. */
type Override = (broker: number, api: string, request: never) => unknown

/** Two brokers that lead topic `t` with offsets 0 to 100, and coordinate groups. */
function clusterOf(groups: Record<string, ScriptedGroup>, override: Override = () => undefined) {
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

type CommitRequest = { groupId: string; topics: { name: string; partitions: { partitionIndex: number; committedOffset: bigint }[] }[] }
type BoundsRequest = { topics: { name: string; partitions: { partitionIndex: number; timestamp: bigint }[] }[] }

const listed = (groups: Record<string, ScriptedGroup>, broker: number) =>
  Object.entries(groups).flatMap(([groupId, { at, type = 'classic', state = 'Empty' }]) =>
    at === broker ? [{ groupId, protocolType: 'consumer', groupState: state, groupType: type }] : [],
  )

const coordinators = (groups: Record<string, ScriptedGroup>, { coordinatorKeys }: { coordinatorKeys: string[] }) =>
  coordinatorKeys.map((key) => ({ key, nodeId: groups[key]?.at ?? 1, errorCode: 0, errorMessage: null }))

const fetched = (groups: Record<string, ScriptedGroup>, request: { groups: { groupId: string }[] }) =>
  request.groups.map(({ groupId }) => ({ groupId, errorCode: 0, topics: positions(groups[groupId]?.offset) }))

const positions = (committedOffset: bigint | undefined) =>
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

const committed = ({ topics }: CommitRequest, errorCode = 0) => ({
  topics: topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode })),
  })),
})

const round = (source: { cluster: Cluster }, destination: { cluster: Cluster }, more: Partial<GroupSync> = {}) =>
  syncGroups({
    source: source.cluster,
    destination: destination.cluster,
    topics: new Set(['t']),
    include: ['.*'],
    exclude: [],
    ...more,
  })

it('commits at the coordinator of each group, and commits nothing when nothing changed, unless a group is to be renewed', async () => {
  const source = clusterOf({ a: { at: 1, offset: 5n }, b: { at: 2, offset: 0n }, c: { at: 2, offset: 7n }, none: { at: 1 } })
  const destination = clusterOf({ b: { at: 1, offset: 3n }, c: { at: 2, offset: 7n } })
  expect(await round(source, destination)).toEqual({ changes: 2, problems: [], notes: [] })
  expect(destination.commits.sort()).toEqual(['1: a t-0 5', '1: b t-0 0'])
  const settled = clusterOf({ a: { at: 2, offset: 5n }, b: { at: 1, offset: 0n }, c: { at: 2, offset: 7n } })
  expect(await round(source, settled)).toEqual({ changes: 0, problems: [], notes: [] })
  expect(settled.commits).toEqual([])
  expect(await round(source, settled, { renew: (groupId) => groupId === 'c' })).toEqual({ changes: 0, problems: [], notes: [] })
  expect(settled.commits).toEqual(['2: c t-0 7'])
})

it('asks for many groups in few requests', async () => {
  const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`g${i}`, { at: 1 + (i % 2), offset: 5n }]))
  const [source, destination] = [clusterOf(many), clusterOf(many)]
  expect(await round(source, destination)).toEqual({ changes: 0, problems: [], notes: [] })
  expect(source.sent.length).toBeLessThan(30)
  expect(destination.sent.length).toBeLessThan(30)
})

it('asks brokers that know one group a request for one at a time', async () => {
  const groups = { a: { at: 1, offset: 5n }, b: { at: 1, offset: 6n }, c: { at: 2, offset: 7n } }
  const source = clusterOf(groups, (_, api, request: { groupId: string }) =>
    api === 'OffsetFetch' ? { errorCode: 0, groups: [], topics: positions(groups[request.groupId as 'a'].offset) } : undefined,
  )
  const destination = clusterOf({}, (_, api, request: { key: string }) =>
    api === 'FindCoordinator' ? { errorCode: 0, nodeId: request.key === 'b' ? 2 : 1, coordinators: [] } : undefined,
  )
  expect(await round(source, destination)).toEqual({ changes: 3, problems: [], notes: [] })
  expect(destination.commits.sort()).toEqual(['1: a t-0 5', '1: c t-0 7', '2: b t-0 6'])
})

it('follows a coordinator that moves in the middle of a round', async () => {
  const source = clusterOf({ a: { at: 1, offset: 5n } }, (broker, api, request: { groups: { groupId: string }[] }) => {
    if (api === 'FindCoordinator') return { errorCode: 0, coordinators: [{ key: 'a', nodeId: 2, errorCode: 0, errorMessage: null }] }
    if (api !== 'OffsetFetch' || broker === 2) return undefined
    return { topics: [], groups: request.groups.map(({ groupId }) => ({ groupId, topics: [], errorCode: Errors.NOT_COORDINATOR })) }
  })
  let loading = 2
  const destination = clusterOf({}, (_, api, request: CommitRequest) =>
    api === 'OffsetCommit' && loading-- > 0 ? committed(request, Errors.COORDINATOR_LOAD_IN_PROGRESS) : undefined,
  )
  expect(await round(source, destination)).toEqual({ changes: 1, problems: [], notes: [] })
  expect(destination.commits).toEqual(['1: a t-0 5'])
})

it('takes a group for unknown, not for new, when the broker that may have it did not list its groups', async () => {
  const source = clusterOf({ a: { at: 1, offset: 5n }, b: { at: 1, offset: 6n } })
  const destination = clusterOf({ a: { at: 1 }, b: { at: 2, state: 'Stable', offset: 60n } }, (broker, api) =>
    api === 'ListGroups' && broker === 2 ? { errorCode: Errors.CLUSTER_AUTHORIZATION_FAILED, groups: [] } : undefined,
  )
  const report = await round(source, destination)
  expect(report).toMatchObject({ changes: 1, notes: [] })
  expect(report.problems).toEqual([
    {
      item: 'b',
      message: expect.stringMatching(/^broker 2 of the destination did not say what it has of it: CLUSTER_AUTHORIZATION_FAILED/),
    },
  ])
  expect(destination.commits).toEqual(['1: a t-0 5'])
})

it('syncs what it can when a broker of the source does not answer, and fails when none does', async () => {
  const groups = { a: { at: 1, offset: 5n }, b: { at: 2, offset: 6n } }
  const silent = (brokers: readonly number[]) =>
    clusterOf(groups, (broker, api) =>
      api === 'ListGroups' && brokers.includes(broker) ? { errorCode: Errors.UNKNOWN_SERVER_ERROR, groups: [] } : undefined,
    )
  const destination = clusterOf({})
  const report = await round(silent([2]), destination)
  expect(report).toMatchObject({ changes: 1, problems: [{ item: 'broker 2 of the source' }] })
  expect(destination.commits).toEqual(['1: a t-0 5'])
  await expect(round(silent([1, 2]), clusterOf({}))).rejects.toThrow('UNKNOWN_SERVER_ERROR')
})

it.each([
  ['got members', Errors.UNKNOWN_MEMBER_ID, { problems: [], notes: ['left alone, since they have members on the destination: a'] }],
  [
    'turned out to be of another kind',
    Errors.GROUP_ID_NOT_FOUND,
    { problems: [{ item: 'a', message: expect.stringContaining('another kind') }] },
  ],
  [
    'is not allowed',
    Errors.GROUP_AUTHORIZATION_FAILED,
    { problems: [{ item: 'a', message: expect.stringContaining('grant READ on the group') }] },
  ],
])('one group that %s in the meantime stops no other', async (_, errorCode, expected) => {
  const source = clusterOf({ a: { at: 1, offset: 5n }, b: { at: 1, offset: 6n } })
  const destination = clusterOf({}, (_broker, api, request: CommitRequest) =>
    api === 'OffsetCommit' && request.groupId === 'a' ? committed(request, errorCode) : undefined,
  )
  expect(await round(source, destination)).toMatchObject({ changes: 1, ...expected })
  expect(destination.commits).toEqual(['1: b t-0 6'])
})

it('says in one line that a side keeps no positions of share groups', async () => {
  const unsupported = new UnsupportedVersionError('DescribeShareGroupOffsets', { host: 'h', port: 1 }, { min: 0, max: 1 }, undefined)
  const groups = { s: { at: 1, type: 'share' }, r: { at: 2, type: 'share' }, a: { at: 1, offset: 5n } }
  const described = { groups: ['s', 'r'].map((groupId) => ({ groupId, errorCode: 0, errorMessage: null, topics: shared })) }
  const source = clusterOf(groups, (_, api) => (api === 'DescribeShareGroupOffsets' ? described : undefined))
  const destination = clusterOf({}, (_, api) => {
    if (api === 'AlterShareGroupOffsets') throw unsupported
    return undefined
  })
  expect(await round(source, destination)).toEqual({
    changes: 1,
    problems: [],
    notes: ['the destination keeps no positions of share groups (Kafka 4.1 or later does): r, s'],
  })
})

const shared = [
  { topicName: 't', topicId: '', partitions: [{ partitionIndex: 0, startOffset: 4n, leaderEpoch: 0, errorCode: 0, errorMessage: null }] },
]

it('writes nothing in a topic that was taken out since the round began', async () => {
  const source = clusterOf({ a: { at: 1, offset: 5n } })
  const destination = clusterOf({})
  expect(await round(source, destination, { mayWrite: () => false })).toEqual({ changes: 0, problems: [], notes: [] })
  expect(destination.commits).toEqual([])
})

it('asks nobody when there is no topic', async () => {
  const [source, destination] = [clusterOf({}), clusterOf({})]
  expect(await round(source, destination, { topics: new Set() })).toEqual({ changes: 0, problems: [], notes: [] })
  expect([...source.sent, ...destination.sent]).toEqual([])
})

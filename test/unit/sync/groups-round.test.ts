import { expect, it } from 'vitest'
import type { Cluster } from '../../../src/client/cluster.js'
import { UnsupportedVersionError } from '../../../src/client/errors.js'
import { Errors } from '../../../src/protocol/index.js'
import { type GroupSync, syncGroups } from '../../../src/sync/groups/sync-groups.js'
import { type CommitRequest, clusterOf, committed, positions } from './scripted-groups.js'

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

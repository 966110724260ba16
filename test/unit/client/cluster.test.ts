import { expect, test } from 'vitest'
import { Cluster } from '../../../src/client/cluster.js'
import { DescribeCluster, Heartbeat, ListOffsets } from '../../../src/protocol/index.js'
import { FakeClock } from './fake-clock.js'
import { CONFIG, FakeBrokers, metadata, type Script } from './fake-cluster.js'

function clusterOf(script: Script) {
  const brokers = new FakeBrokers(script)
  const clock = new FakeClock()
  return { brokers, clock, cluster: new Cluster(CONFIG, { open: brokers.open, clock }) }
}

const TWO = { 1: 'one:1', 2: 'two:2' }
const question = { topics: [{ name: 't', partitions: [{ partitionIndex: 0, timestamp: -1n }] }] }
const codesOf = (answer: { topics: readonly { partitions: readonly { errorCode: number }[] }[] }) =>
  answer.topics.flatMap((topic) => topic.partitions.map((partition) => partition.errorCode))
const answered = (errorCode: number, offset = 0n) => ({ topics: [{ name: 't', partitions: [{ partitionIndex: 0, errorCode, offset }] }] })

test('a request goes to the leader; the leader is asked for once', async () => {
  const { brokers, cluster } = clusterOf((_, api) => (api === 'Metadata' ? metadata(TWO, { t: [[2, 5]] }) : answered(0)))
  await cluster.leader('t', 0, ListOffsets, question)
  await cluster.leader('t', 0, ListOffsets, question)
  expect(brokers.sent).toEqual(['boot:1 Metadata', 'two:2 ListOffsets', 'two:2 ListOffsets'])
  expect(brokers.opened).toEqual(['boot:1', 'two:2'])
  expect(cluster.leaderOf('t', 0)).toEqual({ brokerId: 2, leaderEpoch: 5, topicId: 'id-t' })
})

test('a stale leader is found again, and the answer of the new one is given', async () => {
  let moved = false
  const { brokers, cluster } = clusterOf((at, api) => {
    if (api === 'Metadata') return metadata(TWO, { t: [moved ? [2, 6] : [1, 5]] })
    moved = true
    return at === 'two:2' ? answered(0, 42n) : answered(6)
  })
  const answer = await cluster.leader('t', 0, ListOffsets, question, { errorsOf: codesOf })
  expect(answer.topics[0]?.partitions[0]?.offset).toBe(42n)
  expect(brokers.sent).toEqual(['boot:1 Metadata', 'one:1 ListOffsets', 'boot:1 Metadata', 'two:2 ListOffsets'])
})

test('without errorsOf the answer is the caller’s, whatever it says; with it, the last answer is given when time is up', async () => {
  const script: Script = (_, api) => (api === 'Metadata' ? metadata(TWO, { t: [[1, 5]] }) : answered(6))
  const plain = clusterOf(script)
  expect(codesOf(await plain.cluster.leader('t', 0, ListOffsets, question))).toEqual([6])
  expect(plain.brokers.sent.length).toBe(2)
  const patient = clusterOf(script)
  expect(codesOf(await patient.cluster.leader('t', 0, ListOffsets, question, { errorsOf: codesOf, deadlineMs: 3_000 }))).toEqual([6])
  expect(patient.clock.time).toBeLessThanOrEqual(3_000)
  expect(patient.brokers.sent.length).toBeLessThan(20)
})

test('an older leader epoch does not replace a newer one, another topic of the name does', async () => {
  const answers = [metadata(TWO, { t: [[2, 6]] }), metadata(TWO, { t: [[1, 5]] }), metadata(TWO, { t: [[1, 0]] })]
  answers[2]!.topics[0]!.topicId = 'another'
  const { cluster } = clusterOf(() => answers.shift())
  await cluster.refresh(['t'])
  await cluster.refresh(['t'])
  expect(cluster.leaderOf('t', 0)).toMatchObject({ brokerId: 2, leaderEpoch: 6 })
  await cluster.refresh(['t'])
  expect(cluster.leaderOf('t', 0)).toEqual({ brokerId: 1, leaderEpoch: 0, topicId: 'another' })
})

test('refreshes are joined and spaced', async () => {
  const asked: unknown[] = []
  const { clock, cluster } = clusterOf((_, __, request) => {
    asked.push((request as { topics: Array<{ name: string }> }).topics.map(({ name }) => name))
    return metadata(TWO)
  })
  const first = cluster.refresh(['a'])
  await Promise.all([first, ...Array.from({ length: 500 }, (_, i) => cluster.refresh([`t${i % 3}`]))])
  expect(asked.length).toBeLessThanOrEqual(2)
  expect(new Set(asked.flat())).toEqual(new Set(['a', 't0', 't1', 't2']))
  const before = clock.time
  await cluster.refresh(['a'])
  expect(clock.time - before).toBe(100)
})

test('what may have been carried out is sent again only if allowed', async () => {
  for (const [retry, sent] of [
    [true, 2],
    [false, 1],
  ] as const) {
    let calls = 0
    const { brokers, cluster } = clusterOf((_, api) => {
      if (api === 'Metadata') return metadata(TWO, { t: [[1, 5]] })
      return calls++ === 0 ? brokers.connections.at(-1)!.lose() : answered(0)
    })
    const outcome = await cluster.leader('t', 0, ListOffsets, question, { retry }).catch((error) => error)
    expect(brokers.sent.filter((line) => line.includes('ListOffsets')).length).toBe(sent)
    if (!retry) expect(outcome).toMatchObject({ kind: 'closed', uncertain: true })
  }
})

test('a broker that was never reached gets few attempts, one that was gets them until the deadline', async () => {
  const { brokers, clock, cluster } = clusterOf(() => metadata(TWO))
  brokers.refusing.set('two:2', 'refused')
  await expect(cluster.broker(2, DescribeCluster, { includeClusterAuthorizedOperations: false })).rejects.toMatchObject({
    kind: 'refused',
    message: 'two:2, which broker 2 of boot:1 advertises: refused',
  })
  expect(brokers.opened.filter((at) => at === 'two:2').length).toBe(4)
  await cluster.broker(1, DescribeCluster, { includeClusterAuthorizedOperations: false })
  brokers.connections.at(-1)!.open = false
  brokers.refusing.set('one:1', 'refused')
  const before = clock.time
  await expect(cluster.broker(1, DescribeCluster, { includeClusterAuthorizedOperations: false })).rejects.toMatchObject({ kind: 'refused' })
  expect(clock.time - before).toBeGreaterThan(25_000)
  expect(brokers.opened.filter((at) => at === 'one:1').length).toBeLessThan(40)
})

test.each(['authentication', 'tls', 'protocol'] as const)('%s failures are not repeated', async (kind) => {
  const { brokers, cluster } = clusterOf(() => metadata(TWO))
  brokers.refusing.set('boot:1', kind)
  await expect(cluster.clusterId()).rejects.toMatchObject({ kind })
  expect(brokers.opened.length).toBe(1)
})

test('the failure that says most is thrown when no address works', async () => {
  const brokers = new FakeBrokers(() => metadata(TWO))
  const config = { ...CONFIG, bootstrapServers: ['a', 'b'].map((host) => ({ host, port: 1 })) }
  const cluster = new Cluster(config, { open: brokers.open, clock: new FakeClock() })
  brokers.refusing.set('a:1', 'refused').set('b:1', 'tls')
  await expect(cluster.clusterId()).rejects.toMatchObject({ kind: 'tls', message: 'b:1: tls (also a:1: refused)' })
})

test('a topic nobody knows is an error that says so, a partition without a leader another', async () => {
  const { cluster } = clusterOf(() => metadata(TWO, { t: [[-1, 5]] }))
  await expect(cluster.leader('t', 0, ListOffsets, question, { deadlineMs: 500 })).rejects.toMatchObject({
    kafkaName: 'LEADER_NOT_AVAILABLE',
  })
  await expect(cluster.leader('t', 1, ListOffsets, question)).rejects.toThrow('t-1: UNKNOWN_TOPIC_OR_PARTITION')
})

test('coordinators are remembered until they move; groups have connections of their own', async () => {
  let at = 1
  const { brokers, cluster } = clusterOf((_, api) => {
    if (api === 'Metadata') return metadata(TWO)
    if (api === 'FindCoordinator') return { errorCode: 0, coordinators: [{ key: 'g', nodeId: at, errorCode: 0, errorMessage: null }] }
    return { errorCode: at === 1 ? 0 : 16 }
  })
  const beat = () =>
    cluster.coordinator(
      'group',
      'g',
      Heartbeat,
      { groupId: 'g', generationId: 1, memberId: 'm' },
      { errorsOf: (answer) => [answer.errorCode], deadlineMs: 150 },
    )
  await cluster.broker(1, DescribeCluster, { includeClusterAuthorizedOperations: false })
  await beat()
  await beat()
  expect(brokers.opened.filter((one) => one === 'one:1').length).toBe(2)
  expect(brokers.sent.filter((line) => line.endsWith('FindCoordinator')).length).toBe(1)
  at = 2
  expect((await beat()).errorCode).toBe(16)
  expect(brokers.sent.filter((line) => line.endsWith('FindCoordinator')).length).toBeGreaterThan(1)
})

test('reconfiguring replaces connections and lets those under way finish', async () => {
  const { brokers, cluster } = clusterOf(() => metadata(TWO))
  await cluster.clusterId()
  await cluster.reconfigure({ ...CONFIG, bootstrapServers: [{ host: 'elsewhere', port: 9 }] })
  await cluster.clusterId()
  expect(brokers.connections[0]!.retired).toBe(true)
  expect(brokers.opened).toEqual(['boot:1', 'elsewhere:9'])
})

test('after close nothing is opened any more', async () => {
  const { brokers, cluster } = clusterOf(() => metadata(TWO))
  await cluster.clusterId()
  await cluster.close()
  expect(brokers.connections[0]!.open).toBe(false)
  await expect(cluster.clusterId()).rejects.toMatchObject({ kind: 'closed' })
  await expect(cluster.dedicated(1)).rejects.toMatchObject({ kind: 'closed' })
  expect(brokers.opened.length).toBe(1)
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { MirrorAdmin } from '../../src/service/index.js'
import { type SecuredCluster, startSecuredClusters, type User } from '../support/acl-rounds.js'
import { readLog, writeLog } from '../support/kafka-log.js'
import { RunnerProcess } from '../support/runner-process.js'
import { eventually } from '../support/wait.js'

/** What `reverse` needs of the cluster that took over. */
const RIGHTS_THERE = [
  ...['READ', 'DESCRIBE', 'DESCRIBE_CONFIGS'].map((right) => `ALLOW ${right} TOPIC PREFIXED shop. User:bob *`),
  'ALLOW DESCRIBE GROUP LITERAL * User:bob *',
  'ALLOW DESCRIBE CLUSTER LITERAL kafka-cluster User:bob *',
  'ALLOW READ TOPIC LITERAL __kafka_mirrors User:bob *',
]
/** And of the old source, which has no mirrors yet: as a destination, and for what is reseeded a topic of its own. */
const RIGHTS_HERE = [
  ...['READ', 'WRITE', 'DELETE', 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS', 'CREATE'].map(
    (right) => `ALLOW ${right} TOPIC PREFIXED shop. User:bob *`,
  ),
  ...['READ', 'WRITE', 'CREATE', 'DESCRIBE_CONFIGS'].map((right) => `ALLOW ${right} TOPIC LITERAL __kafka_mirrors User:bob *`),
  'ALLOW READ GROUP LITERAL __kafka_mirrors User:bob *',
  ...['DESCRIBE', 'ALTER'].map((right) => `ALLOW ${right} CLUSTER LITERAL kafka-cluster User:bob *`),
]
const TOPICS = ['shop.alone', 'shop.quiet']
const closing: { close(): Promise<unknown> }[] = []
const runners: RunnerProcess[] = []
let clusters: Awaited<ReturnType<typeof startSecuredClusters>>
let a: SecuredCluster
let b: SecuredCluster

beforeAll(async () => {
  clusters = await startSecuredClusters()
  ;({ source: a, destination: b } = clusters)
  await a.grant('ALLOW WRITE TOPIC PREFIXED shop. User:alice *')
  await b.grant(...RIGHTS_THERE)
})
afterAll(async () => {
  await Promise.all([...runners.map((runner) => runner.kill()), ...closing.map((one) => one.close())])
  await clusters?.close()
})

const reach = (cluster: SecuredCluster, user: User) => ({
  'bootstrap.servers': cluster.broker.bootstrap('SASL_PLAINTEXT'),
  ...cluster.login(user),
})

function adminOf(cluster: SecuredCluster, user: User): MirrorAdmin {
  const admin = new MirrorAdmin(reach(cluster, user))
  closing.push(admin)
  return admin
}

/** A runner that may set guards. */
async function startRunner(cluster: SecuredCluster): Promise<void> {
  const properties = { ...cluster.login('admin'), 'session.timeout.ms': '6000' }
  runners.push(await RunnerProcess.start({ bootstrap: cluster.broker.bootstrap('SASL_PLAINTEXT'), properties }))
}

const tools = (cluster: SecuredCluster) => ({ bootstrap: cluster.broker.bootstrap('PLAINTEXT') })
const write = (cluster: SecuredCluster, topic: string, records: number) => writeLog(clusters.worker, tools(cluster), { topic, records })
const content = async (cluster: SecuredCluster, topic: string) => {
  const [log] = await readLog(clusters.worker, tools(cluster), { topic, content: 'hash' })
  return [log!.endOffset, log!.count, log!.sha256]
}

/** What clients may do, once the broker goes by its rules. */
const served = (cluster: SecuredCluster, topic: string) => eventually(() => cluster.write('alice', topic).then(() => true))
const refused = async (cluster: SecuredCluster, topic: string) => {
  // What is written before the guard is there would be a foreign record.
  await eventually(async () => (await cluster.rulesOn(topic)).some((rule) => rule.startsWith('DENY WRITE')), { what: `Guarding ${topic}` })
  await eventually(() =>
    expect(cluster.write('alice', topic))
      .rejects.toThrow(/AuthorizationException/)
      .then(() => true),
  )
}

test('a failback with logins and access rules: what is missing is named, few rights suffice, and clients write on one side at a time', async () => {
  const mirror = { ...reach(a, 'admin'), 'mirror.metadata.refresh.interval.ms': '500' }
  await adminOf(b, 'admin').createMirror('m', mirror)
  for (const topic of TOPICS) {
    await a.admin.createTopic(topic)
    await write(a, topic, 20)
  }
  await adminOf(b, 'admin').addTopicsToMirror({ 'shop.*': 'm' })
  await startRunner(b)
  for (const topic of TOPICS) await refused(b, topic)
  const removed = await adminOf(b, 'admin').removeTopicsFromMirror('m', TOPICS, { drainMs: 60_000 })
  expect(removed.topics).toMatchObject([{ ok: true }, { ok: true }])
  for (const topic of TOPICS) await served(b, topic)
  await write(a, 'shop.alone', 3)

  const operator = adminOf(a, 'bob')
  const remote = reach(b, 'bob')
  const reverse = (options: Parameters<MirrorAdmin['reverseMirror']>[2] = {}) => operator.reverseMirror('m', remote, options)
  const lacking = (error: { message: string }) =>
    error.message
      .replace(/^.*missing: /, '')
      .split(', ')
      .sort()
  await b.revoke('ALLOW READ TOPIC LITERAL __kafka_mirrors User:bob *')
  await eventually(() =>
    expect(reverse())
      .rejects.toThrow(/rights are missing on topic __kafka_mirrors of .*, which holds what became of mirror m/)
      .then(() => true),
  )
  await b.grant('ALLOW READ TOPIC LITERAL __kafka_mirrors User:bob *')
  const nothing = await eventually(async () => {
    const error = await reverse().catch((thrown) => thrown)
    return error.message.includes('of the destination') && error
  })
  expect(lacking(nothing)).toEqual([
    'ALTER or CLUSTER_ACTION on the cluster or WRITE on transactional ids kafka-mirrors-* of the destination',
    'CREATE on topic __kafka_mirrors of the destination',
    'DESCRIBE on the cluster of the destination',
    'DESCRIBE on topic __kafka_mirrors of the destination',
    'DESCRIBE_CONFIGS on topic __kafka_mirrors of the destination',
    'READ on group __kafka_mirrors of the destination',
    'READ on topic __kafka_mirrors of the destination',
    'WRITE on topic __kafka_mirrors of the destination',
  ])
  await a.grant(...RIGHTS_HERE)
  const { topics } = await eventually(() => reverse())
  expect(topics).toMatchObject([
    { topic: 'shop.alone', ok: false, error: { code: 'TOPIC_HAS_OTHER_DATA' } },
    { topic: 'shop.quiet', ok: true, how: 'continued' },
  ])
  expect(await reverse({ topics: ['shop.alone'], onDivergence: 'reseed' })).toMatchObject({
    topics: [{ ok: true, how: 'reseeded', kept: { records: 3 } }],
  })
  await startRunner(a)
  for (const topic of TOPICS) {
    await refused(a, topic)
    await eventually(async () => expect(await content(a, topic)).toEqual(await content(b, topic)) ?? true)
  }
  expect(await operator.verifyMirror('m', {})).toMatchObject({ equal: true })
  for (const topic of TOPICS) await b.write('alice', topic)

  const back = await adminOf(a, 'admin').removeTopicsFromMirror('m', TOPICS, { drainMs: 60_000 })
  expect(back.topics).toMatchObject([{ ok: true }, { ok: true }])
  for (const topic of TOPICS) await served(a, topic)
  // The rules its owner made are as they were.
  expect((await a.rulesOn('shop.')).filter((rule) => !rule.includes('bob'))).toEqual(['ALLOW WRITE TOPIC PREFIXED shop. User:alice *'])
})

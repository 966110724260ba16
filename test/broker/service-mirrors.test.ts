import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MirrorAdmin, MirrorError } from '../../src/service/index.js'
import { useBrokers } from '../support/brokers.js'
import { runKafkaTool } from '../support/java-tools.js'
import { readLog, writeLog } from '../support/kafka-log.js'

const kafka = useBrokers()
let admin: MirrorAdmin
const source = () => ({ 'bootstrap.servers': kafka.source.bootstrap })

beforeAll(() => {
  admin = new MirrorAdmin({ 'bootstrap.servers': kafka.destination.bootstrap })
})
afterAll(() => admin?.close())

async function rejection(promise: Promise<unknown>): Promise<MirrorError> {
  const error = await promise.then(
    () => new Error('it did not fail'),
    (thrown: unknown) => thrown,
  )
  if (error instanceof MirrorError) return error
  throw error
}

/** What the state topic holds, as Kafka's own consumer reads it: the last value of each key. */
async function stateRecords(): Promise<Map<string, Record<string, unknown> | null>> {
  const partitions = await readLog(kafka.worker, kafka.destination, { topic: '__kafka_mirrors' })
  const text = (hex: string) => Buffer.from(hex.slice(1), 'hex').toString('utf8')
  return new Map(
    partitions.flatMap(({ records }) =>
      records.map(({ key, value }) => [text(key), value === '-' ? null : JSON.parse(text(value))] as const),
    ),
  )
}

describe('before there is anything', () => {
  it('lists nothing and knows no mirror, without creating the state topic', async () => {
    expect(await admin.listMirrors()).toEqual({ mirrors: [], warnings: [] })
    expect(await admin.describeMirrors()).toEqual({ mirrors: [], partitions: [], warnings: [] })
    expect((await rejection(admin.addTopicsToMirror({ a: 'm' }))).code).toBe('UNKNOWN_MIRROR')
    expect((await rejection(admin.deleteMirror('m'))).message).toBe('there is no mirror m')
    expect(Object.keys(await kafka.destination.admin.topics())).not.toContain('__kafka_mirrors')
  })
})

describe('createMirror', () => {
  it('refuses what cannot be, before anything is written', async () => {
    expect((await rejection(admin.createMirror('a/b', source()))).code).toBe('INVALID_NAME')
    expect((await rejection(admin.createMirror('m', {}))).kind).toBe('usage')
    expect((await rejection(admin.createMirror('m', { ...source(), 'mirror.on.gap': 'x' }))).kind).toBe('usage')
    expect((await rejection(admin.createMirror('m', { ...source(), 'security.protocol': 'HTTP' }))).kind).toBe('usage')
    expect((await rejection(admin.createMirror('m', { 'bootstrap.servers': kafka.destination.bootstrap }))).code).toBe('SAME_CLUSTER')
    const unreachable = await rejection(admin.createMirror('m', { 'bootstrap.servers': '127.0.0.1:1' }))
    expect(unreachable.code).toBe('SOURCE_UNREACHABLE')
    expect(unreachable.message).toContain('the source of mirror m is out of reach: 127.0.0.1:1')
    expect(await admin.createMirror('m', source(), { dryRun: true })).toMatchObject({ sourceClusterId: kafka.source.broker.clusterId })
    expect(Object.keys(await kafka.destination.admin.topics())).not.toContain('__kafka_mirrors')
  })

  it('pins the source, stores every setting, and warns of what is misspelt or readable', async () => {
    const configs = { ...source(), 'mirror.on.gap': 'record', 'ssl.key.password': 'geheim', 'ssl.kee.password': 'x' }
    const created = await admin.createMirror('first', configs)
    expect(created.sourceClusterId).toBe(kafka.source.broker.clusterId)
    expect(created.warnings.join()).toMatch(/ssl.kee.password is not a client property.*stored in clear/)
    const state = await stateRecords()
    expect(state.get('mirror/first')).toMatchObject({ version: 1, sourceClusterId: kafka.source.broker.clusterId })
    expect(state.get('config/first/mirror.on.gap')).toEqual({ version: 1, value: 'record' })
    const topic = await runKafkaTool('4.4.0', 'kafka-topics', [
      '--bootstrap-server',
      kafka.destination.bootstrap,
      '--describe',
      '--topic',
      '__kafka_mirrors',
    ])
    expect(topic.stdout).toMatch(/PartitionCount: 50.*ReplicationFactor: 1.*cleanup.policy=compact/)
    const described = await admin.describeMirrors(['first'])
    expect(JSON.stringify(described, (_, value) => (typeof value === 'bigint' ? String(value) : value))).not.toContain('geheim')
    expect(described.mirrors[0]?.configs['ssl.key.password']).toBe('[hidden]')
  })

  it('lets one of two at once win', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => admin.createMirror('contested', source())))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected')
        expect(outcome.reason).toMatchObject({ code: 'MIRROR_EXISTS', message: 'mirror contested already exists' })
    }
  })

  it('needs no source when told so, and pins it at the first add', async () => {
    await admin.createMirror('later', { 'bootstrap.servers': '127.0.0.1:1' }, { offline: true })
    expect((await stateRecords()).get('mirror/later')).not.toHaveProperty('sourceClusterId')
    await kafka.source.admin.createTopic('later-topic')
    const { topics } = await admin.addTopicsToMirror({ 'later-topic': 'later' }, { remoteBootstrapServer: kafka.source.bootstrap })
    expect(topics).toMatchObject([{ ok: true, how: 'created' }])
    expect((await stateRecords()).get('mirror/later')).toMatchObject({ sourceClusterId: kafka.source.broker.clusterId })
  })
})

describe('alterMirror', () => {
  it('changes only what is named, two at once included', async () => {
    await admin.createMirror('altered', { ...source(), 'mirror.fetch.backoff.ms': '5' })
    await Promise.all([
      admin.alterMirror('altered', { set: { 'mirror.num.replica.fetchers': '4' } }),
      admin.alterMirror('altered', { set: { 'mirror.on.gap': 'record' }, delete: ['mirror.fetch.backoff.ms'] }),
    ])
    const { mirrors } = await admin.describeMirrors(['altered'])
    expect(mirrors[0]?.configs).toEqual({ ...source(), 'mirror.num.replica.fetchers': '4', 'mirror.on.gap': 'record' })
  })

  it('refuses unknown keys, other clusters and the loss of the bootstrap servers; an unreachable source is only a warning', async () => {
    expect((await rejection(admin.alterMirror('altered', { set: { 'mirror.x': '1' } }))).kind).toBe('usage')
    expect((await rejection(admin.alterMirror('altered', { delete: ['sasl.mechanism'] }))).message).toContain('sasl.mechanism is not set')
    expect((await rejection(admin.alterMirror('altered', { delete: ['bootstrap.servers'] }))).kind).toBe('usage')
    expect((await rejection(admin.alterMirror('altered', { set: { 'bootstrap.servers': kafka.destination.bootstrap } }))).code).toBe(
      'OTHER_CLUSTER',
    )
    expect((await rejection(admin.alterMirror('absent', { set: {} }))).code).toBe('UNKNOWN_MIRROR')
    const { warnings, changed } = await admin.alterMirror('altered', { set: { 'bootstrap.servers': '127.0.0.1:1' } })
    expect(warnings.join()).toContain('the new settings were not tried')
    expect(changed).toEqual(['bootstrap.servers'])
  })
})

describe('throttles', () => {
  it('are kept for brokers and topics, and set as client quotas on the source', async () => {
    await admin.setThrottle({ kind: 'broker', broker: 4 }, { rate: '100MB' })
    await admin.setThrottle({ kind: 'topic', topic: 'later-topic' }, { replicas: '[0:4]' })
    await admin.setThrottle({ kind: 'source', mirror: 'first', client: 'broker-4-fetcher-0-mirror-first' }, { rate: 1024 })
    const { throttles } = await admin.describeThrottles({ mirror: 'first' })
    expect(throttles).toEqual([
      { target: { kind: 'broker', broker: 4 }, rate: 100_000_000, replicas: undefined },
      { target: { kind: 'topic', topic: 'later-topic' }, rate: undefined, replicas: [{ partition: 0, broker: 4 }] },
      { target: { kind: 'source', mirror: 'first', client: 'broker-4-fetcher-0-mirror-first' }, rate: 1024, replicas: undefined },
    ])
    const args = ['--bootstrap-server', kafka.source.bootstrap, '--describe', '--entity-type', 'clients']
    expect((await runKafkaTool('3.9.1', 'kafka-configs', args)).stdout).toContain('consumer_byte_rate=1024.0')
    await admin.setThrottle({ kind: 'broker', broker: 4 }, null)
    await admin.setThrottle({ kind: 'topic', topic: 'later-topic' }, null)
    await admin.setThrottle({ kind: 'source', mirror: 'first', client: 'broker-4-fetcher-0-mirror-first' }, null)
    expect((await admin.describeThrottles({ mirror: 'first' })).throttles).toEqual([])
  })

  it('are refused where they make no sense', async () => {
    expect((await rejection(admin.setThrottle({ kind: 'broker', broker: 4 }, { rate: 'fast' }))).kind).toBe('usage')
    expect((await rejection(admin.setThrottle({ kind: 'broker', broker: 4 }, { replicas: '*' }))).kind).toBe('usage')
    expect((await rejection(admin.setThrottle({ kind: 'topic', topic: 'nowhere' }, { replicas: '0:4' }))).code).toBe('UNKNOWN_TOPIC')
  })
})

describe('deleteMirror', () => {
  it('removes its topics, then everything that was known of it, and leaves the data', async () => {
    await kafka.source.admin.createTopic('deleted-topic', { partitions: 2 })
    await writeLog(kafka.worker, kafka.source, { topic: 'deleted-topic', records: 10, partitions: 2 })
    await admin.createMirror('deleted', source())
    await admin.addTopicsToMirror({ 'deleted-topic': 'deleted' })
    expect(await admin.deleteMirror('deleted', { dryRun: true })).toMatchObject({
      deleted: false,
      topics: [{ ok: true, how: 'dry-run', partitions: [{ lost: 5n }, { lost: 5n }] }],
    })
    expect(await admin.deleteMirror('deleted')).toMatchObject({ deleted: true, topics: [{ topic: 'deleted-topic', ok: true }] })
    for (const [key, value] of await stateRecords()) if (key.split('/')[1] === 'deleted') expect(value, key).toBeNull()
    expect((await admin.listMirrors()).mirrors.map(({ mirror }) => mirror)).not.toContain('deleted')
    expect(Object.keys(await kafka.destination.admin.topics())).toContain('deleted-topic')
    await admin.createMirror('deleted', source())
  })
})

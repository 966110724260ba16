import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestBroker } from '../support/brokers.js'
import { KafkaAdmin } from '../support/kafka-admin.js'
import { readLog, writeLog } from '../support/kafka-log.js'
import { KafkaWorker } from '../support/kafka-worker.js'
import { startProxiedBroker } from '../support/proxy.js'
import { javaClientProperties, type Mechanism, type SecuredListener, startSecuredBroker } from '../support/secured-broker.js'
import { raiseLogStart } from '../support/segments.js'
import { eventually } from '../support/wait.js'

let worker: KafkaWorker

beforeAll(async () => {
  worker = await KafkaWorker.start()
})
afterAll(() => worker?.close())

test.each(['3.9.1', '4.4.0'])('a stopped broker of %s gets a log that begins beyond 2^31', async (version) => {
  const broker = await startTestBroker({ version })
  try {
    const admin = new KafkaAdmin(worker, broker)
    await admin.createTopic('high', { partitions: 2 })
    await writeLog(worker, broker, { topic: 'high', records: 1000 })
    const start = 2_147_488_648n
    await broker.stop()
    await raiseLogStart(broker, 'high', 0, start)
    await raiseLogStart(broker, 'high', 1, 3_000_000_000n)
    await broker.start()
    expect(await admin.offsets('high')).toEqual([
      { partition: 0, beginningOffset: start, endOffset: start + 1000n },
      { partition: 1, beginningOffset: 3_000_000_000n, endOffset: 3_000_000_000n },
    ])
    await writeLog(worker, broker, { topic: 'high', records: 10, partitions: 2 })
    const [first, second] = await readLog(worker, broker, { topic: 'high' })
    expect([first!.count, first!.firstOffset, first!.lastOffset]).toEqual([1005, start, start + 1004n])
    expect([second!.count, second!.firstOffset]).toEqual([5, 3_000_000_000n])
  } finally {
    await broker.close()
  }
})

test('the proxy cuts, refuses, stalls and swallows answers', async () => {
  const { broker, proxy, bootstrap, direct, close } = await startProxiedBroker()
  try {
    const through = { bootstrap }
    await new KafkaAdmin(worker, through).createTopic('proxied')
    expect(proxy.accepted).toBeGreaterThan(0)
    const accepted = proxy.accepted
    // The first answer to Produce (api key 0) is lost after the broker has written: the client sends it again.
    let lost = 0
    proxy.judge = (apiKey) => (apiKey === 0 && lost++ === 0 ? 'cut' : 'forward')
    await writeLog(worker, through, { topic: 'proxied', records: 10 })
    expect(lost).toBeGreaterThan(1)
    expect(proxy.accepted).toBeGreaterThan(accepted)
    proxy.stall()
    const stalled = writeLog(worker, through, { topic: 'proxied', records: 5 })
    await eventually(() => proxy.connections.size > 0)
    expect((await readLog(worker, { bootstrap: direct }, { topic: 'proxied' }))[0]!.count).toBe(10)
    proxy.resume()
    await stalled
    await proxy.refuse()
    const refused = { bootstrap, properties: { 'default.api.timeout.ms': '500', 'request.timeout.ms': '400' } }
    await expect(new KafkaAdmin(worker, refused).topics()).rejects.toThrow(/Timeout/)
    await proxy.open()
    proxy.delayMs = 20
    expect((await readLog(worker, through, { topic: 'proxied' }))[0]!.count).toBe(15)
    expect(broker.running).toBe(true)
  } finally {
    await close()
  }
})

describe('the secured broker', () => {
  let secured: Awaited<ReturnType<typeof startSecuredBroker>>
  beforeAll(async () => {
    secured = await startSecuredBroker({ authorizer: true, reauthenticateMs: 2000 })
  })
  afterAll(() => secured?.close())

  const access = (listener: SecuredListener, mechanism?: Mechanism, user?: 'admin' | 'alice') => ({
    bootstrap: secured.bootstrap(listener),
    properties: {
      ...javaClientProperties(secured.files, listener, { mechanism, user }),
      'default.api.timeout.ms': '10000',
      'request.timeout.ms': '9000',
    },
  })

  test("takes Kafka's own clients on every listener", async () => {
    await new KafkaAdmin(worker, access('PLAINTEXT')).createTopic('secured')
    for (const listener of ['SASL_PLAINTEXT', 'SASL_SSL'] as const) {
      for (const mechanism of ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const) {
        expect(Object.keys(await new KafkaAdmin(worker, access(listener, mechanism)).topics())).toContain('secured')
      }
    }
  })

  test('gives nobody but super users rights until they are added', async () => {
    const admin = new KafkaAdmin(worker, access('PLAINTEXT'))
    await admin.createTopic('guarded')
    const others = [
      { as: access('SASL_SSL', 'SCRAM-SHA-512', 'alice'), principal: 'User:alice' },
      { as: access('MTLS'), principal: 'User:CN=client' },
      { as: access('SSL'), principal: 'User:ANONYMOUS' },
    ]
    for (const { as, principal } of others) {
      if (principal !== 'User:ANONYMOUS') {
        expect(Object.keys(await new KafkaAdmin(worker, as).topics())).not.toContain('guarded')
        await admin.addAcl({ resourceType: 'TOPIC', resource: 'guarded', operation: 'DESCRIBE', principal })
      }
      await eventually(async () => 'guarded' in (await new KafkaAdmin(worker, as).topics()))
    }
  })
})

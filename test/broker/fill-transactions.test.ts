import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestBroker, type TestBrokers, useBroker } from '../support/brokers.js'
import { KafkaAdmin } from '../support/kafka-admin.js'
import { writeLog, writeTransactions } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { javaClientProperties, type SecuredBroker, startSecuredBroker } from '../support/secured-broker.js'
import { eventually } from '../support/wait.js'

// The runner's principal may not write markers: CLUSTER_ACTION and ALTER on the cluster are not among its rights.

const source = useBroker({ version: '3.9.1' })
let secured: SecuredBroker
let destination: TestBroker
const brokers: TestBrokers = {
  source,
  get destination() {
    return destination
  },
  get worker() {
    return source.worker
  },
}
const mirroring = useMirroring(brokers)
const alice = () => ({
  'bootstrap.servers': secured.bootstrap('SASL_PLAINTEXT'),
  ...javaClientProperties(secured.files, 'SASL_PLAINTEXT', { user: 'alice' }),
})

beforeAll(async () => {
  secured = await startSecuredBroker({ version: '4.4.0', authorizer: true, properties: DESTINATION_PROPERTIES })
  const bootstrap = secured.bootstrap('PLAINTEXT')
  destination = { broker: secured.broker, bootstrap, admin: new KafkaAdmin(source.worker, { bootstrap }) }
  const grant = async (
    resourceType: string,
    resource: string,
    operations: readonly string[],
    patternType: 'LITERAL' | 'PREFIXED' = 'LITERAL',
  ) => {
    for (const operation of operations)
      await destination.admin.addAcl({ resourceType, resource, operation, principal: 'User:alice', patternType })
  }
  await grant('CLUSTER', 'kafka-cluster', ['DESCRIBE', 'IDEMPOTENT_WRITE'])
  await grant('GROUP', '__kafka_mirrors', ['READ'])
  await grant('TOPIC', '*', ['CREATE', 'READ', 'WRITE', 'DELETE', 'DESCRIBE', 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS'])
  await grant('TRANSACTIONAL_ID', 'kafka-mirrors-', ['WRITE', 'DESCRIBE'], 'PREFIXED')
})
afterAll(() => secured?.close())

const write = (seed: number) =>
  writeTransactions(source.worker, source, {
    topic: 'ledger',
    partitions: 2,
    transactionalId: `ledger-${seed}`,
    transactions: 12,
    records: 5,
    abortEvery: 3,
    seed,
  })

test('without the right to write markers offsets are filled with empty transactions, by itself, and the status says so', async () => {
  await source.admin.createTopic('ledger', { partitions: 2 })
  await source.admin.createTopic('plain')
  await write(1)
  await writeLog(source.worker, source, { topic: 'plain', records: 50, partitions: 1 })
  await mirroring.create()
  await mirroring.add('ledger', 'plain')
  const properties = alice()
  await mirroring.startRunner({ bootstrap: properties['bootstrap.servers'], properties })
  await mirroring.caughtUp('ledger')
  expect(await mirroring.differences('ledger')).toEqual([])
  const { partitions } = await mirroring.admin.describeMirrors(['m'], { topics: ['ledger'] })
  expect(partitions.map(({ fillMode, state }) => [fillMode, state])).toEqual([
    ['transactions', 'MIRRORING'],
    ['transactions', 'MIRRORING'],
  ])
})

test('an owner that is killed in the middle of a fill leaves nothing behind that its successor trips over', async () => {
  const properties = alice()
  for (let round = 2; round < 5; round++) {
    const written = write(round)
    const before = await ends()
    await eventually(async () => (await ends()) > before, { every: 5 })
    await mirroring.runners.at(-1)!.kill()
    await written
    await mirroring.startRunner({ bootstrap: properties['bootstrap.servers'], properties })
    await mirroring.caughtUp('ledger')
  }
  expect(await mirroring.differences('ledger')).toEqual([])
  for (const { log } of mirroring.runners) expect(log.filter(({ event }) => event === 'partition-failed')).toEqual([])
})

test('a removal with the runner gone ends what it left open', async () => {
  await mirroring.runners.at(-1)!.kill()
  const result = await mirroring.admin.removeTopicsFromMirror('m', ['ledger'])
  expect(result.topics).toMatchObject([{ ok: true, how: 'fenced' }])
  await writeLog(source.worker, destination, { topic: 'ledger', records: 10, partitions: 2 })
})

const ends = async () => (await destination.admin.offsets('ledger')).reduce((sum, { endOffset }) => sum + endOffset, 0n)

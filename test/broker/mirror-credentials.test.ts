import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestBroker, type TestBrokers, useBroker } from '../support/brokers.js'
import { KafkaAdmin } from '../support/kafka-admin.js'
import { writeLog } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { jaasConfig, type SecuredBroker, startSecuredBroker, USERS } from '../support/secured-broker.js'
import { eventually } from '../support/wait.js'

const MECHANISM = 'SCRAM-SHA-256'
const credentials = (password: string) => ({ 'sasl.jaas.config': jaasConfig(MECHANISM, 'alice', password) })

const destination = useBroker({ properties: DESTINATION_PROPERTIES })
let secured: SecuredBroker
let source: TestBroker
const brokers: TestBrokers = {
  get source() {
    return source
  },
  destination,
  get worker() {
    return destination.worker
  },
}

beforeAll(async () => {
  // Sessions end soon, so that a password that no longer holds is found out.
  secured = await startSecuredBroker({ version: '3.9.1', reauthenticateMs: 2_000 })
  const bootstrap = secured.bootstrap('PLAINTEXT')
  source = { broker: secured.broker, bootstrap, admin: new KafkaAdmin(destination.worker, { bootstrap }) }
})
afterAll(() => secured?.close())

const mirroring = useMirroring(brokers, {
  sourceBootstrap: () => secured.bootstrap('SASL_PLAINTEXT'),
  config: { 'security.protocol': 'SASL_PLAINTEXT', 'sasl.mechanism': MECHANISM, ...credentials(USERS.alice) },
})

test('a running runner goes on with new credentials of the source, without a restart', async () => {
  const write = () => writeLog(destination.worker, source, { topic: 'guarded', records: 100, partitions: 2 })
  await source.admin.createTopic('guarded', { partitions: 2 })
  await write()
  await mirroring.create()
  await mirroring.startRunner()
  await mirroring.add('guarded')
  await mirroring.caughtUp('guarded')
  await source.admin.setScram('alice', MECHANISM, 'a new one')
  const refused = await eventually(async () => {
    const status = await mirroring.status('guarded')
    return status?.error !== undefined && status
  })
  expect(refused.error!.message).toMatch(/authentication|credentials|password/i)
  expect(refused.state).toBe('MIRRORING')
  await write()
  await mirroring.admin.alterMirror(mirroring.mirror, { set: credentials('a new one') })
  await mirroring.caughtUp('guarded', 10_000)
  expect(await mirroring.differences('guarded')).toEqual([])
  expect((await mirroring.status('guarded'))!.error).toBeUndefined()
  expect(mirroring.runners[0]!.running).toBe(true)
})

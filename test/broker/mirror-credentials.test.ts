import { expect, test } from 'vitest'
import { writeLog } from '../support/kafka-log.js'
import { useMirroring } from '../support/mirroring.js'
import { jaasConfig, USERS } from '../support/secured-broker.js'
import { useSecuredSource } from '../support/secured-source.js'
import { eventually } from '../support/wait.js'

const MECHANISM = 'SCRAM-SHA-256'
const credentials = (password: string) => ({ 'sasl.jaas.config': jaasConfig(MECHANISM, 'alice', password) })

const brokers = useSecuredSource()

const mirroring = useMirroring(brokers, {
  sourceBootstrap: () => brokers.secured.bootstrap('SASL_PLAINTEXT'),
  config: { 'security.protocol': 'SASL_PLAINTEXT', 'sasl.mechanism': MECHANISM, ...credentials(USERS.alice) },
})

test('a running runner goes on with new credentials of the source, without a restart', async () => {
  const write = () => writeLog(brokers.worker, brokers.source, { topic: 'guarded', records: 100, partitions: 2 })
  await brokers.source.admin.createTopic('guarded', { partitions: 2 })
  await write()
  await mirroring.create()
  await mirroring.startRunner()
  await mirroring.add('guarded')
  await mirroring.caughtUp('guarded')
  await brokers.source.admin.setScram('alice', MECHANISM, 'a new one')
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

import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { readLog, writeLog } from '../support/kafka-log.js'
import { useMirroring } from '../support/mirroring.js'
import { USERS } from '../support/secured-broker.js'
import { useSecuredSource } from '../support/secured-source.js'
import { eventually } from '../support/wait.js'

const MECHANISM = 'SCRAM-SHA-256'
const NEW_PASSWORD = 'a new one'

const folder = mkdtempSync(join(tmpdir(), 'kafka-mirrors-secrets-'))
const allowed = join(folder, 'allowed')
const outside = join(folder, 'outside')
const loginWith = (password: string, user = `\${env:SOURCE_USER}`) =>
  `org.apache.kafka.common.security.scram.ScramLoginModule required username="${user}" password="${password}";`
const PASSWORD_FILE = `\${file:${allowed}/source.properties:password}`

/** As a rotation of secrets does it: the file is there all the time. */
function writePassword(path: string, password: string): void {
  writeFileSync(`${path}.new`, `password=${password}\n`)
  renameSync(`${path}.new`, path)
}

const brokers = useSecuredSource()
const { destination } = brokers

beforeAll(async () => {
  // A command resolves with the rights of whoever types it: this process.
  vi.stubEnv('SOURCE_USER', 'bob')
  for (const name of [allowed, outside]) mkdirSync(name)
  writePassword(join(allowed, 'source.properties'), USERS.bob)
  writePassword(join(outside, 'source.properties'), USERS.bob)
  symlinkSync(join(outside, 'source.properties'), join(allowed, 'link.properties'))
})
afterAll(async () => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

const login = { 'security.protocol': 'SASL_PLAINTEXT', 'sasl.mechanism': MECHANISM }
const sourceBootstrap = () => brokers.secured.bootstrap('SASL_PLAINTEXT')
const good = useMirroring(brokers, {
  mirror: 'good',
  sourceBootstrap,
  config: { ...login, 'sasl.jaas.config': loginWith(PASSWORD_FILE) },
})
const stray = useMirroring(brokers, {
  mirror: 'stray',
  sourceBootstrap,
  config: { ...login, 'sasl.jaas.config': loginWith(`\${file:${outside}/source.properties:password}`) },
})

const write = (topic: string) => writeLog(brokers.worker, brokers.source, { topic, records: 100, partitions: 1 })
const errorOf = async (mirror: string) => {
  const { partitions } = await good.admin.describeMirrors([mirror])
  return partitions[0]?.error
}

test('a runner resolves what it is allowed to, tells what it is not, and goes on with the other mirrors', async () => {
  for (const topic of ['kept', 'strayed']) {
    await brokers.source.admin.createTopic(topic, { partitions: 1 })
    await write(topic)
  }
  await good.create()
  await stray.create()
  await good.add('kept')
  await stray.add('strayed')
  await good.startRunner({ env: { SOURCE_USER: 'bob' }, allowConfig: `env:SOURCE_*,file:${allowed}` })
  await good.caughtUp('kept')
  const refused = await eventually(() => errorOf('stray'), { what: 'The refusal in describe' })
  expect(refused).toContain(`sasl.jaas.config refers to \${file:${outside}/source.properties:password}`)
  expect(refused).toContain('--allow-config')
  expect(await errorOf('good')).toBeUndefined()
  expect((await destination.admin.offsets('strayed')).map(({ endOffset }) => endOffset)).toEqual([0n])
})

test('a link that leads out of an allowed folder is refused too, and an allowed reference in its place is used', async () => {
  const link = `\${file:${allowed}/link.properties:password}`
  await stray.admin.alterMirror('stray', { set: { 'sasl.jaas.config': loginWith(link) } })
  await eventually(async () => (await errorOf('stray'))?.includes(`${link}, which leads out`), { what: 'The refusal of the link' })
  await stray.admin.alterMirror('stray', { set: { 'sasl.jaas.config': loginWith(PASSWORD_FILE) } })
  await stray.caughtUp('strayed')
  expect(await stray.differences('strayed')).toEqual([])
})

test('a changed file is used for the next connection, without an alter or a restart', async () => {
  await brokers.source.admin.setScram('bob', MECHANISM, NEW_PASSWORD)
  await eventually(async () => /authentication|credentials|password/i.test((await good.status('kept'))?.error?.message ?? ''), {
    what: 'The end of the old password',
  })
  writePassword(join(allowed, 'source.properties'), NEW_PASSWORD)
  await write('kept')
  await good.caughtUp('kept', 60_000)
  expect(await good.differences('kept')).toEqual([])
  expect(good.runners[0]!.running).toBe(true)
})

test('what was resolved is nowhere: not in the state, not in the log of the runner', async () => {
  const partitions = await readLog(brokers.worker, destination, { topic: '__kafka_mirrors', isolation: 'read_uncommitted' })
  const text = (hex: string) => Buffer.from(hex.replace(/^x/, ''), 'hex').toString()
  const state = partitions.flatMap(({ records }) => records.map(({ key, value }) => `${text(key)} ${text(value)}`))
  expect(state.filter((line) => line.includes(PASSWORD_FILE)).length).toBeGreaterThan(0)
  const log = good.runners[0]!.log.map((line) => JSON.stringify(line))
  for (const password of [USERS.bob, NEW_PASSWORD]) expect([...state, ...log].filter((line) => line.includes(password))).toEqual([])
  const { mirrors } = await good.admin.describeMirrors(['good'])
  expect((await good.state()).mirror('good')!.configs.get('sasl.jaas.config')).toBe(loginWith(PASSWORD_FILE))
  expect(mirrors[0]!.configs['sasl.jaas.config']).toBe('[hidden]')
})

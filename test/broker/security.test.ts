import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Cluster } from '../../src/client/cluster.js'
import { type ClientConfig, clientConfigOf } from '../../src/client/config.js'
import { openConnection } from '../../src/client/connection.js'
import { ConnectionError } from '../../src/client/errors.js'
import { Metadata } from '../../src/protocol/index.js'
import { runKafkaTool } from '../support/java-tools.js'
import {
  javaClientProperties,
  type Mechanism,
  type SecuredBroker,
  type SecuredListener,
  startSecuredBroker,
  USERS,
} from '../support/secured-broker.js'

// Every way to connect, on real brokers, and what each refusal says.

const LISTENERS: readonly SecuredListener[] = ['PLAINTEXT', 'SSL', 'MTLS', 'SASL_PLAINTEXT', 'SASL_SSL']
const MECHANISMS: readonly Mechanism[] = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512']
const SASL_LISTENERS = LISTENERS.filter((listener) => listener.startsWith('SASL'))

/** So short that every connection of these tests which lives longer must log in again. */
const SESSION_MS = 3_000

type Settings = Readonly<Record<string, string>>

function configFor(secured: SecuredBroker, listener: SecuredListener, settings: Settings): ClientConfig {
  const reach = { 'bootstrap.servers': secured.bootstrap(listener), 'socket.connection.setup.timeout.ms': '5000' }
  return clientConfigOf(new Map(Object.entries({ ...reach, ...settings }))).config
}

async function askClusterId(config: ClientConfig): Promise<string> {
  const cluster = new Cluster(config)
  try {
    // The second is asked on a connection to the advertised address.
    await cluster.broker((await cluster.brokers())[0]!.id, Metadata, { topics: [] })
    return await cluster.clusterId()
  } finally {
    await cluster.close()
  }
}

describe('Kafka 4.4.0', () => {
  let secured: SecuredBroker
  beforeAll(async () => {
    secured = await startSecuredBroker({ version: '4.4.0', reauthenticateMs: SESSION_MS })
  })
  afterAll(() => secured?.close())

  const configOf = (listener: SecuredListener, settings: Settings) => configFor(secured, listener, settings)
  const clusterId = (listener: SecuredListener, settings: Settings) => askClusterId(configOf(listener, settings))

  async function refusal(listener: SecuredListener, settings: Settings): Promise<ConnectionError> {
    const error = await clusterId(listener, settings).then(
      () => 'it connected',
      (caught) => caught,
    )
    expect(error).toBeInstanceOf(ConnectionError)
    for (const secret of [...Object.values(USERS), 'wrong']) expect(inspect(error, { depth: 10 })).not.toContain(secret)
    return error
  }

  const settingsOf = (...args: [SecuredListener, { mechanism?: Mechanism; user?: keyof typeof USERS; password?: string }?]) =>
    javaClientProperties(secured.files, ...args)

  test.each(['PLAINTEXT', 'SSL', 'MTLS'] as const)('%s', async (listener) => {
    expect(await clusterId(listener, settingsOf(listener))).toBe(secured.broker.clusterId)
  })

  describe.each(SASL_LISTENERS)('%s', (listener) => {
    test.each(MECHANISMS)('%s', async (mechanism) => {
      // The password holds quotes, backslashes and a semicolon.
      expect(await clusterId(listener, settingsOf(listener, { mechanism, user: 'alice' }))).toBe(secured.broker.clusterId)
    })

    test.each(MECHANISMS)('%s with a wrong password', async (mechanism) => {
      const error = await refusal(listener, settingsOf(listener, { mechanism, user: 'alice', password: 'wrong' }))
      expect(error.kind).toBe('authentication')
      expect(error.message).toContain(secured.bootstrap(listener))
      expect(error.message).toContain(`${mechanism} authentication of user alice failed`)
      expect(error.advice).toContain('sasl.jaas.config')
    })
  })

  test('key stores inline, encrypted, and as PKCS#12', async () => {
    const { files } = secured
    const { 'ssl.keystore.location': _, ...trusting } = settingsOf('MTLS')
    const inline = { 'ssl.keystore.key': files.pem.clientKey, 'ssl.keystore.certificate.chain': files.pem.clientChain }
    const onOneLine = { 'ssl.truststore.certificates': files.pem.ca.replaceAll('\n', ' '), 'ssl.keystore.type': 'PEM' }
    for (const settings of [
      { ...trusting, ...inline },
      { ...onOneLine, ...inline, 'security.protocol': 'SSL', 'ssl.keystore.key': files.pem.clientKey.replaceAll('\n', '') },
      { ...trusting, 'ssl.keystore.location': files.clientEncrypted, 'ssl.key.password': files.clientKeyPassword },
      {
        ...trusting,
        'ssl.keystore.type': 'PKCS12',
        'ssl.keystore.location': files.clientPkcs12,
        'ssl.keystore.password': files.clientKeyPassword,
      },
    ]) {
      expect(await clusterId('MTLS', settings)).toBe(secured.broker.clusterId)
    }
  })

  test('a wrong key password is a setting’s error, without the key', () => {
    const { files } = secured
    for (const [location, type] of [
      [files.clientEncrypted, 'PEM'],
      [files.clientPkcs12, 'PKCS12'],
    ] as const) {
      const settings = {
        ...settingsOf('MTLS'),
        'ssl.keystore.location': location,
        'ssl.keystore.type': type,
        'ssl.keystore.password': 'wrong',
      }
      expect(() => configOf('MTLS', settings)).toThrow('ssl.keystore.location cannot be opened: the password is wrong')
    }
  })

  test('a broker whose authority we do not trust', async () => {
    const error = await refusal('SSL', { ...settingsOf('SSL'), 'ssl.truststore.location': secured.files.otherCa })
    expect(error).toMatchObject({ kind: 'tls' })
    expect(error.message).toContain('not trusted by ssl.truststore')
    const { 'ssl.truststore.location': _, ...without } = settingsOf('SSL')
    expect((await refusal('SSL', without)).message).toContain('no ssl.truststore is set')
  })

  test('no client certificate, and one the broker does not trust', async () => {
    const { 'ssl.keystore.location': _, ...without } = settingsOf('MTLS')
    const none = await refusal('MTLS', without)
    expect(none.kind).toBe('tls')
    expect(none.message).toContain('client certificate')
    expect(none.advice).toContain('ssl.keystore')
    const stranger = await refusal('MTLS', { ...settingsOf('MTLS'), 'ssl.keystore.location': secured.files.stranger })
    expect(stranger.kind).toBe('tls')
    expect(stranger.message).toContain('client certificate')
  })

  test('the wrong protocol for a listener', async () => {
    const plain = await refusal('SSL', { 'security.protocol': 'PLAINTEXT' })
    expect(plain.kind).toBe('protocol')
    expect(`${plain.reason} ${plain.advice}`).toContain('TLS')
    const tls = await refusal('PLAINTEXT', settingsOf('SSL'))
    expect(tls.kind).toBe('tls')
    expect(tls.advice).toContain('PLAINTEXT')
    const anonymous = await refusal('SASL_PLAINTEXT', { 'security.protocol': 'PLAINTEXT', 'default.api.timeout.ms': '1000' })
    expect(anonymous.advice).toContain('SASL_PLAINTEXT')
    const unasked = await refusal('PLAINTEXT', settingsOf('SASL_PLAINTEXT'))
    expect(unasked).toMatchObject({ kind: 'authentication' })
    expect(unasked.message).toContain('does not use SASL')
  })

  test('secrets do not show in a printed configuration', () => {
    const settings = {
      ...settingsOf('MTLS'),
      ...settingsOf('SASL_SSL', { user: 'bob' }),
      'ssl.keystore.location': secured.files.clientEncrypted,
    }
    const config = configOf('SASL_SSL', { ...settings, 'ssl.key.password': secured.files.clientKeyPassword })
    const printed = `${inspect(config, { depth: 20, showHidden: true })} ${JSON.stringify({ ...config, tls: undefined })}`
    const keyLine = readFileSync(secured.files.clientEncrypted, 'utf8').split('\n')[3]!
    for (const secret of [USERS.bob, secured.files.clientKeyPassword, keyLine]) expect(printed).not.toContain(secret)
    expect(printed).toContain('[hidden]')
  })

  test.concurrent.each(MECHANISMS)('%s sessions are renewed on busy and on idle connections', { timeout: 60_000 }, async (mechanism) => {
    const config = configOf('SASL_PLAINTEXT', settingsOf('SASL_PLAINTEXT', { mechanism }))
    const busy = await openConnection(config.bootstrapServers[0]!, config)
    const idle = await openConnection(config.bootstrapServers[0]!, config)
    const until = performance.now() + 2.5 * SESSION_MS
    let answered = 0
    while (performance.now() < until) {
      // Several in flight, as the engine sends them.
      await Promise.all([1, 2, 3].map(() => busy.send(Metadata, { topics: [] })))
      answered += 3
    }
    await idle.send(Metadata, { topics: [] })
    expect(answered).toBeGreaterThan(100)
    expect([busy.open, idle.open]).toEqual([true, true])
    await Promise.all([busy.close(), idle.close()])
  })

  test('a user that is deleted later is refused when the session is renewed, and does not hang', { timeout: 60_000 }, async () => {
    const config = configOf('SASL_PLAINTEXT', settingsOf('SASL_PLAINTEXT', { mechanism: 'SCRAM-SHA-256', user: 'bob' }))
    const connection = await openConnection(config.bootstrapServers[0]!, config)
    const user = ['--entity-type', 'users', '--entity-name', 'bob', '--delete-config', 'SCRAM-SHA-256']
    await runKafkaTool('4.4.0', 'kafka-configs', ['--bootstrap-server', secured.bootstrap('PLAINTEXT'), '--alter', ...user])
    const until = performance.now() + 4 * SESSION_MS
    let error: unknown
    while (error === undefined && performance.now() < until) {
      error = await connection.send(Metadata, { topics: [] }).then(
        () => undefined,
        (caught) => caught,
      )
    }
    expect(error).toMatchObject({ kind: 'authentication' })
    expect(connection.open).toBe(false)
  })

  test('other credentials take hold in a running client', async () => {
    const good = configOf('SASL_SSL', settingsOf('SASL_SSL', { mechanism: 'SCRAM-SHA-512', user: 'alice' }))
    const bad = configOf('SASL_SSL', settingsOf('SASL_SSL', { mechanism: 'SCRAM-SHA-512', user: 'alice', password: 'wrong' }))
    const cluster = new Cluster(good)
    await cluster.clusterId()
    await cluster.reconfigure(bad)
    await expect(cluster.clusterId()).rejects.toMatchObject({ kind: 'authentication' })
    await cluster.reconfigure(configOf('SASL_PLAINTEXT', settingsOf('SASL_PLAINTEXT', { user: 'alice' })))
    expect(await cluster.clusterId()).toBe(secured.broker.clusterId)
    await cluster.close()
  })
})

describe('Kafka 3.9.1', () => {
  let secured: SecuredBroker
  beforeAll(async () => {
    const properties = { 'listener.name.sasl_ssl.sasl.enabled.mechanisms': 'SCRAM-SHA-256,SCRAM-SHA-512' }
    secured = await startSecuredBroker({ version: '3.9.1', properties })
  })
  afterAll(() => secured?.close())

  test.each([
    ['PLAINTEXT', 'PLAIN'],
    ['MTLS', 'PLAIN'],
    ['SASL_PLAINTEXT', 'PLAIN'],
    ['SASL_PLAINTEXT', 'SCRAM-SHA-512'],
    ['SASL_SSL', 'SCRAM-SHA-256'],
    ['SASL_SSL', 'SCRAM-SHA-512'],
  ] as const)('%s with %s', async (listener, mechanism) => {
    const settings = javaClientProperties(secured.files, listener, { mechanism, user: 'alice' })
    expect(await askClusterId(configFor(secured, listener, settings))).toBe(secured.broker.clusterId)
  })

  test('wrong password, and a mechanism the listener does not offer', async () => {
    const refused = (mechanism: Mechanism, password?: string) =>
      askClusterId(configFor(secured, 'SASL_SSL', javaClientProperties(secured.files, 'SASL_SSL', { mechanism, password }))).catch(
        (error) => error,
      )
    expect(await refused('SCRAM-SHA-256', 'wrong')).toMatchObject({ kind: 'authentication' })
    const unknown = await refused('PLAIN')
    expect(unknown).toMatchObject({ kind: 'authentication', advice: 'set sasl.mechanism to one that it offers' })
    expect(unknown.reason).toMatch(/^the broker does not offer PLAIN, it offers SCRAM-SHA-(256, SCRAM-SHA-512|512, SCRAM-SHA-256)$/)
  })
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Listener } from '../../src/playground/broker-settings.js'
import type { BrokerOptions, KafkaBroker } from '../../src/playground/kafka-broker.js'
import { Watchdog } from '../../src/playground/process.js'
import { startTestBroker } from './brokers.js'
import { type CertificateFiles, writeCertificates } from './certificates.js'
import type { TcpProxy } from './proxy.js'

/** PLAINTEXT is for the tests' own tools: its principal, ANONYMOUS, is a super user. */
export type SecuredListener = 'PLAINTEXT' | 'SSL' | 'MTLS' | 'SASL_PLAINTEXT' | 'SASL_SSL'
/** As SASL_PLAINTEXT, and clients are sent back to a proxy. */
const PROXIED = 'SASL_PROXIED'
export type Mechanism = 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'

/** Users of every SASL mechanism, with their passwords. `admin` and `runner` are super users, the others have no rights by themselves. */
export const USERS = { admin: 'admin-secret', runner: 'runner-secret', alice: 'alice-secret; "odd" \\signs', bob: 'bob-secret' } as const

export interface SecuredOptions extends Partial<BrokerOptions> {
  /** Turns on Kafka's authorizer: without a rule nobody but super users may do anything. */
  readonly authorizer?: boolean
  /** Sessions of SASL listeners end after so long unless the client authenticates again. */
  readonly reauthenticateMs?: number
  /** Opens one more way in, with logins, through this proxy. */
  readonly proxy?: TcpProxy
}

export interface SecuredBroker {
  readonly broker: KafkaBroker
  readonly files: CertificateFiles
  /** `host:port` of a listener. */
  bootstrap(listener: SecuredListener): string
  close(): Promise<void>
}

const LISTENERS: readonly Listener[] = [
  { name: 'PLAINTEXT', protocol: 'PLAINTEXT' },
  { name: 'SSL', protocol: 'SSL' },
  { name: 'MTLS', protocol: 'SSL' },
  { name: 'SASL_PLAINTEXT', protocol: 'SASL_PLAINTEXT' },
  { name: 'SASL_SSL', protocol: 'SASL_SSL' },
]

/** One broker with a listener for every way to connect. The caller closes it. */
export async function startSecuredBroker(options: SecuredOptions = {}): Promise<SecuredBroker> {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-mirrors-certificates-'))
  const watchdog = new Watchdog(folder)
  try {
    const files = await writeCertificates(folder)
    const properties = { ...securityProperties(files, options), ...options.properties }
    const { proxy } = options
    const more = proxy === undefined ? [] : [{ name: PROXIED, protocol: 'SASL_PLAINTEXT', advertised: proxy.address } as const]
    const broker = await startTestBroker({ ...options, listeners: [...LISTENERS, ...more], properties, scram: scramCredentials() })
    if (proxy !== undefined) proxy.target = broker.listeners.find(({ name }) => name === PROXIED)
    const close = async () => {
      await broker.close()
      watchdog.release()
      await rm(folder, { recursive: true, force: true })
    }
    return { broker, files, bootstrap: (listener) => broker.listener(listener), close }
  } catch (error) {
    watchdog.release()
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** Java client properties that reach a listener, as users write them. */
export function javaClientProperties(
  files: CertificateFiles,
  listener: SecuredListener,
  login: { mechanism?: Mechanism; user?: keyof typeof USERS; password?: string } = {},
): Record<string, string> {
  const { mechanism = 'PLAIN', user = 'admin' } = login
  const properties: Record<string, string> = { 'security.protocol': listener === 'MTLS' ? 'SSL' : listener }
  if (listener.endsWith('SSL') || listener === 'MTLS') {
    Object.assign(properties, { 'ssl.truststore.type': 'PEM', 'ssl.truststore.location': files.ca })
  }
  if (listener === 'MTLS') Object.assign(properties, { 'ssl.keystore.type': 'PEM', 'ssl.keystore.location': files.client })
  if (listener.startsWith('SASL')) {
    properties['sasl.mechanism'] = mechanism
    properties['sasl.jaas.config'] = jaasConfig(mechanism, user, login.password ?? USERS[user])
  }
  return properties
}

export function jaasConfig(mechanism: Mechanism, user: string, password: string): string {
  const loginModule = mechanism === 'PLAIN' ? 'plain.PlainLoginModule' : 'scram.ScramLoginModule'
  return `org.apache.kafka.common.security.${loginModule} required username="${user}" password="${quoted(password)}";`
}

function quoted(text: string): string {
  return text.replace(/[\\"]/g, '\\$&')
}

function scramCredentials(): string[] {
  return Object.entries(USERS).flatMap(([name, password]) =>
    ['SCRAM-SHA-256', 'SCRAM-SHA-512'].map((mechanism) => `${mechanism}=[name=${name},iterations=4096,password=${password}]`),
  )
}

function securityProperties(files: CertificateFiles, options: SecuredOptions): Record<string, string> {
  const properties: Record<string, string> = {
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': files.server,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': files.ca,
    'listener.name.mtls.ssl.client.auth': 'required',
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
  }
  const users = Object.entries(USERS).map(([name, password]) => `user_${name}="${quoted(password)}"`)
  for (const listener of ['sasl_plaintext', 'sasl_ssl', ...(options.proxy === undefined ? [] : [PROXIED.toLowerCase()])]) {
    const prefix = `listener.name.${listener}`
    properties[`${prefix}.plain.sasl.jaas.config`] = `org.apache.kafka.common.security.plain.PlainLoginModule required ${users.join(' ')};`
    for (const scram of ['scram-sha-256', 'scram-sha-512']) {
      properties[`${prefix}.${scram}.sasl.jaas.config`] = 'org.apache.kafka.common.security.scram.ScramLoginModule required;'
    }
    if (options.reauthenticateMs !== undefined) properties[`${prefix}.connections.max.reauth.ms`] = String(options.reauthenticateMs)
  }
  if (options.authorizer) {
    properties['authorizer.class.name'] = 'org.apache.kafka.metadata.authorizer.StandardAuthorizer'
    properties['super.users'] = 'User:ANONYMOUS;User:admin;User:runner'
  }
  return properties
}

import { readFileSync } from 'node:fs'
import { AddressError, type BrokerAddress, parseBootstrapServers } from './address.js'
import { isClientKey } from './config-keys.js'
import { ConfigError } from './errors.js'
import { credentialsOf, parseJaas } from './jaas.js'
import type { Secret } from './secret.js'
import { type TlsSettings, tlsSettingsOf } from './tls.js'

export type SecurityProtocol = 'PLAINTEXT' | 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL'
export type SaslMechanism = 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'

const PROTOCOLS: readonly SecurityProtocol[] = ['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL']
const MECHANISMS: readonly SaslMechanism[] = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512']

export interface SaslSettings {
  readonly mechanism: SaslMechanism
  readonly username: string
  readonly password: Secret
}

/** How to reach one cluster. Safe to print: secrets show as `[hidden]`. */
export interface ClientConfig {
  readonly bootstrapServers: readonly BrokerAddress[]
  readonly clientId: string
  readonly securityProtocol: SecurityProtocol
  readonly tls?: TlsSettings
  readonly sasl?: SaslSettings
  /** For one request to be answered (`request.timeout.ms`), in milliseconds. */
  readonly requestTimeoutMs: number
  /** For TCP, TLS and SASL together (`socket.connection.setup.timeout.ms`), in milliseconds. */
  readonly connectionTimeoutMs: number
  /** For one call of a `Cluster` with all its attempts (`default.api.timeout.ms`), in milliseconds. */
  readonly deadlineMs: number
  /** Bounds of the jittered wait between attempts of one call (`retry.backoff.ms`, `retry.backoff.max.ms`). */
  readonly retryBackoffMs: Backoff
  /** Bounds of the jittered wait between connection attempts to one broker (`reconnect.backoff.ms`, `reconnect.backoff.max.ms`). */
  readonly reconnectBackoffMs: Backoff
}

export interface Backoff {
  readonly initial: number
  readonly max: number
}

export interface ClientConfigOverrides {
  /** Used instead of `client.id`. */
  readonly clientId?: string
  /** Used instead of `bootstrap.servers`. */
  readonly bootstrapServers?: string
  readonly readFile?: (path: string) => Buffer
}

/**
 * A client's configuration from Java client properties. Keys starting with `mirror.` are someone else's and passed over;
 * keys no Kafka client knows come back as `unknownKeys`.
 *
 * @throws ConfigError
 */
export function clientConfigOf(
  properties: ReadonlyMap<string, string>,
  overrides: ClientConfigOverrides = {},
): { config: ClientConfig; unknownKeys: string[] } {
  const get = (key: string) => properties.get(key)?.trim()
  const securityProtocol = oneOf('security.protocol', get('security.protocol') ?? 'PLAINTEXT', PROTOCOLS)
  const secure = securityProtocol === 'SSL' || securityProtocol === 'SASL_SSL'
  const authenticated = securityProtocol.startsWith('SASL')
  const config: ClientConfig = {
    bootstrapServers: bootstrapOf(overrides.bootstrapServers ?? get('bootstrap.servers')),
    clientId: overrides.clientId ?? get('client.id') ?? 'kafka-mirrors',
    securityProtocol,
    tls: secure ? tlsSettingsOf(get, overrides.readFile ?? ((path) => readFileSync(path))) : undefined,
    sasl: authenticated ? saslOf(get) : undefined,
    requestTimeoutMs: milliseconds(get, 'request.timeout.ms', 30_000),
    connectionTimeoutMs: milliseconds(get, 'socket.connection.setup.timeout.ms', 10_000),
    deadlineMs: milliseconds(get, 'default.api.timeout.ms', 30_000),
    retryBackoffMs: { initial: milliseconds(get, 'retry.backoff.ms', 100), max: milliseconds(get, 'retry.backoff.max.ms', 1_000) },
    reconnectBackoffMs: {
      initial: milliseconds(get, 'reconnect.backoff.ms', 50),
      max: milliseconds(get, 'reconnect.backoff.max.ms', 1_000),
    },
  }
  return { config, unknownKeys: [...properties.keys()].filter((key) => !key.startsWith('mirror.') && !isClientKey(key)) }
}

function bootstrapOf(text: string | undefined): BrokerAddress[] {
  if (text === undefined) throw new ConfigError('bootstrap.servers', 'bootstrap.servers is missing')
  try {
    return parseBootstrapServers(text)
  } catch (error) {
    if (error instanceof AddressError) throw new ConfigError('bootstrap.servers', `bootstrap.servers: ${error.message}`)
    throw error
  }
}

function saslOf(get: (key: string) => string | undefined): SaslSettings {
  const name = get('sasl.mechanism')
  if (name === undefined) {
    throw new ConfigError(
      'sasl.mechanism',
      `sasl.mechanism is missing: one of ${MECHANISMS.join(', ')} (Java's default, GSSAPI, is not supported)`,
    )
  }
  const mechanism = oneOf('sasl.mechanism', name, MECHANISMS)
  const jaas = get('sasl.jaas.config')
  if (jaas === undefined) throw new ConfigError('sasl.jaas.config', 'sasl.jaas.config is missing: it holds user name and password')
  return { mechanism, ...credentialsOf(parseJaas(jaas)) }
}

function oneOf<T extends string>(key: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((name) => name === text.toUpperCase())
  if (found === undefined) throw new ConfigError(key, `${key} must be one of ${allowed.join(', ')}, not '${text}'`)
  return found
}

function milliseconds(get: (key: string) => string | undefined, key: string, otherwise: number): number {
  const text = get(key)
  if (text === undefined) return otherwise
  const value = Number(text)
  if (!/^\d+$/.test(text) || value > 2 ** 31 - 1) throw new ConfigError(key, `${key} must be a number of milliseconds, not '${text}'`)
  return value
}

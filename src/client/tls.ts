import { createSecureContext, type SecureContext, type SecureContextOptions, type SecureVersion } from 'node:tls'
import { ConfigError } from './errors.js'
import { isCertificate, isPrivateKey, joinBlocks, pemBlocks } from './pem.js'

/** What a TLS connection needs; keys stay inside the native context, so printing this shows no secret. */
export interface TlsSettings {
  readonly secureContext: SecureContext
  /** Whether the certificate must name the host (`ssl.endpoint.identification.algorithm=https`). */
  readonly verifyHostname: boolean
  /** Whether we can answer a broker that asks for a certificate. */
  readonly hasClientCertificate: boolean
  /** Whether trust comes from `ssl.truststore.*` rather than from the authorities Node ships. */
  readonly hasTrustStore: boolean
}

type ReadFile = (path: string) => Buffer
type Get = (key: string) => string | undefined

const VERSIONS: Readonly<Record<string, SecureVersion>> = { 'TLSv1.2': 'TLSv1.2', 'TLSv1.3': 'TLSv1.3' }

/**
 * Builds the TLS side of a client from Kafka's `ssl.*` settings: PEM trust and key stores, inline or by file, and PKCS12 key stores.
 *
 * @throws ConfigError with one sentence, naming the key; for Java's own store formats it says how to convert them.
 */
export function tlsSettingsOf(get: Get, readFile: ReadFile): TlsSettings {
  const trust = trustOptions(get, readFile)
  const identity = identityOptions(get, readFile)
  const options = { ...trust, ...identity, ...versionOptions(get) }
  const algorithm = get('ssl.endpoint.identification.algorithm') ?? 'https'
  if (algorithm !== '' && algorithm.toLowerCase() !== 'https') {
    throw new ConfigError(
      'ssl.endpoint.identification.algorithm',
      `ssl.endpoint.identification.algorithm must be https or empty, not '${algorithm}'`,
    )
  }
  return {
    secureContext: contextOf(options, get),
    verifyHostname: algorithm !== '',
    hasClientCertificate: identity !== undefined,
    hasTrustStore: trust !== undefined,
  }
}

function trustOptions(get: Get, readFile: ReadFile): SecureContextOptions | undefined {
  const key = get('ssl.truststore.certificates') === undefined ? 'ssl.truststore.location' : 'ssl.truststore.certificates'
  const store = readStore(get, readFile, 'ssl.truststore.certificates', 'ssl.truststore.location', 'ssl.truststore.type')
  if (store === undefined) return undefined
  if (store.format !== 'PEM') {
    const path = get('ssl.truststore.location')!
    throw new ConfigError(
      key,
      `${key}: ${path} is a ${store.format} store and only PEM is supported for trust; convert it with: keytool -list -rfc -keystore ${path} > ca.pem, then set ssl.truststore.type=PEM and ssl.truststore.location=ca.pem`,
    )
  }
  const certificates = pemBlocks(store.content.toString('utf8')).filter(isCertificate)
  if (certificates.length === 0) throw new ConfigError(key, `${key} holds no PEM certificate`)
  return { ca: certificates.map((block) => block.text) }
}

function identityOptions(get: Get, readFile: ReadFile): SecureContextOptions | undefined {
  const passphrase = get('ssl.key.password') ?? get('ssl.keystore.password')
  const inlineKey = get('ssl.keystore.key')
  const inlineChain = get('ssl.keystore.certificate.chain')
  if ((inlineKey === undefined) !== (inlineChain === undefined)) {
    const missing = inlineKey === undefined ? 'ssl.keystore.key' : 'ssl.keystore.certificate.chain'
    throw new ConfigError(missing, `${missing} is missing: a client certificate needs both its key and its chain`)
  }
  if (inlineKey !== undefined && inlineChain !== undefined) {
    return pemIdentity(inlineKey, inlineChain, passphrase, 'ssl.keystore.key', 'ssl.keystore.certificate.chain')
  }
  const store = readStore(get, readFile, undefined, 'ssl.keystore.location', 'ssl.keystore.type')
  if (store === undefined) return undefined
  if (store.format === 'PKCS12') return { pfx: store.content, passphrase: get('ssl.keystore.password') ?? get('ssl.key.password') }
  if (store.format === 'JKS') {
    const path = get('ssl.keystore.location')!
    throw new ConfigError(
      'ssl.keystore.location',
      `ssl.keystore.location: ${path} is a JKS store; convert it with: keytool -importkeystore -srckeystore ${path} -destkeystore client.p12 -deststoretype PKCS12, then set ssl.keystore.type=PKCS12 and ssl.keystore.location=client.p12`,
    )
  }
  const text = store.content.toString('utf8')
  return pemIdentity(text, text, passphrase, 'ssl.keystore.location', 'ssl.keystore.location')
}

function pemIdentity(
  keyText: string,
  chainText: string,
  passphrase: string | undefined,
  keyName: string,
  chainName: string,
): SecureContextOptions {
  const keys = pemBlocks(keyText).filter(isPrivateKey)
  const chain = pemBlocks(chainText).filter(isCertificate)
  if (keys.length === 0) throw new ConfigError(keyName, `${keyName} holds no PEM private key`)
  if (chain.length === 0) throw new ConfigError(chainName, `${chainName} holds no PEM certificate`)
  if (keys[0]!.text.includes('ENCRYPTED') && passphrase === undefined) {
    throw new ConfigError('ssl.key.password', 'ssl.key.password is missing: the private key is encrypted')
  }
  return { key: keys[0]!.text, cert: joinBlocks(chain), passphrase }
}

interface Store {
  readonly format: 'PEM' | 'JKS' | 'PKCS12'
  readonly content: Buffer
}

/** The format is taken from the content: Java's default type (JKS) is often left in place over a PEM file. */
function readStore(get: Get, readFile: ReadFile, inlineKey: string | undefined, locationKey: string, typeKey: string): Store | undefined {
  const type = get(typeKey)
  if (type !== undefined && !/^(PEM|JKS|PKCS12)$/i.test(type))
    throw new ConfigError(typeKey, `${typeKey} must be PEM, PKCS12 or JKS, not '${type}'`)
  const inline = inlineKey === undefined ? undefined : get(inlineKey)
  if (inline !== undefined) return { format: 'PEM', content: Buffer.from(inline) }
  const path = get(locationKey)
  if (path === undefined || path === '') return undefined
  const content = readStoreFile(readFile, locationKey, path)
  if (content.length >= 4 && content.readUInt32BE(0) === 0xfeedfeed) return { format: 'JKS', content }
  if (content[0] === 0x30) return { format: 'PKCS12', content }
  return { format: 'PEM', content }
}

function readStoreFile(readFile: ReadFile, key: string, path: string): Buffer {
  try {
    return readFile(path)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const why = code === 'ENOENT' ? 'does not exist' : code === 'EACCES' ? 'may not be read' : `cannot be read (${code ?? 'unknown error'})`
    throw new ConfigError(key, `${key}: ${path} ${why}`)
  }
}

function versionOptions(get: Get): SecureContextOptions {
  const text = get('ssl.enabled.protocols')
  if (text === undefined) return { minVersion: 'TLSv1.2' }
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => VERSIONS[name] === undefined)
  if (unknown !== undefined)
    throw new ConfigError('ssl.enabled.protocols', `ssl.enabled.protocols may list TLSv1.2 and TLSv1.3, not '${unknown}'`)
  const sorted = names.sort()
  return { minVersion: VERSIONS[sorted[0]!], maxVersion: VERSIONS[sorted.at(-1)!] }
}

function contextOf(options: SecureContextOptions, get: Get): SecureContext {
  try {
    return createSecureContext(options)
  } catch (error) {
    // OpenSSL's texts name routines and reasons, never key material.
    const text = (error as Error).message
    const key =
      get('ssl.keystore.key') !== undefined
        ? 'ssl.keystore.key'
        : get('ssl.keystore.location') !== undefined
          ? 'ssl.keystore.location'
          : 'ssl.truststore.location'
    if (/bad decrypt|mac verify|interrupted or cancelled|bad password/i.test(text)) {
      throw new ConfigError(key, `${key} cannot be opened: the password is wrong (ssl.key.password, ssl.keystore.password)`)
    }
    if (/values mismatch/i.test(text)) throw new ConfigError(key, `${key}: the private key does not belong to the certificate`)
    throw new ConfigError(key, `${key} cannot be used: ${text}`)
  }
}

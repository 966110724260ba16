import { expect, test } from 'vitest'
import { clientConfigOf } from '../../../src/client/config.js'
import { CLIENT_KEYS, isSecretKey } from '../../../src/client/config-keys.js'
import { makeIdentity } from '../../support/certificates.js'

const of = (properties: Record<string, string>, files: Record<string, string | Buffer> = {}) =>
  clientConfigOf(new Map(Object.entries({ 'bootstrap.servers': 'a:1', ...properties })), {
    readFile: (path) => {
      const content = files[path]
      if (content === undefined) throw Object.assign(new Error('no'), { code: 'ENOENT' })
      return Buffer.from(content)
    },
  })

const SASL = { 'sasl.jaas.config': 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";' }

test('defaults', () => {
  expect(of({}).config).toMatchObject({
    bootstrapServers: [{ host: 'a', port: 1 }],
    clientId: 'kafka-mirrors',
    securityProtocol: 'PLAINTEXT',
    tls: undefined,
    sasl: undefined,
    requestTimeoutMs: 30_000,
    connectionTimeoutMs: 10_000,
  })
})

test('unknown keys are told, known and mirror keys are not', () => {
  const { unknownKeys } = of({ 'mirror.topics.include': 'x', 'fetch.min.bytes': '1', retries: '3', 'requst.timeout.ms': '1', foo: '' })
  expect(unknownKeys).toEqual(['requst.timeout.ms', 'foo'])
})

test('the protocol decides what is needed', () => {
  expect(of({ 'security.protocol': 'sasl_plaintext', 'sasl.mechanism': 'scram-sha-256', ...SASL }).config).toMatchObject({
    securityProtocol: 'SASL_PLAINTEXT',
    sasl: { mechanism: 'SCRAM-SHA-256', username: 'u' },
    tls: undefined,
  })
  expect(of({ 'security.protocol': 'SSL' }).config.tls).toMatchObject({
    verifyHostname: true,
    hasClientCertificate: false,
    hasTrustStore: false,
  })
  expect(of({ 'security.protocol': 'SSL', 'ssl.endpoint.identification.algorithm': '' }).config.tls).toMatchObject({
    verifyHostname: false,
  })
  // As with Java clients, settings of an unused layer do no harm.
  expect(of({ 'ssl.truststore.location': '/nowhere', 'sasl.mechanism': 'GSSAPI' }).config.tls).toBeUndefined()
})

const CA = makeIdentity('authority')
const CLIENT = makeIdentity('client', CA)
const SSL = { 'security.protocol': 'SSL' }
const JKS = Buffer.from('feedfeed00000002', 'hex')

test('stores in PEM, inline and by file, whatever the lines look like', () => {
  const files = { 'ca.pem': `some text\n${CA.certificatePem}`, 'both.pem': CLIENT.certificatePem + CLIENT.keyPem }
  const oneLine = (text: string) => text.replaceAll('\n', ' ')
  const variants: Array<Record<string, string>> = [
    { 'ssl.truststore.location': 'ca.pem', 'ssl.keystore.location': 'both.pem' },
    { 'ssl.truststore.type': 'PEM', 'ssl.truststore.location': 'ca.pem', 'ssl.keystore.type': 'PEM', 'ssl.keystore.location': 'both.pem' },
    {
      'ssl.truststore.certificates': oneLine(CA.certificatePem),
      'ssl.keystore.key': oneLine(CLIENT.keyPem),
      'ssl.keystore.certificate.chain': oneLine(CLIENT.certificatePem),
    },
  ]
  for (const properties of variants) {
    expect(of({ ...SSL, ...properties }, files).config.tls).toMatchObject({ hasClientCertificate: true, hasTrustStore: true })
  }
})

test.each([
  [{ 'bootstrap.servers': 'a' }, 'bootstrap.servers', 'the port is missing'],
  [{ 'security.protocol': 'TLS' }, 'security.protocol', 'must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL'],
  [{ 'request.timeout.ms': '1s' }, 'request.timeout.ms', 'must be a number of milliseconds'],
  [{ 'request.timeout.ms': '-1' }, 'request.timeout.ms', 'must be a number of milliseconds'],
  [{ 'security.protocol': 'SASL_SSL', ...SASL }, 'sasl.mechanism', 'is missing: one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512'],
  [{ 'security.protocol': 'SASL_PLAINTEXT', 'sasl.mechanism': 'GSSAPI' }, 'sasl.mechanism', 'must be one of'],
  [{ 'security.protocol': 'SASL_PLAINTEXT', 'sasl.mechanism': 'PLAIN' }, 'sasl.jaas.config', 'is missing'],
  [{ ...SSL, 'ssl.truststore.location': 'gone.pem' }, 'ssl.truststore.location', 'gone.pem does not exist'],
  [{ ...SSL, 'ssl.truststore.location': 'store.jks' }, 'ssl.truststore.location', 'keytool -list -rfc -keystore store.jks'],
  [{ ...SSL, 'ssl.keystore.location': 'store.jks' }, 'ssl.keystore.location', '-deststoretype PKCS12'],
  [{ ...SSL, 'ssl.truststore.location': 'empty.pem' }, 'ssl.truststore.location', 'holds no PEM certificate'],
  [{ ...SSL, 'ssl.keystore.location': 'ca.pem' }, 'ssl.keystore.location', 'holds no PEM private key'],
  [{ ...SSL, 'ssl.keystore.key': CLIENT.keyPem }, 'ssl.keystore.certificate.chain', 'is missing'],
  [{ ...SSL, 'ssl.truststore.type': 'BCFKS' }, 'ssl.truststore.type', 'must be PEM, PKCS12 or JKS'],
  [{ ...SSL, 'ssl.enabled.protocols': 'TLSv1.1' }, 'ssl.enabled.protocols', 'may list TLSv1.2 and TLSv1.3'],
  [{ ...SSL, 'ssl.endpoint.identification.algorithm': 'LDAP' }, 'ssl.endpoint.identification.algorithm', 'must be https or empty'],
  [
    { ...SSL, 'ssl.keystore.key': CLIENT.keyPem, 'ssl.keystore.certificate.chain': CA.certificatePem },
    'ssl.keystore.key',
    'the private key does not belong to the certificate',
  ],
])('%o', (properties, key, message) => {
  const files = { 'store.jks': JKS, 'empty.pem': '', 'ca.pem': CA.certificatePem }
  const error = (() => {
    try {
      of(properties, files)
    } catch (caught) {
      return caught
    }
    return undefined
  })()
  expect(error).toMatchObject({ name: 'ConfigError', key })
  expect((error as Error).message).toContain(message)
  expect((error as Error).message).toContain(key)
})

test('the table of keys has each key once, and knows its secrets', () => {
  const names = CLIENT_KEYS.map((key) => key.name)
  expect(new Set(names).size).toBe(names.length)
  expect(names.filter(isSecretKey)).toEqual([
    'sasl.jaas.config',
    'ssl.key.password',
    'ssl.keystore.certificate.chain',
    'ssl.keystore.key',
    'ssl.keystore.password',
    'ssl.truststore.password',
  ])
})

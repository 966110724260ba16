import type { SaslSettings } from './config.js'
import type { ConnectionErrorKind } from './errors.js'

/** How far a connection had come when it failed. */
export type Stage = 'connecting' | 'negotiating' | 'authenticating' | 'unused' | 'used'

export interface Failure {
  readonly stage: Stage
  /** Node's or OpenSSL's error code, if there was an error rather than an end. */
  readonly code: string | undefined
  readonly message: string
  readonly secure: boolean
  readonly hasClientCertificate: boolean
  readonly hasTrustStore: boolean
  readonly mechanism: string | undefined
}

export interface Diagnosis {
  readonly kind: ConnectionErrorKind
  readonly reason: string
  readonly advice?: string
}

const CERTIFICATE_ADVICE =
  'set ssl.keystore.location (or ssl.keystore.key and ssl.keystore.certificate.chain) to a client certificate the broker trusts'
const TRUST_ADVICE = "set ssl.truststore.location (ssl.truststore.type=PEM) to the certificate of the authority that signed the broker's"

const UNTRUSTED = /SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|CERT_UNTRUSTED|CERT_SIGNATURE_FAILURE|CERT_CHAIN|INVALID_CA|PATH_LENGTH|CERT_REJECTED/
const NETWORK: Readonly<Record<string, Diagnosis>> = {
  ENOTFOUND: { kind: 'resolve', reason: 'the host name does not resolve' },
  EAI_AGAIN: { kind: 'resolve', reason: 'the host name does not resolve just now' },
  ECONNREFUSED: { kind: 'refused', reason: 'connection refused', advice: 'is the broker running and is this its listener?' },
  EHOSTUNREACH: { kind: 'refused', reason: 'no route to the host' },
  ENETUNREACH: { kind: 'refused', reason: 'no route to the network' },
  EADDRNOTAVAIL: { kind: 'refused', reason: 'no route to the host' },
  EACCES: { kind: 'refused', reason: 'connecting is not permitted' },
  ETIMEDOUT: { kind: 'timeout', reason: 'no answer from the host' },
}

/** What a failed connection most likely means to the user; a table over Node's and OpenSSL's codes. */
export function diagnose(failure: Failure): Diagnosis {
  const { code = '', stage } = failure
  if (stage === 'connecting' && NETWORK[code] !== undefined) return NETWORK[code]
  if (failure.secure) {
    const tls = diagnoseTls(failure)
    if (tls !== undefined) return tls
  }
  const how = code === '' ? 'the broker closed the connection' : `the connection broke (${code})`
  if (stage === 'negotiating') {
    return {
      kind: 'protocol',
      reason: `${how} before its first answer`,
      advice: failure.secure ? undefined : 'is this a Kafka listener, and does it want TLS (security.protocol=SSL or SASL_SSL)?',
    }
  }
  // A refused login is answered before the broker closes, so this is not one.
  if (stage === 'authenticating') return { kind: 'closed', reason: `${how} during ${failure.mechanism ?? 'SASL'} authentication` }
  if (stage === 'unused' && code === '' && failure.mechanism === undefined) {
    return {
      kind: 'closed',
      reason: `${how} at the first request`,
      advice: 'does this listener want SASL (security.protocol=SASL_PLAINTEXT or SASL_SSL)?',
    }
  }
  return { kind: 'closed', reason: how }
}

function diagnoseTls({ code = '', message, stage, hasClientCertificate, hasTrustStore }: Failure): Diagnosis | undefined {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return {
      kind: 'tls',
      reason: `the broker's certificate is for another host: ${message.replace(/^.*altnames: /s, '')}`,
      advice: 'connect by a name in the certificate, or set ssl.endpoint.identification.algorithm= (empty) to skip this check',
    }
  }
  if (/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/.test(code)) {
    return { kind: 'tls', reason: `the broker's certificate ${code.includes('EXPIRED') ? 'has expired' : 'is not valid yet'}` }
  }
  if (UNTRUSTED.test(code)) {
    const whose = hasTrustStore ? 'by ssl.truststore' : 'by the public authorities, and no ssl.truststore is set'
    return { kind: 'tls', reason: `the broker's certificate is not trusted ${whose}`, advice: TRUST_ADVICE }
  }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST/.test(code)) {
    return {
      kind: 'tls',
      reason: 'the port does not speak TLS',
      advice: 'set security.protocol=PLAINTEXT (or SASL_PLAINTEXT), or give the address of a TLS listener',
    }
  }
  if (/ALERT_CERTIFICATE_REQUIRED/.test(code))
    return { kind: 'tls', reason: 'the broker requires a client certificate', advice: CERTIFICATE_ADVICE }
  if (/ALERT_(BAD_CERTIFICATE|CERTIFICATE|UNKNOWN_CA|UNSUPPORTED_CERTIFICATE|HANDSHAKE_FAILURE)|HANDSHAKE_FAILURE/.test(code)) {
    const reason = hasClientCertificate
      ? 'the broker refuses our client certificate'
      : 'the broker refuses the TLS handshake: it may require a client certificate'
    return { kind: 'tls', reason: `${reason} (${code})`, advice: CERTIFICATE_ADVICE }
  }
  if (/^(ERR_SSL|ERR_TLS|EPROTO)/.test(code)) return { kind: 'tls', reason: `TLS failed: ${code === 'EPROTO' ? lastWords(message) : code}` }
  if (stage === 'connecting' && /^[A-Z_]+$/.test(code) && !/^E[A-Z]+$/.test(code)) {
    return { kind: 'tls', reason: `the broker's certificate is not accepted (${code})` }
  }
  if (stage === 'connecting' && (code === 'ECONNRESET' || code === 'EPIPE' || code === '')) {
    return {
      kind: 'tls',
      reason: 'the port closed the connection during the TLS handshake',
      advice: 'does it speak TLS? If not, set security.protocol=PLAINTEXT (or SASL_PLAINTEXT)',
    }
  }
  // With TLS 1.3 a missing certificate is noticed by the broker only after our side of the handshake is done.
  if (stage === 'negotiating' && !hasClientCertificate) {
    return {
      kind: 'tls',
      reason: 'the broker closed the connection right after the TLS handshake: it may require a client certificate',
      advice: CERTIFICATE_ADVICE,
    }
  }
  return undefined
}

const lastWords = (message: string) => message.trim().split(':').slice(-2).join(': ').trim()

/** What a failed login means; `offered` are the mechanisms the broker listed, if it came to that. */
export function diagnoseLogin(
  sasl: SaslSettings,
  offered: readonly string[] | undefined,
  error: Error,
): { reason: string; advice: string } {
  const { mechanism, username } = sasl
  if (offered?.length === 0) {
    return {
      reason: `the listener does not use SASL (${mechanism} was tried)`,
      advice: 'set security.protocol=PLAINTEXT (or SSL), or use a SASL listener',
    }
  }
  if (offered !== undefined && !offered.includes(mechanism)) {
    return {
      reason: `the broker does not offer ${mechanism}, it offers ${offered.join(', ')}`,
      advice: 'set sasl.mechanism to one that it offers',
    }
  }
  const why = error.message.replace(/^(.*authentication failed: )+/i, '').replace(/^.*SCRAM.*failed: /, '')
  return {
    reason: `${mechanism} authentication of user ${username} failed: ${why}`,
    advice: 'check user name and password in sasl.jaas.config',
  }
}

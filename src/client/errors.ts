import { type BrokerAddress, formatAddress } from './address.js'

/**
 * Why a connection could not be made or was lost.
 * `closed` covers connections ended by either side after they worked; `protocol` an answer that is not Kafka's.
 */
export type ConnectionErrorKind = 'resolve' | 'refused' | 'timeout' | 'tls' | 'authentication' | 'protocol' | 'closed'

export interface ConnectionErrorDetails {
  readonly kind: ConnectionErrorKind
  readonly address: BrokerAddress
  /** What happened, without the address. */
  readonly reason: string
  /** What the user can do about it. */
  readonly advice?: string
  /** Who told us this address, if it isn't a bootstrap address itself. */
  readonly advertisedBy?: AdvertisedBy
  /** The request may have reached the broker, so its effect is unknown. */
  readonly uncertain?: boolean
  readonly cause?: unknown
}

/** An address learnt from metadata rather than typed by the user. */
export interface AdvertisedBy {
  readonly brokerId: number
  readonly bootstrap: string
}

/** A connection failed; the message names the address, who advertised it, and what happened. Never holds a secret. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly kind: ConnectionErrorKind
  readonly address: BrokerAddress
  readonly reason: string
  readonly advice: string | undefined
  readonly advertisedBy: AdvertisedBy | undefined
  readonly uncertain: boolean

  constructor(details: ConnectionErrorDetails) {
    const by = details.advertisedBy
    const where = formatAddress(details.address)
    const whose = by === undefined ? where : `${where}, which broker ${by.brokerId} of ${by.bootstrap} advertises`
    super(`${whose}: ${details.reason}`, { cause: details.cause })
    this.kind = details.kind
    this.address = details.address
    this.reason = details.reason
    this.advice = details.advice
    this.advertisedBy = by
    this.uncertain = details.uncertain ?? false
  }

  /** Whether another attempt may succeed without anyone changing a setting. */
  get retriable(): boolean {
    return this.kind === 'refused' || this.kind === 'timeout' || this.kind === 'closed' || this.kind === 'resolve'
  }

  /** The same failure seen from a request that may have been carried out. */
  asUncertain(): ConnectionError {
    return this.uncertain ? this : new ConnectionError({ ...this.details(), uncertain: true })
  }

  /** What it was made of. */
  details(): ConnectionErrorDetails {
    const { kind, address, reason, advice, advertisedBy, cause } = this
    return { kind, address, reason, advice, advertisedBy, cause }
  }
}

/** The broker speaks no version of an API that we speak. */
export class UnsupportedVersionError extends Error {
  override readonly name = 'UnsupportedVersionError'

  constructor(
    readonly api: string,
    readonly address: BrokerAddress,
    readonly ours: { readonly min: number; readonly max: number },
    /** Absent when the broker doesn't know the API at all. */
    readonly theirs: { readonly min: number; readonly max: number } | undefined,
  ) {
    const broker = theirs === undefined ? 'does not offer it' : `offers versions ${theirs.min} to ${theirs.max}`
    super(`${formatAddress(address)}: ${api} is needed in versions ${ours.min} to ${ours.max}, the broker ${broker}`)
  }
}

/** A client setting that cannot be used; the message is one sentence and never holds a secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'

  constructor(
    readonly key: string,
    message: string,
    /** What the user can do about it, where the message does not say so. */
    readonly advice?: string,
  ) {
    super(message)
  }
}

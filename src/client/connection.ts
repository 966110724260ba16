import {
  type Api,
  ApiVersions,
  decodeResponse,
  encodeRequest,
  type RequestOf,
  type ResponseOf,
  SaslAuthenticate,
} from '../protocol/index.js'
import type { BrokerAddress } from './address.js'
import type { BufferPool } from './buffer-pool.js'
import type { ClientConfig } from './config.js'
import { type AdvertisedBy, ConnectionError, UnsupportedVersionError } from './errors.js'
import { Transport } from './transport.js'

export interface SendOptions {
  /** Milliseconds until the request is given up; default `requestTimeoutMs` of the configuration. */
  readonly timeoutMs?: number
  /** This version and no other. */
  readonly version?: number
  /** The newest version that may be used. */
  readonly maxVersion?: number
}

/** One negotiated, authenticated connection. A broker answers its requests one at a time, in order. */
export interface Connection {
  readonly address: BrokerAddress
  /** Undefined for a bootstrap address, whose broker is unknown. */
  readonly brokerId: number | undefined
  readonly open: boolean
  /** Requests without an answer yet. */
  readonly pending: number
  /**
   * The version requests of this API are sent in: the newest both sides speak.
   *
   * @throws UnsupportedVersionError naming both ranges
   */
  versionOf(api: Api, options?: Pick<SendOptions, 'version' | 'maxVersion'>): number
  /** Whether both sides share a version of this API, optionally one from `minVersion` on. */
  supports(api: Api, minVersion?: number): boolean
  /**
   * Sends one request; calls are written in their order without waiting for answers. Record sets in the request are not
   * copied, those in the response are views into it. Error codes in the response are the caller's.
   * Rejects with {@link ConnectionError} (`uncertain` if the request may have been carried out), UnsupportedVersionError or ProtocolError.
   */
  send<A extends Api>(api: A, request: RequestOf<A>, options?: SendOptions): Promise<ResponseOf<A>>
  /** Calls back once when the connection is over, at once if it is already. */
  onClose(listener: (error: ConnectionError) => void): void
  /** Closes after the requests under way have been answered. */
  retire(): void
  /** Closes at once; requests without an answer are rejected with kind `closed`. */
  close(): Promise<void>
}

export interface OpenOptions {
  /** Instead of the configuration's client id. */
  readonly clientId?: string
  readonly brokerId?: number
  readonly advertisedBy?: AdvertisedBy
  readonly random?: () => number
  /** Where large responses lie; whoever gives it recycles them. */
  readonly buffers?: BufferPool
  /** Gives up connecting. */
  readonly signal?: AbortSignal
}

/** How a connection is opened; replaceable in tests. */
export type Open = (address: BrokerAddress, config: ClientConfig, options?: OpenOptions) => Promise<Connection>

type Ranges = ReadonlyMap<number, { readonly min: number; readonly max: number }>

const UNSUPPORTED_VERSION = 35
const SOFTWARE = { clientSoftwareName: 'kafka-mirrors', clientSoftwareVersion: '0' }

/**
 * Connects to a broker: TCP, TLS, version negotiation, SASL.
 *
 * @throws ConnectionError with kind, address, reason and advice; within `connectionTimeoutMs` per step
 */
export const openConnection: Open = async (address, config, options = {}) => {
  const transport = await Transport.connect({
    address,
    advertisedBy: options.advertisedBy,
    clientId: options.clientId ?? config.clientId,
    tls: config.tls,
    sasl: config.sasl,
    connectionTimeoutMs: config.connectionTimeoutMs,
    random: options.random ?? Math.random,
    buffers: options.buffers,
    signal: options.signal,
  })
  const abort = () => transport.close()
  options.signal?.addEventListener('abort', abort, { once: true })
  try {
    if (options.signal?.aborted) abort()
    const versions = await negotiate(transport, config.connectionTimeoutMs)
    if (config.sasl !== undefined && !versions.has(SaslAuthenticate.key)) {
      throw transport.error({ kind: 'authentication', reason: 'the broker is older than Kafka 1.0 and has no SaslAuthenticate' })
    }
    await transport.authenticate(versions)
    return new NegotiatedConnection(transport, address, options.brokerId, versions, config.requestTimeoutMs)
  } catch (error) {
    const known =
      error instanceof ConnectionError ? error : transport.error({ kind: 'protocol', reason: (error as Error).message, cause: error })
    transport.close(known)
    throw known
  } finally {
    options.signal?.removeEventListener('abort', abort)
  }
}

async function negotiate(transport: Transport, timeoutMs: number): Promise<Ranges> {
  let version = 3
  let body = await askVersions(transport, version, timeoutMs)
  // A broker that doesn't know our version answers in version 0 (KIP-511).
  if (body.length >= 2 && body.readInt16BE(0) === UNSUPPORTED_VERSION) {
    version = 0
    body = await askVersions(transport, version, timeoutMs)
  }
  const response = decodeResponse(ApiVersions, version, body)
  if (response.errorCode !== 0)
    throw transport.error({ kind: 'protocol', reason: `ApiVersions was answered with error ${response.errorCode}` })
  return new Map(response.apiKeys.map(({ apiKey, minVersion, maxVersion }) => [apiKey, { min: minVersion, max: maxVersion }]))
}

function askVersions(transport: Transport, version: number, timeoutMs: number): Promise<Buffer> {
  return transport.request({
    apiKey: ApiVersions.key,
    apiName: ApiVersions.name,
    apiVersion: version,
    flexible: version >= ApiVersions.flexible,
    body: encodeRequest(ApiVersions, version, SOFTWARE),
    timeoutMs,
  })
}

class NegotiatedConnection implements Connection {
  private retiring = false

  constructor(
    private readonly transport: Transport,
    readonly address: BrokerAddress,
    readonly brokerId: number | undefined,
    private readonly versions: Ranges,
    private readonly requestTimeoutMs: number,
  ) {}

  get open(): boolean {
    return this.transport.open && !this.retiring
  }

  get pending(): number {
    return this.transport.pending
  }

  versionOf(api: Api, options: Pick<SendOptions, 'version' | 'maxVersion'> = {}): number {
    const min = options.version ?? api.versions.min
    const max = Math.min(api.versions.max, options.version ?? options.maxVersion ?? api.versions.max)
    const theirs = this.versions.get(api.key)
    const version = Math.min(max, theirs?.max ?? -1)
    if (theirs === undefined || version < min || version < theirs.min) {
      throw new UnsupportedVersionError(api.name, this.address, { min, max }, theirs)
    }
    return version
  }

  supports(api: Api, minVersion = api.versions.min): boolean {
    const theirs = this.versions.get(api.key)
    return theirs !== undefined && Math.min(api.versions.max, theirs.max) >= Math.max(minVersion, theirs.min)
  }

  // Not async up to the transport: calls must be written in their order.
  send<A extends Api>(api: A, request: RequestOf<A>, options: SendOptions = {}): Promise<ResponseOf<A>> {
    try {
      const version = this.versionOf(api, options)
      const flexible = version >= api.flexible
      const sent = this.transport.request({
        apiKey: api.key,
        apiName: api.name,
        apiVersion: version,
        flexible,
        body: encodeRequest(api, version, request),
        timeoutMs: options.timeoutMs ?? this.requestTimeoutMs,
      })
      return sent.then((body) => {
        if (this.retiring && this.transport.pending === 0) this.transport.close()
        return decodeResponse(api, version, flexible ? afterTags(body) : body)
      })
    } catch (error) {
      return Promise.reject(error)
    }
  }

  onClose(listener: (error: ConnectionError) => void): void {
    this.transport.onClose(listener)
  }

  retire(): void {
    this.retiring = true
    if (this.transport.pending === 0) this.transport.close()
  }

  async close(): Promise<void> {
    this.transport.close()
  }
}

/** Skips the tagged fields of response header v1 (KIP-482); ApiVersions alone has header v0 in all versions. */
function afterTags(body: Buffer): Buffer {
  if (body[0] === 0) return body.subarray(1)
  let at = 0
  const uvarint = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = body.readUInt8(at++)
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  for (let left = uvarint(); left > 0; left--) {
    uvarint()
    const size = uvarint()
    at += size
  }
  return body.subarray(at)
}

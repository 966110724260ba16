import type { Socket } from 'node:net'
import KafkajsConnection, { type KafkajsLogger, type KafkajsMessage } from 'kafkajs/src/network/connection.js'
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import type { BrokerAddress } from './address.js'
import type { BufferPool } from './buffer-pool.js'
import type { SaslSettings } from './config.js'
import { FrameReader } from './frames.js'

/**
 * The only door to kafkajs: its network connection carries TCP, TLS, SASL and correlation of requests and replies,
 * and is repaired here where it falls short. `transport.ts` is built on it; messages are ours.
 */

export interface RepairOptions {
  readonly address: BrokerAddress
  readonly clientId: string
  readonly sasl?: SaslSettings
  readonly connectionTimeoutMs: number
  readonly buffers?: BufferPool | undefined
}

export interface RepairHooks {
  openSocket(onConnect: () => void): Socket
  onFrame(frame: Buffer): void
  onLost(error: Error): void
}

/** kafkajs' network connection with our framing, sockets and errors. */
export class RepairedConnection extends KafkajsConnection {
  /** Mechanisms the broker listed in its last answer to SaslHandshake. */
  offeredMechanisms: readonly string[] | undefined
  private readonly frames: FrameReader

  constructor(
    options: RepairOptions,
    private readonly hooks: RepairHooks,
  ) {
    super({
      host: options.address.host,
      port: options.address.port,
      clientId: options.clientId,
      logger: SILENT,
      socketFactory: ({ onConnect }) => hooks.openSocket(onConnect),
      sasl:
        options.sasl === undefined
          ? null
          : { mechanism: options.sasl.mechanism, username: options.sasl.username, password: options.sasl.password.reveal() },
      connectionTimeout: options.connectionTimeoutMs,
      requestTimeout: options.connectionTimeoutMs,
    })
    this.requestQueue = new RepairedQueue(options)
    this.frames = new FrameReader((frame) => hooks.onFrame(frame), options.buffers)
    // SaslAuthenticate (KIP-152) exists since Kafka 1.0: errors come with a text instead of a closed socket.
    this.setSupportAuthenticationProtocol(true)
  }

  /** Logs in again even though kafkajs may think the session still holds. */
  async login(): Promise<void> {
    this.authenticatedAt = null
    await this.authenticate()
  }

  /** Keeps what the broker offers, which kafkajs drops when the mechanism is refused. */
  override send(message: KafkajsMessage): Promise<unknown> {
    if (message.request.apiName !== 'SaslHandshake') return super.send(message)
    const parse = (data: { enabledMechanisms: string[] }) => {
      this.offeredMechanisms = data.enabledMechanisms
      return message.response.parse(data)
    }
    return super.send({ ...message, response: { ...message.response, parse } })
  }

  /** kafkajs joins all chunks again at each new one, and keeps them: quadratic for responses of megabytes. */
  override processData(chunk: Buffer): void {
    try {
      this.frames.push(chunk)
    } catch (error) {
      this.hooks.onLost(error as Error)
    }
  }

  readTarget(): Buffer | undefined {
    return this.frames.target
  }

  override rejectRequests(error: Error): void {
    this.hooks.onLost(error)
  }

  /** kafkajs waits for pending requests, then half-closes and leaves the socket to the other side. */
  override async disconnect(): Promise<boolean> {
    this.connectionStatus = 'disconnected'
    this.authenticatedAt = null
    this.socket?.destroy()
    return true
  }
}

/** kafkajs' request queue without its timers; nothing ever waits in it. */
export class RepairedQueue extends RequestQueue {
  private readonly abandoned = new Set<number>()

  constructor(options: RepairOptions) {
    super({
      maxInFlightRequests: null,
      requestTimeout: options.connectionTimeoutMs,
      enforceRequestTimeout: false,
      clientId: options.clientId,
      broker: '',
      logger: SILENT,
      isConnected: () => true,
    })
  }

  /** Each request has its own timer here: kafkajs polls all of them ten times a second, on idle connections too. */
  override scheduleRequestTimeoutCheck(): void {}

  /** Nothing ever waits in kafkajs' queue; its check would rearm a 1 ms timer for ever, 870 wake-ups a second. */
  override scheduleCheckPendingRequests(): void {}

  /** Throttling (KIP-219) is left to the broker, which mutes the connection itself. */
  override maybeThrottle(): void {}

  expects(correlationId: number): boolean {
    return this.inflight.has(correlationId)
  }

  /** Rejects one request; its late answer is still recognised and dropped. */
  abandon(correlationId: number, error: Error): void {
    const request = this.inflight.get(correlationId)
    if (request === undefined) return
    this.inflight.delete(correlationId)
    this.abandoned.add(correlationId)
    request.rejected(error)
  }

  /** Whether the answer belongs to an abandoned request; each is forgotten once. */
  forget(correlationId: number): boolean {
    return this.abandoned.delete(correlationId)
  }
}

/** kafkajs logs every lost connection as an error; ours are values. */
const SILENT: KafkajsLogger = { namespace: () => SILENT, debug() {}, info() {}, warn() {}, error() {} }

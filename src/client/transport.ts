import type { Socket } from 'node:net'
import type { BrokerAddress } from './address.js'
import type { BufferPool } from './buffer-pool.js'
import type { SaslSettings } from './config.js'
import { diagnose, diagnoseLogin, type Stage } from './diagnose.js'
import { type AdvertisedBy, ConnectionError, type ConnectionErrorDetails } from './errors.js'
import { FrameError } from './frames.js'
import { RepairedConnection, type RepairedQueue } from './kafkajs.js'
import { requestHeader } from './request-header.js'
import { openSocket } from './socket.js'
import type { TlsSettings } from './tls.js'

/** Above this many unsent bytes, requests wait for the socket to drain. */
const HIGH_WATER_BYTES = 1024 * 1024

export interface TransportOptions {
  readonly address: BrokerAddress
  readonly advertisedBy?: AdvertisedBy
  readonly clientId: string
  readonly tls?: TlsSettings
  readonly sasl?: SaslSettings
  /** For TCP and TLS together, and again for each SASL exchange; milliseconds. */
  readonly connectionTimeoutMs: number
  /** 0 … 1; spreads re-authentication of many connections. */
  readonly random: () => number
  readonly buffers?: BufferPool | undefined
  /** Ends the attempt to connect. */
  readonly signal?: AbortSignal | undefined
}

export interface TransportRequest {
  readonly apiKey: number
  readonly apiName: string
  readonly apiVersion: number
  /** Whether the header carries tagged fields (KIP-482). */
  readonly flexible: boolean
  readonly body: readonly Buffer[]
  readonly timeoutMs: number
}

interface Waiting {
  readonly request: TransportRequest
  readonly correlationId: number
  readonly frame: Buffer[]
  readonly timer: NodeJS.Timeout
  readonly resolve: (body: Buffer) => void
  readonly reject: (error: Error) => void
}

/** One TCP or TLS connection to a broker. Requests are written in the order of the calls. */
export class Transport {
  private readonly connection: RepairedConnection
  private readonly queue: RepairedQueue
  private readonly outbox: Waiting[] = []
  private readonly closeListeners: Array<(error: ConnectionError) => void> = []
  private socket: Socket | undefined
  private socketError: NodeJS.ErrnoException | undefined
  private stage: Stage = 'connecting'
  private authenticating = false
  private failure: ConnectionError | undefined
  private inFlight = 0
  /** When the SASL session is to be renewed, on the clock of performance.now(). */
  private renewAt: number | undefined

  private constructor(private readonly options: TransportOptions) {
    this.connection = new RepairedConnection(options, {
      openSocket: (onConnect) => this.openSocket(onConnect),
      onFrame: (frame) => this.received(frame),
      onLost: (error) => this.lost(error),
    })
    this.queue = this.connection.requestQueue as RepairedQueue
  }

  /** @throws ConnectionError */
  static async connect(options: TransportOptions): Promise<Transport> {
    const transport = new Transport(options)
    const abort = () => transport.close()
    options.signal?.addEventListener('abort', abort, { once: true })
    try {
      // kafkajs settles its promise on an error of the socket only.
      await Promise.race([transport.connection.connect(), new Promise((_, reject) => transport.onClose(reject))])
    } catch (error) {
      transport.lost(error as Error)
      throw transport.failure!
    } finally {
      options.signal?.removeEventListener('abort', abort)
    }
    transport.stage = 'negotiating'
    return transport
  }

  get open(): boolean {
    return this.failure === undefined
  }

  /** Requests without an answer yet. */
  get pending(): number {
    return this.outbox.length + this.inFlight
  }

  /** Calls back once when the connection is over; at once if it is already. */
  onClose(listener: (error: ConnectionError) => void): void {
    if (this.failure !== undefined) listener(this.failure)
    else this.closeListeners.push(listener)
  }

  /**
   * Sends a request and gives the response after its correlation id. Buffers of the body are written as they are.
   * Rejects with a {@link ConnectionError} when the connection ends or the time is up; a late answer is dropped then.
   */
  request(request: TransportRequest): Promise<Buffer> {
    if (this.failure !== undefined) return Promise.reject(this.failure)
    return new Promise((resolve, reject) => {
      const correlationId = this.connection.nextCorrelationId()
      const frame = [requestHeader(request, correlationId, this.options.clientId), ...request.body]
      const timer = setTimeout(() => this.timedOut(waiting), request.timeoutMs)
      const waiting: Waiting = { request, correlationId, frame, timer, resolve, reject }
      this.outbox.push(waiting)
      this.pump()
    })
  }

  /**
   * SASL, if configured; afterwards sessions are renewed before the first request after three quarters of their lifetime (KIP-368).
   *
   * @param versions what the broker offers, by API key
   * @throws ConnectionError of kind `authentication`
   */
  async authenticate(versions: ReadonlyMap<number, { readonly min: number; readonly max: number }>): Promise<void> {
    if (this.options.sasl !== undefined) {
      this.stage = 'authenticating'
      this.connection.setVersions(
        Object.fromEntries([...versions].map(([key, { min, max }]) => [key, { minVersion: min, maxVersion: max }])),
      )
      await this.login()
      if (this.failure !== undefined) throw this.failure
    }
    this.stage = 'unused'
  }

  /** Ends the connection at once; requests without an answer are rejected. */
  close(error: ConnectionError = this.error({ kind: 'closed', reason: 'the connection was closed' })): void {
    if (this.failure !== undefined) return
    this.failure = error
    for (const { timer, reject } of this.outbox.splice(0)) {
      clearTimeout(timer)
      reject(error)
    }
    this.queue.rejectAll(error.asUncertain())
    // While connecting, only an error makes kafkajs clear its connection timer.
    if (this.stage === 'connecting') this.socket?.destroy(error)
    void this.connection.disconnect()
    for (const listener of this.closeListeners.splice(0)) listener(error)
  }

  /** An error about this connection's address. */
  error(details: Omit<ConnectionErrorDetails, 'address' | 'advertisedBy'>): ConnectionError {
    return new ConnectionError({ ...details, address: this.options.address, advertisedBy: this.options.advertisedBy })
  }

  private openSocket(onConnect: () => void): Socket {
    const socket = openSocket(this.options, onConnect, this.connection)
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.socketError ??= error
    })
    socket.on('drain', () => this.pump())
    // kafkajs listens to 'end' and 'error' only; a reset connection may give neither.
    socket.on('close', () => this.lost(undefined))
    this.socket = socket
    return socket
  }

  /** Writes what waits, in order, unless the session must be renewed or the socket drained first. */
  private pump(): void {
    while (this.outbox.length > 0 && !this.authenticating && this.failure === undefined) {
      if ((this.stage === 'used' || this.stage === 'unused') && this.sessionEnds()) {
        void this.login()
        return
      }
      if (this.socket!.writableNeedDrain && this.socket!.writableLength >= HIGH_WATER_BYTES) return
      this.write(this.outbox.shift()!)
    }
  }

  private write(waiting: Waiting): void {
    const { request, correlationId, frame, timer } = waiting
    const settled = () => {
      clearTimeout(timer)
      this.inFlight--
    }
    this.inFlight++
    this.queue.push({
      entry: {
        apiKey: request.apiKey,
        apiName: request.apiName,
        apiVersion: request.apiVersion,
        correlationId,
        resolve: ({ payload }) => {
          settled()
          if (this.stage === 'unused') this.stage = 'used'
          waiting.resolve(payload)
        },
        reject: (error) => {
          settled()
          waiting.reject(error)
        },
      },
      expectResponse: true,
      requestTimeout: null,
      // kafkajs encodes a request into one buffer; record sets of megabytes are handed to the kernel where they lie instead.
      sendRequest: () => {
        const socket = this.socket!
        socket.cork()
        for (const part of frame) socket.write(part)
        socket.uncork()
      },
    })
  }

  private timedOut(waiting: Waiting): void {
    const reason = `no answer to ${waiting.request.apiName} within ${waiting.request.timeoutMs} ms`
    const queued = this.outbox.indexOf(waiting)
    if (queued >= 0) {
      this.outbox.splice(queued, 1)
      waiting.reject(this.error({ kind: 'timeout', reason }))
      return
    }
    this.queue.abandon(waiting.correlationId, this.error({ kind: 'timeout', reason, uncertain: true }))
  }

  private received(frame: Buffer): void {
    const correlationId = frame.readInt32BE(0)
    if (this.queue.expects(correlationId)) {
      this.queue.fulfillRequest({ correlationId, payload: frame.subarray(4), size: frame.length })
    } else if (!this.queue.forget(correlationId)) {
      this.close(
        this.error({ kind: 'protocol', reason: `an answer came to a request that was never sent (correlation id ${correlationId})` }),
      )
    }
  }

  private sessionEnds(): boolean {
    return this.renewAt !== undefined && performance.now() >= this.renewAt
  }

  /** One SASL exchange. Never rejects: a failure closes the connection. */
  private async login(): Promise<void> {
    this.authenticating = true
    const { mechanism } = this.options.sasl!
    const limit = this.options.connectionTimeoutMs
    const timer = setTimeout(
      () => this.close(this.error({ kind: 'timeout', reason: `no answer to ${mechanism} authentication within ${limit} ms` })),
      limit,
    )
    try {
      await this.connection.login()
      // Java's clients renew after 85 to 95 %; requests queued behind a slow one are given more time here. kafkajs itself
      // renews 10 s before the end, which for short sessions means before every request.
      const lifetime = this.connection.sessionLifetime.toNumber()
      this.renewAt = lifetime === 0 ? undefined : performance.now() + lifetime * (0.75 + 0.1 * this.options.random())
    } catch (error) {
      this.close(
        this.error({
          kind: 'authentication',
          ...diagnoseLogin(this.options.sasl!, this.connection.offeredMechanisms, error as Error),
          cause: error,
        }),
      )
    } finally {
      clearTimeout(timer)
      this.authenticating = false
    }
    this.pump()
  }

  private lost(error: Error | undefined): void {
    if (this.failure !== undefined) return
    const { tls, sasl, connectionTimeoutMs } = this.options
    if (error instanceof FrameError) {
      this.close(this.error({ kind: 'protocol', reason: error.message, advice: error.advice }))
      return
    }
    const code = this.socketError?.code
    if (this.stage === 'connecting' && code === undefined && error?.message === 'Connection timeout') {
      const what = tls === undefined || this.socket?.connecting ? 'no connection' : 'no TLS handshake'
      this.close(this.error({ kind: 'timeout', reason: `${what} within ${connectionTimeoutMs} ms` }))
      return
    }
    const diagnosis = diagnose({
      stage: this.stage,
      code,
      message: this.socketError?.message ?? '',
      secure: tls !== undefined,
      hasClientCertificate: tls?.hasClientCertificate ?? false,
      hasTrustStore: tls?.hasTrustStore ?? false,
      mechanism: sasl?.mechanism,
    })
    this.close(this.error({ ...diagnosis, cause: this.socketError }))
  }
}

import type { Socket } from 'node:net'
import { FrameSplitter } from './proxy-frames.js'

type Direction = 'requests' | 'answers'

/** What becomes of an answer: forwarded, swallowed, or swallowed with the connection cut. */
export type Verdict = 'forward' | 'drop' | 'cut'

/** Decides about the answer to a request with this api key, once the broker has carried the request out. */
export type Judge = (apiKey: number, connection: ProxiedConnection) => Verdict

export interface ProxiedRequest {
  readonly apiKey: number
  readonly clientId: string
}

/**
 * Decides about a request before the broker sees it: forwarded, or held back while the client's side is cut, as if it were
 * stuck on the way. {@link ProxiedConnection.deliverLate} lets the broker have it in the end.
 */
export type Gate = (request: ProxiedRequest, connection: ProxiedConnection) => 'forward' | 'hold'

/** A request that was held back, with the broker's answer to it once it was delivered. */
export interface LateRequest {
  readonly apiKey: number
  readonly apiVersion: number
  /** The answer's frame behind the correlation id. */
  readonly answer: Buffer
}

/** What a proxy does to all of its connections at the moment. */
export interface Faults {
  readonly judge: Judge | undefined
  readonly gate: Gate | undefined
  readonly delayMs: number
}

/** One client's connection through the faults. */
export class ProxiedConnection {
  readonly client: Socket
  readonly broker: Socket
  readonly #stalled = new Set<Direction>()
  readonly #waiting: Record<Direction, Buffer[]> = { requests: [], answers: [] }
  readonly #apiKeys = new Map<number, number>()
  #late: { readonly frame: Buffer; answered?: (frame: Buffer) => void } | undefined

  constructor(client: Socket, broker: Socket, faults: Faults) {
    this.client = client
    this.broker = broker
    const requests = new FrameSplitter()
    const answers = new FrameSplitter()
    // From its beginning or not at all: later a frame may have begun.
    const framed = faults.judge !== undefined || faults.gate !== undefined
    client.on('data', (chunk) => {
      if (!framed) return this.#pass('requests', chunk, faults.delayMs)
      for (const frame of requests.add(chunk)) this.#requested(frame, faults)
    })
    broker.on('data', (chunk) => {
      if (!framed) return this.#pass('answers', chunk, faults.delayMs)
      for (const frame of answers.add(chunk)) this.#judged(frame, faults)
    })
    for (const socket of [client, broker]) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => this.cut())
    }
  }

  /** Ends both sides at once (RST), save the broker's where a request is still to be delivered. */
  cut(): void {
    this.client.resetAndDestroy()
    if (this.#late === undefined) this.broker.resetAndDestroy()
  }

  /** True while a request is held back. */
  get isLate(): boolean {
    return this.#late !== undefined && !this.broker.destroyed
  }

  /** Lets the broker have the request that was held back, and ends the connection after the answer. */
  async deliverLate(): Promise<LateRequest> {
    const late = this.#late
    if (late === undefined) throw new Error('No request of this connection is held back')
    const answer = await new Promise<Buffer>((resolve, reject) => {
      late.answered = resolve
      this.broker.once('close', () => reject(new Error('The broker closed the connection of a late request')))
      this.broker.write(late.frame)
    })
    this.broker.destroy()
    return { apiKey: late.frame.readInt16BE(4), apiVersion: late.frame.readInt16BE(6), answer: answer.subarray(8) }
  }

  /** Holds back what comes from now on, with the connection left open: half-open to whoever waits. */
  stall(...directions: Direction[]): void {
    for (const direction of directions.length > 0 ? directions : (['requests', 'answers'] as const)) this.#stalled.add(direction)
  }

  /** Lets everything go on that was held back. */
  resume(): void {
    this.#stalled.clear()
    for (const direction of ['requests', 'answers'] as const) {
      for (const chunk of this.#waiting[direction].splice(0)) this.#write(direction, chunk)
    }
  }

  #requested(frame: Buffer, faults: Faults): void {
    if (this.#late !== undefined) return
    const apiKey = frame.readInt16BE(4)
    this.#apiKeys.set(frame.readInt32BE(8), apiKey)
    const clientId = frame.toString('utf8', 14, 14 + frame.readInt16BE(12))
    if ((faults.gate?.({ apiKey, clientId }, this) ?? 'forward') === 'forward') this.#pass('requests', frame, faults.delayMs)
    else {
      this.#late = { frame }
      this.cut()
    }
  }

  #judged(frame: Buffer, faults: Faults): void {
    const correlationId = frame.readInt32BE(4)
    if (this.#late?.frame.readInt32BE(8) === correlationId) {
      this.#late.answered?.(frame)
      return
    }
    const apiKey = this.#apiKeys.get(correlationId) ?? -1
    this.#apiKeys.delete(correlationId)
    const verdict = faults.judge?.(apiKey, this) ?? 'forward'
    if (verdict === 'forward') this.#pass('answers', frame, faults.delayMs)
    else if (verdict === 'cut') this.cut()
  }

  #pass(direction: Direction, chunk: Buffer, delayMs: number): void {
    // Timers of equal length fire in the order they were set, so the stream stays in order.
    if (delayMs > 0) setTimeout(() => this.#pass(direction, chunk, 0), delayMs)
    else if (this.#stalled.has(direction)) this.#waiting[direction].push(chunk)
    else this.#write(direction, chunk)
  }

  #write(direction: Direction, chunk: Buffer): void {
    const [to, from] = direction === 'requests' ? [this.broker, this.client] : [this.client, this.broker]
    if (to.destroyed || to.write(chunk)) return
    from.pause()
    to.once('drain', () => from.resume())
  }
}

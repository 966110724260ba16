import type { Socket } from 'node:net'
import { FrameSplitter } from './proxy-frames.js'

type Direction = 'requests' | 'answers'

/** What becomes of an answer: forwarded, swallowed, or swallowed with the connection cut. */
export type Verdict = 'forward' | 'drop' | 'cut'

/** Decides about the answer to a request with this api key, once the broker has carried the request out. */
export type Judge = (apiKey: number, connection: ProxiedConnection) => Verdict

/** What a proxy does to all of its connections at the moment. */
export interface Faults {
  readonly judge: Judge | undefined
  readonly delayMs: number
}

/** One client's connection through the faults. */
export class ProxiedConnection {
  readonly client: Socket
  readonly broker: Socket
  readonly #stalled = new Set<Direction>()
  readonly #waiting: Record<Direction, Buffer[]> = { requests: [], answers: [] }
  readonly #apiKeys = new Map<number, number>()

  constructor(client: Socket, broker: Socket, faults: Faults) {
    this.client = client
    this.broker = broker
    const requests = new FrameSplitter()
    const answers = new FrameSplitter()
    client.on('data', (chunk) => {
      if (faults.judge) for (const frame of requests.add(chunk)) this.#apiKeys.set(frame.readInt32BE(8), frame.readInt16BE(4))
      this.#pass('requests', chunk, faults.delayMs)
    })
    broker.on('data', (chunk) => {
      if (!faults.judge) return this.#pass('answers', chunk, faults.delayMs)
      for (const frame of answers.add(chunk)) this.#judged(frame, faults)
    })
    for (const socket of [client, broker]) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => this.cut())
    }
  }

  /** Ends both sides at once (RST). */
  cut(): void {
    this.client.resetAndDestroy()
    this.broker.resetAndDestroy()
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

  #judged(frame: Buffer, faults: Faults): void {
    const correlationId = frame.readInt32BE(4)
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

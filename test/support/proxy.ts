import { connect, createServer, type Server, type Socket } from 'node:net'
import type { BrokerOptions, KafkaBroker } from '../../src/playground/kafka-broker.js'
import { freePorts } from '../../src/playground/ports.js'
import { startTestBroker } from './brokers.js'
import { FrameSplitter } from './proxy-frames.js'

type Direction = 'requests' | 'answers'

/** What becomes of an answer: forwarded, swallowed, or swallowed with the connection cut. */
export type Verdict = 'forward' | 'drop' | 'cut'

/** Decides about the answer to a request with this api key, once the broker has carried the request out. */
export type Judge = (apiKey: number, connection: ProxiedConnection) => Verdict

/** One client's connection through the proxy. */
export class ProxiedConnection {
  readonly client: Socket
  readonly broker: Socket
  readonly #stalled = new Set<Direction>()
  readonly #waiting: Record<Direction, Buffer[]> = { requests: [], answers: [] }
  readonly #apiKeys = new Map<number, number>()

  constructor(client: Socket, broker: Socket, proxy: TcpProxy) {
    this.client = client
    this.broker = broker
    const requests = new FrameSplitter()
    const answers = new FrameSplitter()
    client.on('data', (chunk) => {
      if (proxy.judge) for (const frame of requests.add(chunk)) this.#apiKeys.set(frame.readInt32BE(8), frame.readInt16BE(4))
      this.#pass('requests', chunk, proxy.delayMs)
    })
    broker.on('data', (chunk) => {
      if (!proxy.judge) return this.#pass('answers', chunk, proxy.delayMs)
      for (const frame of answers.add(chunk)) this.#judged(frame, proxy)
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

  #judged(frame: Buffer, proxy: TcpProxy): void {
    const correlationId = frame.readInt32BE(4)
    const apiKey = this.#apiKeys.get(correlationId) ?? -1
    this.#apiKeys.delete(correlationId)
    const verdict = proxy.judge?.(apiKey, this) ?? 'forward'
    if (verdict === 'forward') this.#pass('answers', frame, proxy.delayMs)
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

/** A TCP proxy in front of one broker listener whose faults a test switches on and off. It rewrites nothing. */
export class TcpProxy {
  readonly port: number
  /** Where connections go; set once the broker's port is known. */
  target: { host: string; port: number } | undefined
  /** Everything is forwarded this much later, in both directions. Change it only while nothing is under way. */
  delayMs = 0
  /** Decides about every answer of connections made after it was set. Plain text only: the proxy reads frames for it. */
  judge: Judge | undefined
  /** All connections ever accepted. */
  accepted = 0
  readonly connections = new Set<ProxiedConnection>()
  #server: Server | undefined
  #stalled = false

  private constructor(port: number) {
    this.port = port
  }

  static async listen(target?: { host: string; port: number }): Promise<TcpProxy> {
    const [port] = await freePorts(1)
    const proxy = new TcpProxy(port!)
    proxy.target = target
    await proxy.open()
    return proxy
  }

  /** `host:port` for clients. */
  get address(): string {
    return `127.0.0.1:${this.port}`
  }

  /** Listens (again, after `refuse`). */
  open(): Promise<void> {
    if (this.#server) return Promise.resolve()
    const server = createServer((client) => this.#accept(client))
    this.#server = server
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.port, '127.0.0.1', () => resolve())
    })
  }

  /** Cuts everything, and new connections are refused until `open`. */
  async refuse(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    this.cut()
    if (server) await new Promise((resolve) => server.close(resolve))
  }

  /** Cuts all connections; new ones are accepted. */
  cut(): void {
    for (const connection of this.connections) connection.cut()
  }

  /** Stalls all connections, new ones too, until `resume`. */
  stall(): void {
    this.#stalled = true
    for (const connection of this.connections) connection.stall()
  }

  resume(): void {
    this.#stalled = false
    for (const connection of this.connections) connection.resume()
  }

  async close(): Promise<void> {
    await this.refuse()
  }

  #accept(client: Socket): void {
    this.accepted++
    if (!this.target) {
      client.destroy()
      return
    }
    const connection = new ProxiedConnection(client, connect(this.target), this)
    if (this.#stalled) connection.stall()
    this.connections.add(connection)
    client.on('close', () => this.connections.delete(connection))
  }
}

export interface ProxiedBroker {
  readonly broker: KafkaBroker
  readonly proxy: TcpProxy
  /** The way through the proxy: the broker advertises it to whoever comes through it. */
  readonly bootstrap: string
  /** The way around the proxy. */
  readonly direct: string
  close(): Promise<void>
}

/** A broker with two ways to it: directly, and through a proxy that it advertises there. */
export async function startProxiedBroker(options: Partial<BrokerOptions> = {}): Promise<ProxiedBroker> {
  const proxy = await TcpProxy.listen()
  try {
    const broker = await startTestBroker({
      ...options,
      listeners: [
        { name: 'DIRECT', protocol: 'PLAINTEXT' },
        { name: 'PROXIED', protocol: 'PLAINTEXT', advertised: proxy.address },
      ],
    })
    proxy.target = broker.listeners[1]
    const close = async () => {
      await Promise.all([proxy.close(), broker.close()])
    }
    return { broker, proxy, bootstrap: proxy.address, direct: broker.bootstrap, close }
  } catch (error) {
    await proxy.close()
    throw error
  }
}

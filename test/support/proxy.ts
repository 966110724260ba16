import { connect, createServer, type Server, type Socket } from 'node:net'
import type { BrokerOptions, KafkaBroker } from '../../src/playground/kafka-broker.js'
import { freePorts } from '../../src/playground/ports.js'
import { startTestBroker } from './brokers.js'
import { type Gate, type Judge, ProxiedConnection } from './proxied-connection.js'

export { type Gate, type Judge, type LateRequest, ProxiedConnection, type ProxiedRequest, type Verdict } from './proxied-connection.js'

/** A TCP proxy in front of one broker listener whose faults a test switches on and off. It rewrites nothing. */
export class TcpProxy {
  readonly port: number
  /** Where connections go; set once the broker's port is known. */
  target: { host: string; port: number } | undefined
  /** Everything is forwarded this much later, in both directions. Change it only while nothing is under way. */
  delayMs = 0
  /**
   * Decides about every answer, on connections made while a judge or a gate was set: from then on both may be exchanged at any
   * time. Plain text only, since the proxy reads frames for it.
   */
  judge: Judge | undefined
  /** Decides about every request, on the same terms. */
  gate: Gate | undefined
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

  /** Connections with a request that is held back. */
  get late(): ProxiedConnection[] {
    return [...this.connections].filter(({ isLate }) => isLate)
  }

  resume(): void {
    this.#stalled = false
    for (const connection of this.connections) connection.resume()
  }

  async close(): Promise<void> {
    await this.refuse()
    for (const { broker } of this.late) broker.destroy()
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
    client.on('close', () => {
      if (!connection.isLate) this.connections.delete(connection)
    })
    connection.broker.on('close', () => this.connections.delete(connection))
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

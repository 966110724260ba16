import { type ChildProcess, spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { probeCluster } from './broker-probe.js'
import type { BoundListener } from './broker-settings.js'
import { LogTail } from './log-tail.js'
import { exitOf, Watchdog } from './process.js'

/** How one node is started. */
export interface BrokerProcessOptions {
  readonly version: string
  readonly nodeId: number
  readonly clusterId: string
  readonly dataDir: string
  /** Whether `close` deletes the folder. */
  readonly ownsDataDir: boolean
  readonly listeners: readonly BoundListener[]
  readonly command: string
  readonly args: readonly string[]
  readonly startTimeoutMs: number
}

/** One KRaft node (broker and controller) as a child process that can't outlive us. */
export class KafkaBroker {
  readonly version: string
  readonly nodeId: number
  readonly clusterId: string
  readonly dataDir: string
  readonly listeners: readonly BoundListener[]
  readonly #tail = new LogTail(200)
  readonly #options: BrokerProcessOptions
  #child: ChildProcess | undefined
  readonly #watchdog: Watchdog

  constructor(options: BrokerProcessOptions) {
    this.version = options.version
    this.nodeId = options.nodeId
    this.clusterId = options.clusterId
    this.dataDir = options.dataDir
    this.listeners = options.listeners
    this.#options = options
    this.#watchdog = new Watchdog(options.ownsDataDir ? options.dataDir : '')
  }

  /** `host:port` of the first listener. */
  get bootstrap(): string {
    return this.listener()
  }

  get port(): number {
    return this.listeners[0]!.port
  }

  get pid(): number | undefined {
    return this.running ? this.#child?.pid : undefined
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** What clients of a listener (default: the first) use as bootstrap: what it advertises. */
  listener(name = this.listeners[0]!.name): string {
    const found = this.listeners.find((listener) => listener.name === name)
    if (!found) throw new Error(`The broker has no listener ${name}`)
    return found.advertised ?? `${found.host}:${found.port}`
  }

  /** The last lines that the broker printed. */
  log(): string {
    return this.#tail.text()
  }

  /**
   * Starts the process on its folder, with the ports it had before.
   *
   * @throws Error with the last lines of the log when it ends early or is not ready in time.
   */
  async start(brokersWanted = 1): Promise<void> {
    if (this.running) return
    this.#tail.clear()
    const child = spawn(this.#options.command, this.#options.args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.#tail.add(text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.#tail.add(text))
    child.on('error', (error) => this.#tail.add(`${error.message}\n`))
    this.#watchdog.watch(child)
    await this.#ready(brokersWanted)
  }

  async #ready(brokersWanted: number): Promise<void> {
    const { host, port } = this.listeners[0]!
    const deadline = Date.now() + this.#options.startTimeoutMs
    for (;;) {
      const answer = await probeCluster(host, port)
      // Somebody else's broker may be on a port that ours is about to fail to bind.
      if (this.running && answer?.clusterId === this.clusterId && answer.brokers >= brokersWanted) return
      if (!this.running || this.#child?.pid === undefined)
        throw new Error(`The Kafka ${this.version} broker ended at its start:\n${this.log()}`)
      if (Date.now() > deadline) {
        await this.kill()
        throw new Error(`The Kafka ${this.version} broker was not ready within ${this.#options.startTimeoutMs} ms:\n${this.log()}`)
      }
      await pause(50)
    }
  }

  /** Sends a signal and, unless the signal only stops or continues the process, waits for its end. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child
    if (!child || !this.running) return
    child.kill(signal)
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await exitOf(child)
  }

  /** Shuts down in order; after `withinMs` by force. The data stays. */
  async stop(withinMs = 20_000): Promise<void> {
    const child = this.#child
    if (!child || !this.running) return
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), withinMs)
    await exitOf(child)
    clearTimeout(timer)
  }

  async restart(): Promise<void> {
    await this.stop()
    await this.start()
  }

  /** Ends the process at once and deletes its data, unless the folder was given. */
  async close(): Promise<void> {
    await this.kill()
    this.#watchdog.release()
    if (this.#options.ownsDataDir) await rm(this.dataDir, { recursive: true, force: true, maxRetries: 3 })
  }
}

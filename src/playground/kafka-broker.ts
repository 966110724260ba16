import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { liveBrokers } from './broker-probe.js'
import { type BoundListener, brokerProperties, type Listener, propertiesText } from './broker-settings.js'
import { findJava } from './java.js'
import { type KafkaJars, kafkaJars } from './kafka-jars.js'
import { LogTail } from './log-tail.js'
import { freePorts } from './ports.js'
import { exitOf, runCommand, Watchdog } from './process.js'

export interface BrokerOptions {
  /** Kafka version; the one found in KAFKA_HOME wins when `env` has it. */
  readonly version: string
  readonly nodeId?: number
  /** Port of the first listener. Default: a free one. */
  readonly port?: number
  /** Default: one PLAINTEXT listener on 127.0.0.1. The first must be PLAINTEXT: it is the one that is probed. */
  readonly listeners?: readonly Listener[]
  /** Broker settings over the defaults of this module. */
  readonly properties?: Readonly<Record<string, string>>
  /** Java heap in MiB. */
  readonly heapMb?: number
  /** Start quickly with Java's first compiler only (default), or run at full speed later (benchmarks). */
  readonly tuneFor?: 'start' | 'speed'
  /** Default: a folder of its own under the system's temporary one, deleted by `close`. A given one is kept. */
  readonly dataDir?: string
  /** SCRAM credentials made while formatting (3.5 and newer): `SCRAM-SHA-256=[name=alice,password=secret]`. */
  readonly scram?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly onProgress?: (line: string) => void
  /** Ends the fetching of jars. */
  readonly signal?: AbortSignal
  /** How long a start may take. Default: one minute. */
  readonly startTimeoutMs?: number
}

/** What the nodes of one cluster share. */
export interface ClusterIdentity {
  readonly clusterId: string
  readonly controllers: ReadonlyMap<number, number>
}

/** Cluster ids are random uuids in Kafka's 22-character form. */
export function newClusterId(): string {
  const id = randomBytes(16).toString('base64url')
  // A leading hyphen would be read as an option by Kafka's tools.
  return id.startsWith('-') ? newClusterId() : id
}

/** One KRaft node (broker and controller) as a child process that can't outlive us. */
export class KafkaBroker {
  readonly version: string
  readonly nodeId: number
  readonly clusterId: string
  readonly dataDir: string
  readonly listeners: readonly BoundListener[]
  readonly #tail = new LogTail(200)
  readonly #start: { command: string; args: string[] }
  readonly #ownsDataDir: boolean
  readonly #startTimeoutMs: number
  #child: ChildProcess | undefined
  readonly #watchdog: Watchdog

  constructor(options: BrokerOptions, place: Place, identity: ClusterIdentity, command: string, jars: KafkaJars) {
    this.version = jars.version
    this.nodeId = options.nodeId ?? 1
    this.clusterId = identity.clusterId
    this.dataDir = place.dataDir
    this.listeners = place.listeners
    this.#ownsDataDir = options.dataDir === undefined
    this.#startTimeoutMs = options.startTimeoutMs ?? 60_000
    this.#watchdog = new Watchdog(this.#ownsDataDir ? place.dataDir : '')
    this.#start = { command, args: [...javaFlags(options, place.dataDir), '-cp', jars.classpath, 'kafka.Kafka', place.configFile] }
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
    const child = spawn(this.#start.command, this.#start.args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.#tail.add(text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.#tail.add(text))
    child.on('error', (error) => this.#tail.add(`${error.message}\n`))
    this.#watchdog.watch(child)
    await this.#ready(brokersWanted)
  }

  async #ready(brokersWanted: number): Promise<void> {
    const { host, port } = this.listeners[0]!
    const deadline = Date.now() + this.#startTimeoutMs
    while ((await liveBrokers(host, port)) < brokersWanted) {
      if (!this.running || this.#child?.pid === undefined)
        throw new Error(`The Kafka ${this.version} broker ended at its start:\n${this.log()}`)
      if (Date.now() > deadline) {
        await this.kill()
        throw new Error(`The Kafka ${this.version} broker was not ready within ${this.#startTimeoutMs} ms:\n${this.log()}`)
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
    if (this.#ownsDataDir) await rm(this.dataDir, { recursive: true, force: true, maxRetries: 3 })
  }
}

interface Place {
  readonly dataDir: string
  readonly configFile: string
  readonly listeners: readonly BoundListener[]
}

/**
 * Starts a single-node cluster and waits until it answers.
 *
 * @throws SetupError without Java, Maven or the version; Error with the broker's last words when it doesn't start.
 */
export async function startBroker(options: BrokerOptions): Promise<KafkaBroker> {
  const [broker] = await startCluster({ ...options, brokers: 1 })
  return broker!
}

/**
 * Starts a cluster of nodes that are all brokers and controllers, with node ids counted from `nodeId` (default 1).
 * A port that somebody takes between our choice and the broker's start is chosen again.
 */
export async function startCluster(options: BrokerOptions & { readonly brokers: number }): Promise<KafkaBroker[]> {
  const [java, jars] = await Promise.all([findJava(options.version, options.env), kafkaJars(options)])
  for (let tries = 1; ; tries++) {
    const brokers: KafkaBroker[] = []
    try {
      await prepare(brokers, options, java.command, jars)
      await Promise.all(brokers.map((broker) => broker.start(brokers.length)))
      return brokers
    } catch (error) {
      await Promise.all(brokers.map((broker) => broker.close()))
      const taken = error instanceof Error && /Address already in use|BindException/.test(error.message)
      const chosenByUs = options.port === undefined && !options.listeners?.some((listener) => listener.port !== undefined)
      if (!taken || !chosenByUs || tries === 3) throw error
    }
  }
}

async function prepare(
  brokers: KafkaBroker[],
  options: BrokerOptions & { readonly brokers: number },
  java: string,
  jars: KafkaJars,
): Promise<void> {
  const first = options.nodeId ?? 1
  const wanted = options.listeners ?? [{ name: 'PLAINTEXT', protocol: 'PLAINTEXT' as const }]
  const ports = await freePorts(options.brokers * (wanted.length + 1))
  const nodes = Array.from({ length: options.brokers }, (_, index) => first + index)
  const identity: ClusterIdentity = { clusterId: newClusterId(), controllers: new Map(nodes.map((id) => [id, ports.pop()!])) }
  for (const nodeId of nodes) {
    const listeners = wanted.map((listener, index) => ({
      ...listener,
      host: listener.host ?? '127.0.0.1',
      port: listener.port ?? (index === 0 ? options.port : undefined) ?? ports.pop()!,
    }))
    const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'kafka-mirrors-broker-')))
    const configFile = join(dataDir, 'server.properties')
    brokers.push(new KafkaBroker({ ...options, nodeId }, { dataDir, configFile, listeners }, identity, java, jars))
    const settings = { nodeId, dataDir, listeners, controllers: identity.controllers, properties: options.properties }
    await writeFile(configFile, propertiesText(brokerProperties(settings)))
    await format(configFile, identity.clusterId, options, java, jars)
  }
}

async function format(configFile: string, clusterId: string, options: BrokerOptions, java: string, jars: KafkaJars): Promise<void> {
  const scram = (options.scram ?? []).flatMap((credential) => ['--add-scram', credential])
  const args = ['format', '--ignore-formatted', '-t', clusterId, '-c', configFile, ...scram]
  const flags = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xshare:auto', '-cp', jars.classpath]
  const result = await runCommand(java, [...flags, 'kafka.tools.StorageTool', ...args])
  if (result.code !== 0) throw new Error(`Formatting the storage of Kafka ${jars.version} failed:\n${result.stdout}${result.stderr}`)
}

function javaFlags(options: BrokerOptions, dataDir: string): string[] {
  const heap = options.heapMb ?? 512
  // As Kafka's own start script for speed; the first compiler alone halves the start.
  const tuning =
    options.tuneFor === 'speed' ? ['-server', '-XX:+UseG1GC', '-XX:MaxGCPauseMillis=20'] : ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']
  return [
    `-Xmx${heap}m`,
    `-Xms${Math.min(heap, 128)}m`,
    ...tuning,
    '-Djava.awt.headless=true',
    '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
    `-Dkafka.logs.dir=${dataDir}`,
  ]
}

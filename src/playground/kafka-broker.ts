import { randomBytes } from 'node:crypto'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { logFlags, writeLogSettings } from './broker-logging.js'
import { KafkaBroker } from './broker-process.js'
import { brokerProperties, type Listener, propertiesText } from './broker-settings.js'
import { findJava } from './java.js'
import { type KafkaJars, kafkaJars } from './kafka-jars.js'
import { freePorts, isFree } from './ports.js'
import { runCommand } from './process.js'

export { KafkaBroker }

export interface BrokerOptions {
  /** Kafka version; the one found in KAFKA_HOME wins when `env` has it. 2.8 (KRaft was a preview) cannot start again on its data. */
  readonly version: string
  readonly nodeId?: number
  /** Port of the first listener. Default: a free one. */
  readonly port?: number
  /** Port of the first listener if nobody has it, else any free one. */
  readonly preferredPort?: number
  /** Default: one PLAINTEXT listener on 127.0.0.1. The first must be PLAINTEXT: it is the one that is probed. */
  readonly listeners?: readonly Listener[]
  /** What clients of a listener are told to connect to, where it differs from node to node: `host:port` by node and listener name. */
  readonly advertised?: (nodeId: number, listener: string) => string | undefined
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
  /** How long a start may take. Default: two minutes, for busy machines. */
  readonly startTimeoutMs?: number
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
      await prepare(brokers, tries === 1 ? await withPreferredPort(options) : options, java.command, jars)
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

async function withPreferredPort<O extends BrokerOptions>(options: O): Promise<O> {
  const { preferredPort } = options
  return preferredPort !== undefined && (await isFree(preferredPort)) ? { port: preferredPort, ...options } : options
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
  const clusterId = newClusterId()
  const controllers = new Map(nodes.map((id) => [id, ports.pop()!]))
  for (const nodeId of nodes) {
    const listeners = wanted.map((listener, index) => ({
      ...listener,
      host: listener.host ?? '127.0.0.1',
      port: listener.port ?? (index === 0 ? options.port : undefined) ?? ports.pop()!,
      advertised: options.advertised?.(nodeId, listener.name) ?? listener.advertised,
    }))
    const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'kafka-mirrors-broker-')))
    const configFile = join(dataDir, 'server.properties')
    const main = ['-cp', jars.classpath, 'kafka.Kafka', configFile]
    const process = { command: java, args: [...javaFlags(options, dataDir), ...main], startTimeoutMs: options.startTimeoutMs ?? 120_000 }
    const owned = { dataDir, ownsDataDir: options.dataDir === undefined }
    brokers.push(new KafkaBroker({ ...process, ...owned, version: jars.version, nodeId, clusterId, listeners }))
    const settings = { nodeId, dataDir, listeners, controllers, properties: options.properties }
    await writeFile(configFile, propertiesText(brokerProperties(settings)))
    await writeLogSettings(dataDir)
    await format(configFile, clusterId, options, java, jars)
  }
}

async function format(configFile: string, clusterId: string, options: BrokerOptions, java: string, jars: KafkaJars): Promise<void> {
  const scram = (options.scram ?? []).flatMap((credential) => ['--add-scram', credential])
  const args = ['format', '--ignore-formatted', '-t', clusterId, '-c', configFile, ...scram]
  const flags = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-cp', jars.classpath]
  const result = await runCommand(java, [...flags, 'kafka.tools.StorageTool', ...args])
  if (result.code !== 0) throw new Error(`Formatting the storage of Kafka ${jars.version} failed:\n${result.stdout}${result.stderr}`)
}

/** Cluster ids are random uuids in Kafka's 22-character form. */
export function newClusterId(): string {
  const id = randomBytes(16).toString('base64url')
  // A leading hyphen would be read as an option by Kafka's tools.
  return id.startsWith('-') ? newClusterId() : id
}

function javaFlags(options: BrokerOptions, dataDir: string): string[] {
  const heap = options.heapMb ?? 512
  // As Kafka's own start script for speed; the first compiler alone halves the start.
  const tuning =
    options.tuneFor === 'speed' ? ['-server', '-XX:+UseG1GC', '-XX:MaxGCPauseMillis=20'] : ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']
  return [`-Xmx${heap}m`, `-Xms${Math.min(heap, 128)}m`, ...tuning, '-Djava.awt.headless=true', ...logFlags(dataDir)]
}

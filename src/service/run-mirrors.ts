import { hostname } from 'node:os'
import { Cluster } from '../client/cluster.js'
import { clientConfigOf } from '../client/config.js'
import { KeyedLog } from '../client/keyed-log.js'
import { Runner } from '../engine/runner.js'

export interface RunMirrorsOptions {
  /** Java client properties of the destination; `session.timeout.ms` and `heartbeat.interval.ms` are the runner's in its group. */
  readonly properties: ReadonlyMap<string, string>
  /** Mirrors to serve; default all. */
  readonly mirrors?: readonly string[]
  /** Bytes of fetched data held at most; default 64 MiB. */
  readonly bufferBytes?: number
}

const DEFAULT_SESSION_TIMEOUT_MS = 10_000
const DEFAULT_HEARTBEAT_INTERVAL_MS = 3_000
const DEFAULT_BUFFER_BYTES = 64 << 20
const STATE_TOPIC = '__kafka_mirrors'

/** Starts a runner on the destination. It copies until it is told to drain. */
export async function runMirrors(options: RunMirrorsOptions): Promise<Runner> {
  const { properties } = options
  const owner = `${hostname()}-${process.pid}`
  const destination = new Cluster(clientConfigOf(properties, { clientId: `kafka-mirrors-${owner}` }).config)
  const runner = new Runner({
    destination,
    log: new KeyedLog(destination, STATE_TOPIC),
    groupId: STATE_TOPIC,
    owner,
    sessionTimeoutMs: Number(properties.get('session.timeout.ms') ?? DEFAULT_SESSION_TIMEOUT_MS),
    heartbeatIntervalMs: Number(properties.get('heartbeat.interval.ms') ?? DEFAULT_HEARTBEAT_INTERVAL_MS),
    mirrors: options.mirrors,
    bufferBytes: options.bufferBytes ?? DEFAULT_BUFFER_BYTES,
    openSource: (mirror, source) => new Cluster(clientConfigOf(source, { clientId: `kafka-mirrors-${mirror}` }).config),
  })
  await runner.start()
  return runner
}

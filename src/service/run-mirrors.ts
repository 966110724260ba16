import { hostname } from 'node:os'
import type { AllowedConfig } from '../client/allowed-config.js'
import { Cluster } from '../client/cluster.js'
import { clientConfigOf } from '../client/config.js'
import { publish } from '../engine/events.js'
import { Runner } from '../engine/runner.js'
import { isActive, type MirrorState } from '../mirror/fold.js'
import { type Mirror, mustExist } from '../mirror/spec-store.js'
import { DEFAULT_SESSION_TIMEOUT_MS, RUNNER_GROUP, STATE_TOPIC } from '../mirror/state-topic.js'
import { keepMirror } from './keep-mirror.js'
import { missingDestinationRights, missingSourceRights, refuseMissingRights } from './rights.js'
import { openSource, withSource } from './source-connection.js'
import { StateStore } from './state-store.js'

export interface RunMirrorsOptions {
  /** Java client properties of the destination; `session.timeout.ms` and `heartbeat.interval.ms` are the runner's in its group. */
  readonly properties: ReadonlyMap<string, string>
  /** Mirrors to serve; default all. All runners of a destination should be given the same. */
  readonly mirrors?: readonly string[] | undefined
  /** References to config providers in mirrors' settings that may be resolved; default none. */
  readonly allowedConfig?: AllowedConfig | undefined
}

const NOTHING: AllowedConfig = { env: [], file: [], directory: [] }

const HEARTBEATS_PER_SESSION = 3

/**
 * Starts a runner on the destination; it copies until it is told to drain. Creates the state topic if it is missing, so
 * that runners may be started before the first mirror is made. Throws MirrorError when a right on the destination is
 * missing, listing every one; what is missing on a source is told as a warning, since other mirrors can go on.
 */
export async function runMirrors(options: RunMirrorsOptions): Promise<Runner> {
  const { properties, allowedConfig: allowed = NOTHING } = options
  const owner = `${hostname()}-${process.pid}`
  const destination = new Cluster(clientConfigOf(properties, { clientId: `kafka-mirrors-${owner}` }).config)
  try {
    const store = new StateStore(destination)
    await store.ensure()
    const state = await store.read()
    for (const name of options.mirrors ?? []) mustExist(state, name)
    const served = state.mirrors().filter(({ name }) => options.mirrors?.includes(name) ?? true)
    await checkDestination(destination, served)
    // Reaching many sources may take long, and copying need not wait for it.
    void warnOfSources(served, allowed)
    const sessionTimeoutMs = Number(properties.get('session.timeout.ms') ?? DEFAULT_SESSION_TIMEOUT_MS)
    const runner = new Runner({
      destination,
      log: store.log,
      groupId: RUNNER_GROUP,
      owner,
      sessionTimeoutMs,
      heartbeatIntervalMs: Number(properties.get('heartbeat.interval.ms') ?? Math.floor(sessionTimeoutMs / HEARTBEATS_PER_SESSION)),
      mirrors: options.mirrors,
      openSource: (mirror, configs) => openSource({ mirror, configs, allowed, clientId: `kafka-mirrors-${mirror}` }).cluster,
      keep: (access) => keepMirror(access, destination, store),
    })
    await runner.start()
    return runner
  } catch (error) {
    await destination.close()
    throw error
  }
}

const topicsOf = (mirror: Mirror) => [...mirror.topics].filter(([, spec]) => isActive(spec)).map(([topic]) => topic)

async function checkDestination(destination: Cluster, served: ReturnType<MirrorState['mirrors']>): Promise<void> {
  const topics = served.flatMap(topicsOf)
  refuseMissingRights(await missingDestinationRights(destination, { topics, stateTopics: [STATE_TOPIC] }))
}

async function warnOfSources(served: ReturnType<MirrorState['mirrors']>, allowed: AllowedConfig): Promise<void> {
  for (const mirror of served) {
    try {
      const missing = await withSource({ mirror: mirror.name, configs: mirror.configs, allowed }, (source) =>
        missingSourceRights(source, { topics: topicsOf(mirror), groups: [] }),
      )
      refuseMissingRights(missing)
    } catch (error) {
      publish({ level: 'warn', event: 'rights', mirror: mirror.name, message: error instanceof Error ? error.message : String(error) })
    }
  }
}

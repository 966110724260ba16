import { expect } from 'vitest'
import { KafkaWorker } from '../kafka-worker.js'
import { DESTINATION_PROPERTIES, Mirroring } from '../mirroring.js'
import { runProgram } from '../program.js'
import { randomOf } from '../random.js'
import { Chaos } from './chaos.js'
import { planChaos, type SideName } from './plan.js'
import { CHAOS_TOPICS, ChaosProducers } from './producers.js'
import { ProxiedCluster } from './proxied-cluster.js'

export interface ChaosOptions {
  readonly name: string
  readonly durationMs: number
  readonly brokers: Readonly<Record<SideName, number>>
  readonly versions: Readonly<Record<SideName, string>>
  readonly runners: number
}

const HEAP_MB = 384
/** The cleaner looks again soon after it found nothing to do. */
const CLEANER = { 'log.cleaner.backoff.ms': '500' }

/**
 * Producers write, and everything that can break does, as a seed has it; then all heals, and both sides must hold the same
 * logs, with no partition ever having failed. `TEST_SEED` repeats a plan; a failure says which, and what was done.
 */
export async function runChaos(options: ChaosOptions): Promise<void> {
  const closing: { close(): Promise<unknown> }[] = []
  const keep = async <T extends { close(): Promise<unknown> }>(started: Promise<T>): Promise<T> => {
    const item = await started
    closing.unshift(item)
    return item
  }
  try {
    const worker = await keep(KafkaWorker.start())
    const start = (side: SideName, properties: Record<string, string>) =>
      keep(
        ProxiedCluster.start(worker, {
          version: options.versions[side],
          brokers: options.brokers[side],
          heapMb: HEAP_MB,
          properties: { ...CLEANER, ...(options.brokers[side] > 2 ? REPLICATED : {}), ...properties },
        }),
      )
    const sides = { source: await start('source', {}), destination: await start('destination', DESTINATION_PROPERTIES) }
    const mirroring = new Mirroring({ ...sides, worker }, { sourceBootstrap: () => sides.source.proxied })
    closing.unshift(mirroring)
    await wreak(options, { worker, sides, mirroring })
  } finally {
    for (const item of closing) await item.close()
  }
}

/** What a replicated destination is for: nothing that was acknowledged is lost with one broker. */
const REPLICATED = { 'default.replication.factor': '3', 'min.insync.replicas': '2' }

interface Scene {
  readonly worker: KafkaWorker
  readonly sides: Readonly<Record<SideName, ProxiedCluster>>
  readonly mirroring: Mirroring
}

async function wreak(options: ChaosOptions, { worker, sides, mirroring }: Scene): Promise<void> {
  const plan = planChaos(randomOf(options.name), options)
  const replicationFactor = Math.min(3, options.brokers.source)
  for (const { topic, partitions, configs } of CHAOS_TOPICS)
    await sides.source.admin.createTopic(topic, { partitions, replicationFactor, configs })
  await mirroring.create()
  await mirroring.add(...CHAOS_TOPICS.map(({ topic }) => topic))
  const producers = await ChaosProducers.start(worker, sides.source)
  const chaos = new Chaos(sides, mirroring)
  try {
    await chaos.run([{ at: 0, action: { kind: 'start-runner', runner: 0 } }, ...plan])
    await chaos.heal()
    await producers.stop()
    await Promise.all(CHAOS_TOPICS.map(({ topic }) => mirroring.caughtUp(topic, 60_000)))
    const differences = await Promise.all(
      CHAOS_TOPICS.map(({ topic, compacted }) => (compacted ? mirroring.compactedDifferences(topic) : mirroring.differences(topic))),
    )
    expect(
      Object.fromEntries(CHAOS_TOPICS.map(({ topic }, i) => [topic, differences[i]]).filter(([, found]) => found!.length > 0)),
    ).toEqual({})
    await verified(mirroring.mirror, sides.destination.bootstrap)
    expect(mirroring.runners.flatMap(({ log }) => log.filter(({ event }) => event === 'partition-failed'))).toEqual([])
  } catch (error) {
    const troubles = producers.troubles.slice(-20).map((trouble) => `  ${trouble}`)
    const told = [(error as Error).message, 'What was done:', chaos.text(), 'What the producers met:', ...troubles]
    throw new Error(told.join('\n'), { cause: error })
  }
}

/** What users have to see the same. */
async function verified(mirror: string, bootstrap: string): Promise<void> {
  const { exitCode, stdout, stderr } = await runProgram('verbs', ['verify', '--bootstrap-server', bootstrap, '--mirror', mirror])
  if (exitCode !== 0) throw new Error(`verify ends with ${exitCode}:\n${stdout}${stderr}`)
}

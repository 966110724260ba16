import { run } from './child.js'
import type { Measured } from './measure.js'
import { pause, until } from './node.js'
import { kafkaMirrors } from './ours.js'
import { type CopyJob, PEERS, type PeerName } from './peers.js'
import { usageOf } from './proc.js'
import { IDLE_PARTITIONS, LATENCY_RATES } from './workloads.js'

export interface LatencyResult {
  /** `no mirror` reads the source itself: what the probe and a broker take on their own. */
  readonly through: PeerName | 'no mirror'
  readonly rate: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Milliseconds from a record being written to the source to it being read from the destination. */
export async function measureLatency(
  through: LatencyResult['through'],
  job: CopyJob,
  seconds: number,
  context: Measured,
): Promise<LatencyResult[]> {
  const { source, destination, tools } = context
  await source.createTopic(job.topic, job.partitions)
  const direct = through === 'no mirror'
  if (!direct && PEERS[through].createsTopic !== true) await destination.createTopic(job.topic, job.partitions)
  const peer = direct ? undefined : await PEERS[through].start({ ...job, latency: true }, tools)
  try {
    const flags = ['--source', job.source, '--destination', direct ? job.source : job.destination, '--topic', job.topic]
    const rates = ['--rates', LATENCY_RATES.join(','), '--seconds', String(seconds)]
    const text = await run('latency probe', tools.franzGo, ['probe', ...flags, ...rates])
    const lines = text.trim().split('\n')
    return lines.map((line) => ({ ...(JSON.parse(line) as Omit<LatencyResult, 'through'>), through }))
  } finally {
    await peer?.stop()
  }
}

/** Percent of a core that a runner takes with {@link IDLE_PARTITIONS} caught-up partitions and nothing to do. */
export async function measureIdle(job: CopyJob, seconds: number, { source, destination, tools }: Measured): Promise<number> {
  await source.createTopic(job.topic, IDLE_PARTITIONS)
  const { child, stop } = await PEERS.ours.start({ ...job, partitions: IDLE_PARTITIONS }, tools)
  try {
    await until('the idle runner has its topic', async () => (await destination.logEnds(job.topic, IDLE_PARTITIONS)) !== undefined)
    // Time to join the group, take up the partitions and be done with what it loaded.
    await pause(15_000)
    if (!child.running) throw child.failure()
    const before = usageOf(child.pid).cpuSeconds
    await pause(seconds * 1000)
    return (100 * (usageOf(child.pid).cpuSeconds - before)) / seconds
  } finally {
    await stop()
  }
}

/** Median wall time of `list`, in seconds, the first call left out. */
export async function measureList(bootstrap: string): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 8; i++) {
    const start = performance.now()
    await kafkaMirrors('list', '--bootstrap-server', bootstrap)
    times.push((performance.now() - start) / 1000)
  }
  return times.slice(1).sort((a, b) => a - b)[3]!
}

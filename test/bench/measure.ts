import type { BenchNode } from './node.js'
import { pause, until } from './node.js'
import { type CopyJob, PEERS, type PeerName } from './peers.js'
import { usageOf } from './proc.js'
import type { Tools } from './tools.js'
import type { Workload } from './workloads.js'

export interface CopyResult {
  readonly workload: string
  readonly peer: PeerName
  readonly round: number
  readonly recordsPerSecond: number
  readonly megabytesPerSecond: number
  /** From the first append on, for the whole workload. */
  readonly cpuSeconds: number
  readonly peakRssMb: number | undefined
}

const STALL_MS = 60_000
const FIRST_APPEND_MS = 120_000

export interface Measured {
  readonly source: BenchNode
  readonly destination: BenchNode
  readonly tools: Tools
  readonly say: (line: string) => void
}

/**
 * Lets one peer copy the workload and measures it from outside: from the first records seen at the destination until all are
 * there, so that neither the start of a JVM nor that of Node counts. What had arrived by then is taken off.
 */
export async function measureCopy(
  workload: Workload,
  peer: PeerName,
  round: number,
  job: CopyJob,
  sourceEnds: readonly bigint[],
  context: Measured,
): Promise<CopyResult> {
  const { destination, tools } = context
  const { createsTopic, prefetches } = PEERS[peer]
  await destination.deleteTopic(job.topic)
  if (createsTopic !== true) await destination.createTopic(job.topic, job.partitions)
  const total = targetOf(workload, peer, sourceEnds)
  const running = await PEERS[peer].start(job, tools)
  try {
    if (prefetches) {
      await until('everything is prefetched', async () => running.child.stdout.includes('ready') || !running.child.running, 120_000)
      running.child.tell('go')
    }
    const arrived = async () => Number((await destination.logEnds(job.topic, job.partitions))?.reduce((a, b) => a + b, 0n) ?? 0n)
    let seen = await waitForMore(0, arrived, running.child, FIRST_APPEND_MS)
    const first = { at: performance.now(), seen, cpu: usageOf(running.child.pid).cpuSeconds }
    while (seen < total) seen = await waitForMore(seen, arrived, running.child, STALL_MS)
    const seconds = (performance.now() - first.at) / 1000
    const usage = usageOf(running.child.pid)
    const measured = (total - first.seen) / total
    const recordsPerSecond = (workload.records * measured) / seconds
    return {
      workload: workload.name,
      peer,
      round,
      recordsPerSecond,
      megabytesPerSecond: (recordsPerSecond * workload.size) / 1e6,
      cpuSeconds: (usage.cpuSeconds - first.cpu) / measured,
      peakRssMb: prefetches ? undefined : usage.peakRssMb,
    }
  } finally {
    await running.stop()
  }
}

/** Only ours writes a control record where the source has one; the others' logs end at the number of records. */
function targetOf(workload: Workload, peer: PeerName, sourceEnds: readonly bigint[]): number {
  return peer === 'ours' ? Number(sourceEnds.reduce((a, b) => a + b, 0n)) : workload.records
}

async function waitForMore(
  than: number,
  arrived: () => Promise<number>,
  child: { running: boolean; failure(): Error },
  withinMs: number,
): Promise<number> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const now = await arrived()
    if (now > than) return now
    if (!child.running) throw child.failure()
    if (performance.now() > deadline)
      throw new Error(`nothing more arrived within ${withinMs / 1000} s after ${than} records\n${child.failure().message}`)
    await pause(5)
  }
}

import type { BenchNode } from './node.js'
import { pause, until } from './node.js'
import { type CopyJob, PEERS, type PeerName } from './peers.js'
import { cpuSecondsOf, usageOf } from './proc.js'
import type { Tools } from './tools.js'
import type { Workload } from './workloads.js'

export interface CopyResult {
  readonly workload: string
  readonly peer: PeerName
  readonly round: number
  readonly recordsPerSecond: number
  readonly megabytesPerSecond: number
  /** From the first append on. */
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
 * Lets one peer copy the workload and measures it from outside: from the last look at an empty destination until all is
 * there, so that neither the start of a JVM nor that of Node counts.
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
    // The last moment at which nothing had arrived.
    let start = { at: performance.now(), cpu: 0 }
    const note = () => {
      start = { at: performance.now(), cpu: cpuSecondsOf(running.child.pid) }
    }
    let seen = await waitForMore(0, arrived, running.child, FIRST_APPEND_MS, note)
    while (seen < total) seen = await waitForMore(seen, arrived, running.child, STALL_MS)
    const recordsPerSecond = workload.records / ((performance.now() - start.at) / 1000)
    const usage = usageOf(running.child.pid)
    return {
      workload: workload.name,
      peer,
      round,
      recordsPerSecond,
      megabytesPerSecond: (recordsPerSecond * workload.size) / 1e6,
      cpuSeconds: usage.cpuSeconds - start.cpu,
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
  beforeLook?: () => void,
): Promise<number> {
  const deadline = performance.now() + withinMs
  for (;;) {
    beforeLook?.()
    const now = await arrived()
    if (now > than) return now
    if (!child.running) throw child.failure()
    if (performance.now() > deadline)
      throw new Error(`nothing more arrived within ${withinMs / 1000} s after ${than} records\n${child.failure().message}`)
    await pause(5)
  }
}

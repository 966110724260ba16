import { Child } from './child.js'
import type { Measured } from './measure.js'
import { pause, until } from './node.js'
import { PROGRAM } from './ours.js'
import { type CopyJob, PEERS } from './peers.js'
import { usageOf } from './proc.js'
import type { Workload } from './workloads.js'

export interface VerifyResult {
  readonly workload: string
  /** Fetched from both sides together, over the command's whole time. */
  readonly megabytesPerSecond: number
  readonly recordsPerSecond: number
  readonly peakRssMb: number
}

/** What `verify` says with `--json`, as far as it is wanted here. */
interface VerifyJson {
  readonly equal: boolean
  readonly partitions: readonly { readonly bytes: string; readonly records: string }[]
}

/** Copies a topic that is on the source, and times the `verify` command, its start included. */
export async function measureVerify(
  workload: Workload,
  job: CopyJob,
  sourceEnds: readonly bigint[],
  { destination, tools }: Measured,
): Promise<VerifyResult> {
  const { child, stop } = await PEERS.ours.start(job, tools)
  try {
    await until(
      'everything is copied',
      async () =>
        !child.running || (await destination.logEnds(job.topic, job.partitions))?.every((end, i) => end === sourceEnds[i]) === true,
      300_000,
    )
    if (!child.running) throw child.failure()
    const words = ['verify', '--bootstrap-server', job.destination, '--mirror', `bench-${job.label}`, '--json']
    const start = performance.now()
    const command = Child.start('kafka-mirrors verify', process.execPath, [PROGRAM, ...words])
    let peakRssMb = 0
    while (command.running) {
      peakRssMb = Math.max(peakRssMb, usageOf(command.pid).peakRssMb)
      await pause(20)
    }
    const { equal, partitions } = JSON.parse(await command.finish()) as VerifyJson
    const seconds = (performance.now() - start) / 1000
    if (!equal) throw new Error(`verify finds that ${workload.name} differs`)
    const sum = (of: (partition: VerifyJson['partitions'][number]) => string) =>
      partitions.reduce((total, each) => total + Number(of(each)), 0)
    return {
      workload: workload.name,
      megabytesPerSecond: sum(({ bytes }) => bytes) / 1e6 / seconds,
      recordsPerSecond: sum(({ records }) => records) / seconds,
      peakRssMb,
    }
  } finally {
    await stop()
  }
}

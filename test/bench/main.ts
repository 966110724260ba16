import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startBroker } from '../../src/playground/kafka-broker.js'
import { run } from './child.js'
import { type Measured, measureCopy } from './measure.js'
import { BenchNode } from './node.js'
import { type BenchOptions, parseOptions, USAGE } from './options.js'
import { type CopyJob, PEERS, type PeerName } from './peers.js'
import { sharesOf } from './profile.js'
import { type Report, textOf } from './report.js'
import { measureIdle, measureLatency, measureList } from './small.js'
import { prepareTools } from './tools.js'
import { measureVerify } from './verify.js'
import { VERIFY_WORKLOADS, WORKLOADS, type Workload } from './workloads.js'

const SOURCE_VERSION = '3.9.1'
const DESTINATION_VERSION = '4.4.0'
const say = (line: string) => process.stderr.write(`${line}\n`)

class Bench {
  private jobs = 0

  constructor(
    private readonly options: BenchOptions,
    private readonly context: Measured,
    private readonly report: Report,
  ) {}

  async run(): Promise<void> {
    const { only, seconds } = this.options
    for (const workload of WORKLOADS.filter((w) => only.includes(w.name))) await this.copies(workload)
    if (only.includes('latency')) await this.latencies(seconds)
    if (only.includes('idle')) {
      await this.attempt('idle', async () => {
        this.report.idlePercent = await measureIdle(this.job('idle', 100, 'none'), seconds, this.context)
      })
    }
    if (only.includes('list')) {
      await this.attempt('list', async () => {
        this.report.listSeconds = await measureList(this.context.destination.bootstrap)
      })
    }
    if (only.includes('verify'))
      for (const workload of WORKLOADS.filter((w) => VERIFY_WORKLOADS.includes(w.name))) await this.verify(workload)
  }

  private async verify(given: Workload): Promise<void> {
    const { source, destination } = this.context
    const workload = { ...given, name: `verify-${given.name}`, records: this.options.records ?? given.records }
    await this.attempt(`verify ${given.name}`, async () => {
      const ends = await this.produce(workload)
      const result = await measureVerify(given, this.job(workload.name, workload.partitions, workload.compression), ends, this.context)
      this.report.verifications = [...(this.report.verifications ?? []), result]
      say(`verify ${given.name}: ${result.megabytesPerSecond.toFixed(0)} MB/s of both sides`)
    })
    await source.deleteTopic(workload.name)
    await destination.deleteTopic(workload.name)
  }

  private async copies(given: Workload): Promise<void> {
    const { source } = this.context
    const { rounds, records, profile } = this.options
    // One request a batch is the ceiling only of who copies batch by batch.
    const peers = this.options.peers.filter((peer) => peer !== 'ceiling' || given.kind === 'batches')
    if (peers.length === 0) return
    const workload = { ...given, records: records ?? given.records }
    const ends = await this.attempt(`producing ${workload.name}`, () => this.produce(workload))
    if (ends === undefined) return
    // An uncounted pass: brokers run their own code cold at first, and the peer that comes first would pay for all.
    if (profile && peers.includes('ours')) await this.profile(workload, ends)
    else await this.warmUp(workload, ends)
    for (let round = 1; round <= rounds; round++) {
      // Whoever is first still finds colder brokers: the order turns with the rounds.
      const order = [...peers.slice((round - 1) % peers.length), ...peers.slice(0, (round - 1) % peers.length)]
      for (const peer of order.filter((p) => round === 1 || PEERS[p].onceOnly !== true)) await this.copy(workload, peer, round, ends)
    }
    await source.deleteTopic(workload.name)
    await this.context.destination.deleteTopic(workload.name)
  }

  private async copy(workload: Workload, peer: PeerName, round: number, ends: readonly bigint[]): Promise<void> {
    await this.attempt(`${workload.name} ${peer} round ${round}`, async () => {
      const job = this.job(workload.name, workload.partitions, workload.compression)
      const result = await measureCopy(workload, peer, round, job, ends, this.context)
      this.report.copies.push(result)
      say(
        `${workload.name} ${peer} round ${round}: ${Math.round(result.recordsPerSecond)} records/s, ` +
          `${result.megabytesPerSecond.toFixed(1)} MB/s, ${result.cpuSeconds.toFixed(2)} CPU s`,
      )
    })
  }

  private async profile(workload: Workload, ends: readonly bigint[]): Promise<void> {
    await this.attempt(`${workload.name} profile`, async () => {
      const profileDir = join(this.options.keep ?? this.context.tools.workDir, `profile-${workload.name}`)
      const job = { ...this.job(workload.name, workload.partitions, workload.compression), profileDir }
      await measureCopy(workload, 'ours', 0, job, ends, this.context)
      this.report.profiles.push({ workload: workload.name, shares: sharesOf(profileDir) })
    })
  }

  private async warmUp(workload: Workload, ends: readonly bigint[]): Promise<void> {
    await this.attempt(`${workload.name} warm-up`, async () => {
      const job = this.job(workload.name, workload.partitions, workload.compression)
      await measureCopy(workload, this.options.peers[0]!, 0, job, ends, this.context)
    })
  }

  private async produce(workload: Workload): Promise<readonly bigint[]> {
    const { source, tools } = this.context
    say(`producing ${workload.records} records: ${workload.what}`)
    await source.createTopic(workload.name, workload.partitions)
    const { kind, partitions, records, size, compression } = workload
    const flags = Object.entries({ source: source.bootstrap, topic: workload.name, kind, partitions, records, size, compression })
    await run('producer', tools.franzGo, ['produce', ...flags.flatMap(([key, value]) => [`--${key}`, String(value)])])
    return (await source.logEnds(workload.name, partitions))!
  }

  private async latencies(seconds: number): Promise<void> {
    const through = ['no mirror', ...this.options.peers.filter((p) => p !== 'ceiling')] as const
    for (const [i, peer] of through.entries()) {
      await this.attempt(`latency through ${peer}`, async () => {
        const results = await measureLatency(peer, this.job(`latency-${i}`, 1, 'none'), seconds, this.context)
        this.report.latencies.push(...results)
        for (const r of results) say(`latency ${peer} at ${r.rate}/s: p50 ${r.p50.toFixed(2)} ms, p99 ${r.p99.toFixed(2)} ms`)
      })
    }
  }

  private job(topic: string, partitions: number, compression: CopyJob['compression']): CopyJob {
    const { source, destination } = this.context
    return { source: source.bootstrap, destination: destination.bootstrap, topic, partitions, compression, label: String(++this.jobs) }
  }

  /** One thing that can't be measured is no reason not to measure the rest. */
  private async attempt<T>(what: string, measure: () => Promise<T>): Promise<T | undefined> {
    try {
      return await measure()
    } catch (error) {
      const failure = `${what}: ${error instanceof Error ? error.message : String(error)}`
      this.report.failures.push(failure)
      say(`FAILED ${failure}`)
      return undefined
    }
  }
}

async function main(options: BenchOptions): Promise<Report> {
  const report: Report = { copies: [], profiles: [], latencies: [], failures: [] }
  const workDir = await mkdtemp(join(tmpdir(), 'kafka-mirrors-bench-'))
  const closing: (() => Promise<unknown>)[] = [() => rm(workDir, { recursive: true, force: true })]
  try {
    const tools = await prepareTools(workDir, options, say)
    const properties = { 'log.segment.delete.delay.ms': '1000', 'log.retention.check.interval.ms': '300000' }
    const nodes: BenchNode[] = []
    for (const version of [SOURCE_VERSION, DESTINATION_VERSION]) {
      say(`starting Kafka ${version}`)
      const broker = await startBroker({ version, tuneFor: 'speed', heapMb: 1024, properties, onProgress: say })
      closing.push(() => broker.close())
      const node = await BenchNode.open(broker.bootstrap)
      closing.push(() => node.close())
      nodes.push(node)
    }
    await new Bench(options, { source: nodes[0]!, destination: nodes[1]!, tools, say }, report).run()
    return report
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

try {
  const options = parseOptions(process.argv.slice(2))
  if (options === undefined) {
    say(USAGE)
  } else {
    const report = await main(options)
    process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : textOf(report))
    if (report.failures.length > 0) process.exitCode = 1
  }
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}

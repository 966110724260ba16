import { Counter, Gauge, Registry } from 'prom-client'
import type { PartitionSnapshot, RunnerSnapshot } from '../engine/events.js'
import { addSyncMetrics } from './sync-metrics.js'

export interface MetricsOptions {
  /** Called once a scrape: metrics of partitions cost nothing between scrapes. */
  readonly snapshot: () => RunnerSnapshot
  /** Above this many partitions series are per topic, above this many topics per mirror. Default 1000. */
  readonly partitionLimit?: number
}

export interface Metrics {
  readonly contentType: string
  /** The metrics in Prometheus' text format. */
  render(): Promise<string>
  /** Ends the listening for what counts between scrapes. */
  close(): void
}

const LABELS = ['mirror', 'topic', 'partition'] as const
type Label = (typeof LABELS)[number]
type Labels = Partial<Record<Label, string>>
const TOTALS = ['bytes', 'records', 'retries', 'rewrittenBatches'] as const
type Total = (typeof TOTALS)[number]

interface Series {
  readonly labels: Labels
  lag: number
  lostOffsets: number
  /** Producer id → seconds. */
  readonly openTransactions: Map<string, number>
  readonly totals: Record<Total, number>
  readonly states: Map<string, number>
}

/** The runner's metrics in a registry of their own. Counters start at 0 with the process. */
export function createMetrics({ snapshot, partitionLimit = 1000 }: MetricsOptions): Metrics {
  const registry = new Registry()
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    new Gauge({ name: `kafka_mirrors_${name}`, help, labelNames: [...labelNames], registers: [registry] })
  const counter = (name: string, help: string) =>
    new Counter({ name: `kafka_mirrors_${name}_total`, help, labelNames: [...LABELS], registers: [registry] })
  const counters = {
    bytes: counter('bytes', 'Bytes of source batches appended to the destination'),
    records: counter('records', 'Records appended to the destination'),
    retries: counter('retries', 'Attempts made again after an error'),
    rewrittenBatches: counter(
      'rewritten_batches',
      'Batches that had to be opened and encoded anew: old formats, thinned by compaction, too large',
    ),
  }
  const lag = gauge('lag_records', 'Offsets between the high watermark of the source and the log end of the destination', LABELS)
  const states = gauge('partition_state', 'Partitions in this state', [...LABELS, 'state'])
  const lost = gauge('lost_offsets', 'Offsets the source no longer had and that were recorded as gaps', LABELS)
  const transactions = gauge(
    'open_transaction_seconds',
    'Time since the producer last wrote whose open transaction on the source keeps the partition waiting',
    [...LABELS, 'producer_id'],
  )
  const alive = gauge('runner_alive', '1 while this runner is a member of the group')
  const shards = gauge('runner_owned_shards', 'Shards owned by this runner')
  const buffered = gauge('runner_buffered_bytes', 'Fetched bytes not yet appended')
  const close = addSyncMetrics(registry)
  const processMetrics = createProcessMetrics(registry)
  const tally = new Tally()

  const fill = (now: RunnerSnapshot) => {
    tally.count(now.partitions)
    for (const metric of [lag, lost, transactions, states, ...Object.values(counters)]) metric.reset()
    for (const series of tally.series(now.partitions, levelFor(now.partitions, partitionLimit))) {
      lag.set(series.labels, series.lag)
      lost.set(series.labels, series.lostOffsets)
      for (const [producer_id, seconds] of series.openTransactions) transactions.set({ ...series.labels, producer_id }, seconds)
      for (const [name, value] of Object.entries(series.totals)) counters[name as Total].inc(series.labels, value)
      for (const [state, count] of series.states) states.set({ ...series.labels, state }, count)
    }
    alive.set(now.alive ? 1 : 0)
    shards.set(now.ownedShards)
    buffered.set(now.bufferedBytes)
    processMetrics()
  }
  return {
    contentType: registry.contentType,
    close,
    render: () => {
      fill(snapshot())
      return registry.metrics()
    },
  }
}

/** How many of the labels are used: 3 per partition, 2 per topic, 1 per mirror. */
function levelFor(partitions: readonly PartitionSnapshot[], limit: number): number {
  if (partitions.length <= limit) return 3
  return new Set(partitions.map((p) => `${p.mirror}/${p.topic}`)).size <= limit ? 2 : 1
}

const labelsOf = (p: { mirror: string; topic: string; partition: number }, level: number): Labels => ({
  mirror: p.mirror,
  ...(level > 1 && { topic: p.topic }),
  ...(level > 2 && { partition: String(p.partition) }),
})

/**
 * Keeps what each partition has counted, so that a sum over partitions never falls when one of them goes to another runner:
 * Prometheus would take that for a restart and count everything again.
 */
class Tally {
  private readonly counted = new Map<string, { mirror: string; topic: string; partition: number; last: Counts; total: Counts }>()

  count(partitions: readonly PartitionSnapshot[]): void {
    for (const p of partitions) {
      const key = `${p.mirror}/${p.topic}/${p.partition}`
      const entry = this.counted.get(key) ?? { mirror: p.mirror, topic: p.topic, partition: p.partition, last: counts(), total: counts() }
      for (const name of TOTALS) {
        entry.total[name] += p[name] >= entry.last[name] ? p[name] - entry.last[name] : p[name]
        entry.last[name] = p[name]
      }
      this.counted.set(key, entry)
    }
  }

  series(partitions: readonly PartitionSnapshot[], level: number): Iterable<Series> {
    const found = new Map<string, Series>()
    for (const p of partitions) {
      const series = seriesFor(found, labelsOf(p, level))
      series.lag += lagOf(p)
      series.lostOffsets += Number(p.lostOffsets)
      countTransaction(series.openTransactions, p)
      series.states.set(p.state, (series.states.get(p.state) ?? 0) + 1)
    }
    for (const entry of this.counted.values()) {
      const labels = labelsOf(entry, level)
      // A partition's own series ends where it is no longer owned; only sums remember it.
      const series = level === 3 ? found.get(keyOf(labels)) : seriesFor(found, labels)
      if (series !== undefined) for (const name of TOTALS) series.totals[name] += entry.total[name]
    }
    return found.values()
  }
}

type Counts = Record<Total, number>
const counts = (): Counts => ({ bytes: 0, records: 0, retries: 0, rewrittenBatches: 0 })
const keyOf = (labels: Labels) => LABELS.map((label) => labels[label] ?? '').join('/')

function seriesFor(found: Map<string, Series>, labels: Labels): Series {
  const known = found.get(keyOf(labels))
  if (known !== undefined) return known
  const series: Series = { labels, lag: 0, lostOffsets: 0, openTransactions: new Map(), totals: counts(), states: new Map() }
  found.set(keyOf(labels), series)
  return series
}

/** Where many partitions are one series, the longest counts. */
function countTransaction(transactions: Map<string, number>, { openTransaction }: PartitionSnapshot): void {
  if (openTransaction === undefined) return
  const producer = String(openTransaction.producerId)
  const seconds = Math.max(0, (Date.now() - openTransaction.lastWriteAt) / 1_000)
  transactions.set(producer, Math.max(seconds, transactions.get(producer) ?? 0))
}

function lagOf(p: PartitionSnapshot): number {
  if (p.sourceHighWatermark === undefined || p.logEndOffset === undefined) return 0
  return Math.max(0, Number(p.sourceHighWatermark - p.logEndOffset))
}

/** Prometheus' usual process metrics; its own collector would wake the process up a hundred times a second. */
function createProcessMetrics(registry: Registry): () => void {
  const registers = [registry]
  const cpu = new Counter({ name: 'process_cpu_seconds_total', help: 'User and system CPU time spent in seconds', registers })
  const memory = new Gauge({ name: 'process_resident_memory_bytes', help: 'Resident memory size in bytes', registers })
  const start = new Gauge({ name: 'process_start_time_seconds', help: 'Start time of the process since the epoch in seconds', registers })
  start.set(Math.round(Date.now() / 1000 - process.uptime()))
  return () => {
    const { user, system } = process.cpuUsage()
    cpu.reset()
    cpu.inc((user + system) / 1e6)
    memory.set(process.memoryUsage.rss())
  }
}

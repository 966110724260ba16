import type { CopyResult } from './measure.js'
import type { PeerName } from './peers.js'
import type { ProfileShare } from './profile.js'
import type { LatencyResult } from './small.js'
import type { VerifyResult } from './verify.js'
import {
  IDLE_TARGET_PERCENT,
  LATENCY_TARGET_MS,
  LIST_TARGET_SECONDS,
  RSS_TARGET_MB,
  VERIFY_TARGET_MB_PER_SECOND,
  VERIFY_WORKLOADS,
  WORKLOADS,
  type Workload,
} from './workloads.js'

/** Everything one run measured; printed as it is by `--json`. */
export interface Report {
  readonly copies: CopyResult[]
  readonly profiles: { workload: string; shares: ProfileShare[] }[]
  readonly latencies: LatencyResult[]
  idlePercent?: number
  listSeconds?: number
  verifications?: VerifyResult[]
  /** What could not be measured, and why. */
  readonly failures: string[]
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2
}

interface Median {
  recordsPerSecond: number
  megabytesPerSecond: number
  cpuSeconds: number
  peakRssMb: number | undefined
  rounds: number
}

function medianOf(copies: readonly CopyResult[], workload: string, peer: PeerName): Median | undefined {
  const found = copies.filter((c) => c.workload === workload && c.peer === peer)
  if (found.length === 0) return undefined
  const of = (pick: (c: CopyResult) => number) => median(found.map(pick))
  return {
    recordsPerSecond: of((c) => c.recordsPerSecond),
    megabytesPerSecond: of((c) => c.megabytesPerSecond),
    cpuSeconds: of((c) => c.cpuSeconds),
    peakRssMb: found.some((c) => c.peakRssMb === undefined) ? undefined : of((c) => c.peakRssMb!),
    rounds: found.length,
  }
}

/** A figure beside what was promised for it. */
function against(value: number, promise: number | undefined, atLeast: boolean, digits = 2): string {
  const text = value.toFixed(digits)
  if (promise === undefined) return text
  const kept = atLeast ? value >= promise : value <= promise
  return `${text} (${kept ? 'kept' : 'MISSED'}: ${atLeast ? '≥' : '≤'} ${Number(promise.toFixed(2))})`
}

export function textOf(report: Report): string {
  const parts = WORKLOADS.map((w) => workloadText(report.copies, w)).filter((text) => text !== '')
  for (const { workload, shares } of report.profiles) {
    const line = shares.map(({ owner, percent }) => `${owner} ${percent.toFixed(1)} %`).join(', ')
    parts.push(`CPU of our runner, ${workload} (self time): ${line}`)
  }
  if (report.latencies.length > 0) parts.push(latencyText(report.latencies))
  if (report.idlePercent !== undefined) {
    parts.push(`Idle runner, 100 partitions: ${against(report.idlePercent, IDLE_TARGET_PERCENT, false)} % of a core`)
  }
  if (report.listSeconds !== undefined) parts.push(`list: ${against(report.listSeconds, LIST_TARGET_SECONDS, false)} s`)
  for (const verification of report.verifications ?? []) parts.push(verificationText(verification))
  for (const failure of report.failures) parts.push(`FAILED ${failure}`)
  return `${parts.join('\n\n')}\n`
}

function workloadText(copies: readonly CopyResult[], { name, what, targets }: Workload): string {
  const peers = [...new Set(copies.filter((c) => c.workload === name).map((c) => c.peer))]
  if (peers.length === 0) return ''
  const rows = peers.map((peer) => {
    const m = medianOf(copies, name, peer)!
    const rss = m.peakRssMb === undefined ? '-' : m.peakRssMb.toFixed(0)
    return [
      peer,
      m.rounds,
      Math.round(m.recordsPerSecond).toLocaleString('en'),
      m.megabytesPerSecond.toFixed(1),
      m.cpuSeconds.toFixed(2),
      rss,
    ]
  })
  const table = tableOf([['PEER', 'ROUNDS', 'RECORDS/S', 'MB/S', 'CPU-S', 'RSS-MB'], ...rows])
  return [`${name}: ${what}`, table, ...ratiosOf(copies, name, targets)].join('\n')
}

function ratiosOf(copies: readonly CopyResult[], name: string, targets: Workload['targets']): string[] {
  const ours = medianOf(copies, name, 'ours')
  if (ours === undefined) return []
  const lines: string[] = []
  for (const peer of ['before', 'mm2', 'franz-go', 'ceiling'] as const) {
    const other = medianOf(copies, name, peer)
    if (other === undefined) continue
    const cpu = ours.cpuSeconds / other.cpuSeconds
    const promise = peer === 'franz-go' ? targets.cpuOfFranzGo : undefined
    const rate = against(ours.recordsPerSecond / other.recordsPerSecond, peer === 'before' ? undefined : targets[peer], true)
    lines.push(`ours / ${peer}: ${rate} × the rate, ${against(cpu, promise, false)} × the CPU seconds`)
  }
  if (ours.peakRssMb !== undefined) lines.push(`peak RSS of ours: ${against(ours.peakRssMb, RSS_TARGET_MB, false, 0)} MB`)
  return lines
}

function verificationText({ workload, megabytesPerSecond, recordsPerSecond, peakRssMb }: VerifyResult): string {
  const promise = workload === VERIFY_WORKLOADS[0] ? VERIFY_TARGET_MB_PER_SECOND : undefined
  const rate = against(megabytesPerSecond, promise, true, 0)
  return `verify, ${workload}: ${rate} MB/s, ${Math.round(recordsPerSecond).toLocaleString('en')} records/s, peak RSS ${peakRssMb.toFixed(0)} MB`
}

function latencyText(latencies: readonly LatencyResult[]): string {
  const rows = latencies.map(({ through, rate, p50, p99, max }) => {
    const shown = through === 'ours' ? against(p50, LATENCY_TARGET_MS, false) : p50.toFixed(2)
    return [through, `${rate}/s`, shown, p99.toFixed(2), max.toFixed(2)]
  })
  return ['latency in ms, record written to record read', tableOf([['THROUGH', 'RATE', 'P50', 'P99', 'MAX'], ...rows])].join('\n')
}

function tableOf(rows: readonly (readonly (string | number)[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)))
  return rows
    .map((row) => row.map((cell, i) => (i === 0 ? String(cell).padEnd(widths[i]!) : String(cell).padStart(widths[i]!))).join('  '))
    .join('\n')
}

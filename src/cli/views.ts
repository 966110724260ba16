import { formatReplicas } from '../mirror/throttles.js'
import type { MirrorListing, MirrorPartition, PartitionState, RecoveredPartition, ThrottleDescription } from '../service/types.js'
import type { Colour, Column } from './table.js'

/** `[a, b]`, as the KIP prints lists. */
export const bracketed = (names: readonly string[]): string => `[${names.join(', ')}]`

export const listColumns: readonly Column<MirrorListing>[] = [
  { header: 'MIRROR', value: (row) => row.mirror },
  { header: 'TOPICS', value: (row) => row.topics },
  { header: 'SOURCE-BOOTSTRAP', value: (row) => row.sourceBootstrap.replace(/\s*,\s*/g, ',') },
  { header: 'SOURCE-CLUSTER', value: (row) => row.sourceClusterId, wide: true },
]

const COLOURS: Readonly<Record<PartitionState, Colour>> = {
  LOG_ALIGNMENT: 'yellow',
  EPOCH_FENCING: 'yellow',
  MIRRORING: 'green',
  PAUSING: 'yellow',
  PAUSED: 'yellow',
  STOPPING: 'yellow',
  STOPPED: 'dim',
  FAILED: 'red',
}

export const isoTime = (milliseconds: number | undefined) => (milliseconds === undefined ? undefined : new Date(milliseconds).toISOString())

const rangeText = (range: { readonly from: bigint; readonly to: bigint } | undefined) => range && `${range.from}-${range.to}`

export const describeColumns: readonly Column<MirrorPartition>[] = [
  { header: 'MIRROR', value: (row) => row.mirror },
  { header: 'TOPIC', value: (row) => row.topic },
  { header: 'PARTITION', value: (row) => row.partition },
  { header: 'SOURCE-OFFSET', value: (row) => row.sourceOffset },
  { header: 'DESTINATION-OFFSET', value: (row) => row.destinationOffset },
  { header: 'LAG', value: (row) => row.lag },
  { header: 'STATE', value: (row) => row.state, colour: (row) => COLOURS[row.state] },
  { header: 'LAST-STABLE', value: (row) => row.lastStableOffset, wide: true },
  { header: 'OWNER', value: (row) => row.owner, wide: true },
  { header: 'FILL', value: (row) => row.fillMode, wide: true },
  { header: 'HELD', value: (row) => heldText(row.held), wide: true },
  { header: 'LOST', value: (row) => (row.lostOffsets === 0n ? undefined : row.lostOffsets), wide: true },
  { header: 'LOST-RANGES', value: (row) => row.lostRanges.map(rangeText).join(',') || undefined, wide: true },
  { header: 'OPEN-PRODUCER', value: (row) => row.openTransaction?.producerId, wide: true },
  { header: 'SINCE', value: (row) => isoTime(row.errorSince ?? row.since), wide: true },
  { header: 'ERROR', value: (row) => row.error ?? waitingText(row), wide: true, sentence: true },
]

/** Not an error, but what keeps a partition where it is all the same. */
const waitingText = ({ openTransaction: open }: MirrorPartition) =>
  open &&
  `waits at offset ${open.firstOffset} for the open transaction of producer ${open.producerId} on the source, last written to at ${isoTime(open.lastWriteAt)}`

/** `retention.ms=604800000,cleanup.policy=compact`: what the topic really has; those that go back to a default are in the JSON. */
function heldText(held: MirrorPartition['held']): string | undefined {
  const items = Object.entries(held).flatMap(([key, value]) => (value === null ? [] : [`${key}=${value}`]))
  return items.length === 0 ? undefined : items.sort().join(',')
}

export const failedColumns: readonly Column<MirrorPartition>[] = [
  { header: 'MIRROR', value: (row) => row.mirror },
  { header: 'TOPIC', value: (row) => row.topic },
  { header: 'PARTITION', value: (row) => row.partition },
  { header: 'RETRY', value: (row) => row.retries },
  { header: 'ERROR', value: (row) => row.error, sentence: true, colour: () => 'red' },
]

/** What keeps partitions from progressing and what they lack, a line per mirror and reason: columns have no room for it. */
export function troubleLines(partitions: readonly MirrorPartition[], now = Date.now()): string[] {
  return [...errorLines(partitions), ...waitingLines(partitions, now), ...lossLines(partitions)]
}

/** A transaction may span many partitions: a line per mirror and producer. */
function waitingLines(partitions: readonly MirrorPartition[], now: number): string[] {
  const groups = new Map<string, { names: string[]; lastWriteAt: number; mirror: string; producerId: bigint }>()
  for (const { mirror, topic, partition, openTransaction: open } of partitions) {
    if (open === undefined) continue
    const key = `${mirror}\n${open.producerId}`
    const group = groups.get(key) ?? { names: [], lastWriteAt: open.lastWriteAt, mirror, producerId: open.producerId }
    group.names.push(`${topic}-${partition} at offset ${open.firstOffset}`)
    groups.set(key, { ...group, lastWriteAt: Math.max(group.lastWriteAt, open.lastWriteAt) })
  }
  return [...groups.values()].map(({ mirror, producerId, names, lastWriteAt }) => {
    const waiting = names.length > 1 ? `and ${names.length - 1} more wait` : 'waits'
    const quiet = Math.max(0, Math.round((now - lastWriteAt) / 1_000))
    return `mirror ${mirror}: ${names[0]} ${waiting} for the open transaction of producer ${producerId} on the source, last written to ${quiet} s ago`
  })
}

function lossLines(partitions: readonly MirrorPartition[]): string[] {
  const mirrors = [...new Set(partitions.map(({ mirror }) => mirror))]
  return mirrors.flatMap((mirror) => {
    const lacking = partitions.filter((row) => row.mirror === mirror && row.lostOffsets > 0n)
    if (lacking.length === 0) return []
    const total = lacking.reduce((sum, { lostOffsets }) => sum + lostOffsets, 0n)
    return [`mirror ${mirror}: ${lacking.length} partition(s) lack ${total} offset(s) the source no longer had (-o wide, --json)`]
  })
}

/** More would hide the table. */
const REASONS_SHOWN = 10

function errorLines(partitions: readonly MirrorPartition[]): string[] {
  const groups = new Map<string, { count: number; since: number | undefined; mirror: string; error: string }>()
  for (const { mirror, error, errorSince } of partitions) {
    if (!error) continue
    const key = `${mirror}\n${error}`
    const group = groups.get(key) ?? { count: 0, since: errorSince, mirror, error }
    const since = Math.min(group.since ?? Number.POSITIVE_INFINITY, errorSince ?? Number.POSITIVE_INFINITY)
    groups.set(key, { ...group, count: group.count + 1, since: Number.isFinite(since) ? since : undefined })
  }
  const most = [...groups.values()].sort((a, b) => b.count - a.count)
  const lines = most.slice(0, REASONS_SHOWN).map(({ mirror, count, since, error }) => {
    const when = since === undefined ? '' : ` since ${isoTime(since)}`
    return `mirror ${mirror}: ${count} partition(s)${when}: ${error}`
  })
  const others = most.slice(REASONS_SHOWN).reduce((sum, { count }) => sum + count, 0)
  return others === 0 ? lines : [...lines, `${others} more partition(s) have other reasons (-o wide, --json)`]
}

/** A partition as JSON: times as ISO 8601, everything else as it is. */
export const partitionJson = (row: MirrorPartition) => ({
  ...row,
  since: isoTime(row.since),
  errorSince: isoTime(row.errorSince),
  openTransaction: row.openTransaction && { ...row.openTransaction, lastWriteAt: isoTime(row.openTransaction.lastWriteAt) },
})

/** What is wrong with partitions, and what is done about it. */
export const recoveryColumns: readonly Column<RecoveredPartition>[] = [
  { header: 'MIRROR', value: (row) => row.mirror },
  { header: 'TOPIC', value: (row) => row.topic },
  { header: 'PARTITION', value: (row) => row.partition },
  { header: 'PROBLEM', value: (row) => row.problem, colour: () => 'red' },
  { header: 'WANTED', value: (row) => row.wanted },
  { header: 'AVAILABLE', value: (row) => row.available },
  { header: 'LOST', value: (row) => rangeText(row.lost) },
  { header: 'DIFFERS-FROM', value: (row) => row.differsFrom },
  { header: 'OFFSETS', value: (row) => row.divergedOffsets },
  { header: 'RECORDS', value: (row) => (row.divergedRecordsComplete ? row.divergedRecords : `${row.divergedRecords ?? 0}+`) },
  { header: 'ACTION', value: (row) => row.action },
  { header: 'NEEDS', value: (row) => NEEDED[row.needs ?? 'nothing'] },
  { header: 'STATE', value: (row) => row.state, wide: true },
  { header: 'SOURCE-OFFSET', value: (row) => row.sourceOffset, wide: true },
  { header: 'EXPLANATION', value: (row) => row.explanation, sentence: true },
]

/** The option without which a partition stays as it is. */
export const NEEDED = { 'on-gap': '--on-gap=record', 'on-divergence': '--on-divergence=reseed', nothing: undefined } as const

export interface AddedRow {
  readonly topic: string
  readonly partitions: number
  readonly how: string
  readonly fastForward: { readonly offsets: bigint; readonly seconds: number; readonly bytes: bigint } | undefined
}

/** What adding topics would do. */
export const plannedColumns: readonly Column<AddedRow>[] = [
  { header: 'TOPIC', value: (row) => row.topic },
  { header: 'PARTITIONS', value: (row) => row.partitions },
  { header: 'ACTION', value: (row) => row.how },
  { header: 'FAST-FORWARD', value: (row) => row.fastForward?.offsets },
  { header: 'SECONDS', value: (row) => row.fastForward && Math.ceil(row.fastForward.seconds) },
  { header: 'DISK-BYTES', value: (row) => row.fastForward?.bytes },
]

const ENTITIES = { broker: 'broker', topic: 'topic', source: 'client', client: 'client' } as const

export const throttleColumns: readonly Column<ThrottleDescription>[] = [
  { header: 'ENTITY', value: (row) => ENTITIES[row.target.kind] },
  { header: 'NAME', value: (row) => throttleName(row) },
  { header: 'CONFIG', value: (row) => throttleConfig(row) },
  { header: 'VALUE', value: (row) => row.rate ?? (row.replicas && formatReplicas(row.replicas)) },
]

function throttleName({ target }: ThrottleDescription): string | number {
  if (target.kind === 'broker') return target.broker
  return target.kind === 'topic' ? target.topic : target.client
}

function throttleConfig({ target }: ThrottleDescription): string {
  if (target.kind === 'broker') return 'mirror.replication.throttled.rate'
  return target.kind === 'topic' ? 'mirror.replication.throttled.replicas' : 'consumer_byte_rate'
}

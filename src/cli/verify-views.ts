import type { LogDifference, VerifiedPartition, VerifyMirrorResult, VerifyProgress } from '../service/types.js'
import type { Colour, Column } from './table.js'

type Row = VerifiedPartition & { readonly mirror: string }

const COLOURS: Readonly<Record<VerifiedPartition['result'], Colour>> = { equal: 'green', different: 'red', failed: 'red' }

export const verifyColumns: readonly Column<Row>[] = [
  { header: 'MIRROR', value: (row) => row.mirror },
  { header: 'TOPIC', value: (row) => row.topic },
  { header: 'PARTITION', value: (row) => row.partition },
  { header: 'FROM', value: (row) => row.from },
  { header: 'TO', value: (row) => row.to },
  { header: 'RECORDS', value: (row) => row.records },
  { header: 'DIFFERENCES', value: (row) => row.differenceCount, colour: (row) => (row.differenceCount > 0n ? 'red' : undefined) },
  { header: 'LAG', value: (row) => row.lag },
  { header: 'RESULT', value: (row) => row.result, colour: (row) => COLOURS[row.result] },
  { header: 'SUPERSEDED', value: (row) => row.superseded, wide: true },
  { header: 'LOST', value: (row) => row.lost.map(({ from, to }) => `${from}-${to}`).join(',') || undefined, wide: true },
  { header: 'BYTES', value: (row) => row.bytes, wide: true },
  { header: 'FIRST-FINDING', value: firstFinding, wide: true, sentence: true },
]

function firstFinding({ differences, error }: Row): string | undefined {
  const [first] = differences
  return first === undefined ? error?.message : `offset ${first.offset}: ${what(first)}`
}

export const verifyRows = (result: VerifyMirrorResult): Row[] => result.partitions.map((row) => ({ mirror: result.mirror, ...row }))

/** `my-topic-0 at offset 17: value "a" on the source, "b" on the destination` */
export const differenceLine = (difference: LogDifference): string =>
  `${difference.topic}-${difference.partition} at offset ${difference.offset}: ${what(difference)}`

const what = ({ kind, message }: LogDifference) => (kind === 'record' ? `differs: ${message}` : message)

/** So many differences are told, however many partitions have some. */
const MOST_LINES = 50

/**
 * What the table has no room for, a line each; failures of many partitions with one reason together.
 *
 * @param told differences that were told already
 */
export function findingLines({ partitions }: VerifyMirrorResult, told: ReadonlySet<LogDifference> = new Set()): string[] {
  const untold = partitions.flatMap(({ differences }) => differences.filter((difference) => !told.has(difference)))
  const shown = untold.slice(0, Math.max(0, MOST_LINES - told.size))
  const hidden = partitions.reduce((sum, { differenceCount }) => sum + differenceCount, 0n) - BigInt(told.size + shown.length)
  const lines = shown.map(differenceLine)
  if (hidden > 0n) lines.push(`${hidden} more difference(s) are not shown; -o wide shows the first of each partition`)
  for (const { topic, partition, lost } of partitions)
    for (const { from, to } of lost)
      lines.push(`${topic}-${partition}: offsets ${from} to ${to} were lost on the source before they were copied, as recorded`)
  const failures = new Map<string, number>()
  for (const { error } of partitions) if (error !== undefined) failures.set(errorText(error), (failures.get(errorText(error)) ?? 0) + 1)
  for (const [text, count] of failures) lines.push(count === 1 ? text : `${text} (${count} partitions)`)
  return lines
}

const errorText = ({ message, advice }: { message: string; advice: string | undefined }) =>
  advice === undefined ? message : `${message} — ${advice[0]!.toLowerCase()}${advice.slice(1).replace(/\.$/, '')}`

/** How much was compared, and with what result. */
export function summaryLine(result: VerifyMirrorResult, milliseconds: number): string {
  const { mirror, partitions, seed } = result
  const sum = (of: (row: VerifiedPartition) => bigint) => partitions.reduce((total, row) => total + of(row), 0n)
  const count = (wanted: VerifiedPartition['result']) => partitions.filter((row) => row.result === wanted).length
  const parts = [`${count('equal')} of ${partitions.length} partition(s) equal`]
  if (count('different') > 0) parts.push(`${count('different')} different`)
  if (count('failed') > 0) parts.push(`${count('failed')} not compared to the end`)
  const bytes = Number(sum(({ bytes }) => bytes))
  const seconds = milliseconds / 1000
  const rate = bytes > 0 && seconds > 0 ? ` (${megabytes(bytes / seconds)}/s)` : ''
  const all = sum(({ from, to }) => (from === undefined || to === undefined ? 0n : to - from))
  const offsets = sum(({ offsets }) => offsets)
  const share = seed === undefined ? '' : ` in ${offsets} of ${all} offsets (--seed ${seed} chooses the same)`
  return `mirror ${mirror}: ${parts.join(', ')}; ${sum(({ records }) => records)} record(s)${share}, ${megabytes(bytes)} read in ${seconds.toFixed(1)} s${rate}`
}

export function progressLine(progress: VerifyProgress, milliseconds: number): string {
  const { partitions, partitionsDone, offsets, offsetsDone, bytes, differences } = progress
  const percent = offsets === 0 ? 100 : Math.min(100, Math.floor((100 * offsetsDone) / offsets))
  const rate = megabytes(bytes / Math.max(0.001, milliseconds / 1000))
  return `${percent} % of ${offsets} offsets, ${partitionsDone} of ${partitions} partition(s) done, ${rate}/s, ${differences} difference(s)`
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`

/** The result as JSON: an error is its code, sentence and advice. */
export function verifyJson({ warnings: _, ...result }: VerifyMirrorResult): unknown {
  return {
    ...result,
    partitions: result.partitions.map(({ error, ...row }) => ({
      ...row,
      error: error && { code: error.code, message: error.message, advice: error.advice },
    })),
  }
}

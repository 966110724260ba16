import { createHash } from 'node:crypto'
import type { LogRecord } from './batch-writer.js'
import type { LogEntry } from './model-broker.js'
import type { ReadRecord } from './read-log.js'

/**
 * A record as {@link ReadRecord} has it with content `hash`: `-` is null, `x` begins bytes in hex, and `h` the length and
 * digest of long ones.
 */
export function recordText({ timestamp, key, value, headers }: LogRecord): string {
  const pairs = headers.map(([name, content]) => `x${name.toString('hex')}=${text(content)}`)
  return `${timestamp} ${text(key)} ${text(value)} ${pairs.join(',')}`
}

function text(bytes: Buffer | null): string {
  if (bytes === null) return '-'
  if (bytes.length <= 16) return `x${bytes.toString('hex')}`
  return `h${bytes.length}:${createHash('sha256').update(bytes).digest('hex').slice(0, 24)}`
}

/** A line per offset, so that two logs are compared and shown at once. */
export const logText = (from: bigint, entries: readonly LogEntry[]): string[] =>
  entries.map((entry, i) => `${from + BigInt(i)} ${entry === undefined ? 'nothing' : recordText(entry)}`)

/** Header keys as Kafka's consumer gives them: as text, so that bytes which are not UTF-8 can't be told apart. */
const asConsumed = (record: LogRecord): LogRecord => ({
  ...record,
  headers: record.headers.map(([name, content]) => [Buffer.from(name.toString('utf8')), content] as const),
})

/** The lines of what a consumer sees. */
export const consumedText = (from: bigint, entries: readonly LogEntry[]): string[] =>
  entries.flatMap((entry, i) => (entry === undefined ? [] : [`${from + BigInt(i)} ${recordText(asConsumed(entry))}`]))

/** The same of what a consumer read with content `hash`. */
export const readText = (records: readonly ReadRecord[]): string[] =>
  records.map(({ offset, timestamp, key, value, headers }) => `${offset} ${timestamp} ${key} ${value} ${headers}`)

import { contentOf, differingHeader, type RecordContent, type RecordField } from './record-content.js'
import type { RecordCursor } from './record-cursor.js'

/** More of a key or value is not shown. */
const SHOWN_BYTES = 40
/** What is shown before the first byte that differs. */
const LEAD_BYTES = 8

/** In which way two records of one offset differ, for people: `value "a" on the source, "b" on the destination`. */
export function showFields(fields: readonly RecordField[], source: RecordCursor, destination: RecordCursor): string {
  const [left, right] = [contentOf(source), contentOf(destination)]
  return fields
    .map((field) => {
      if (field === 'timestamp') return sides('timestamp', source.timestamp, destination.timestamp)
      return field === 'headers' ? showHeaders(left, right) : showBytes(field, left[field], right[field])
    })
    .join('; ')
}

/** A record that one side lacks. */
export function showRecord(record: RecordCursor): string {
  const { key, value } = contentOf(record)
  return `key ${showValue(key)}, value ${showValue(value)}, timestamp ${record.timestamp}`
}

const sides = (what: string, source: unknown, destination: unknown) => `${what} ${source} on the source, ${destination} on the destination`

function showBytes(field: string, source: Buffer | null, destination: Buffer | null): string {
  const long = source !== null && destination !== null && Math.max(source.length, destination.length) > SHOWN_BYTES
  if (!long) return sides(field, showValue(source), showValue(destination))
  const at = firstDifference(source, destination)
  const from = Math.max(0, at - LEAD_BYTES)
  return sides(`${field} from byte ${from} on`, showValue(source.subarray(from)), showValue(destination.subarray(from)))
}

function showHeaders(source: RecordContent, destination: RecordContent): string {
  const at = differingHeader(source, destination) ?? 0
  const text = (header: RecordContent['headers'][number] | undefined) =>
    header === undefined ? 'missing' : `${showValue(header[0])}=${showValue(header[1])}`
  return sides(`header ${at + 1}`, text(source.headers[at]), text(destination.headers[at]))
}

function firstDifference(a: Buffer, b: Buffer): number {
  const end = Math.min(a.length, b.length)
  for (let i = 0; i < end; i++) if (a[i] !== b[i]) return i
  return end
}

/** Text in quotes where it is text, else hex; long ones with their size. */
export function showValue(bytes: Buffer | null): string {
  if (bytes === null) return 'null'
  const part = bytes.subarray(0, SHOWN_BYTES)
  const text = part.toString('utf8')
  // A character cut in two at the end is no reason to show hex.
  const whole = part.length < bytes.length ? text.replace(/\ufffd+$/, '') : text
  const shown = /[\ufffd\p{Cc}]/u.test(whole) ? `0x${part.toString('hex')}` : JSON.stringify(whole)
  return part.length < bytes.length ? `${shown}… (${bytes.length} bytes)` : shown
}

import type { RecordCursor } from './record-cursor.js'

/** What is in a record beside its offset and time. Header keys are bytes: nothing makes clients other than Java's write UTF-8. */
export interface RecordContent {
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** In their order; a key may come twice. */
  readonly headers: readonly (readonly [key: Buffer | null, value: Buffer | null])[]
}

/** What of a record may differ at one offset. */
export type RecordField = 'timestamp' | 'key' | 'value' | 'headers'

/** Whether key, value and headers are byte for byte the same. */
export function sameBytes(a: RecordCursor, b: RecordCursor): boolean {
  return a.end - a.start === b.end - b.start && a.bytes.compare(b.bytes, b.start, b.end, a.start, a.end) === 0
}

/** Which fields differ; none, too, where only the lengths are spelled differently. */
export function differingFields(a: RecordCursor, b: RecordCursor): RecordField[] {
  const fields: RecordField[] = a.timestamp === b.timestamp ? [] : ['timestamp']
  if (sameBytes(a, b)) return fields
  const [left, right] = [contentOf(a), contentOf(b)]
  if (!sameOrNull(left.key, right.key)) fields.push('key')
  if (!sameOrNull(left.value, right.value)) fields.push('value')
  if (differingHeader(left, right) !== undefined) fields.push('headers')
  return fields
}

/** Index of the first header that differs, undefined if none does. */
export function differingHeader(a: RecordContent, b: RecordContent): number | undefined {
  for (let i = 0; i < Math.max(a.headers.length, b.headers.length); i++) {
    const [left, right] = [a.headers[i], b.headers[i]]
    if (left === undefined || right === undefined || !sameOrNull(left[0], right[0]) || !sameOrNull(left[1], right[1])) return i
  }
  return undefined
}

export const sameOrNull = (a: Buffer | null, b: Buffer | null): boolean => (a === null || b === null ? a === b : a.equals(b))

/** The key, as a view that lives no longer than the fetched bytes. */
export function keyOf(record: RecordCursor): Buffer | null {
  return new Reader(record).sized()
}

/** Key, value and headers, as views that live no longer than the fetched bytes. Throws RangeError where they do not add up. */
export function contentOf(record: RecordCursor): RecordContent {
  const reader = new Reader(record)
  const [key, value] = [reader.sized(), reader.sized()]
  const headers: [Buffer | null, Buffer | null][] = []
  for (let left = reader.varint(); left > 0; left--) headers.push([reader.sized(), reader.sized()])
  return { key, value, headers }
}

class Reader {
  private at: number

  constructor(private readonly record: RecordCursor) {
    this.at = record.start
  }

  sized(): Buffer | null {
    const size = this.varint()
    if (size < 0) return null
    const start = this.at
    this.at += size
    if (this.at > this.record.end) throw new RangeError('a record ends early')
    return this.record.bytes.subarray(start, this.at)
  }

  varint(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      if (this.at >= this.record.end || factor > 2 ** 35) throw new RangeError('a record ends early')
      const byte = this.record.bytes[this.at++]!
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
    }
  }
}

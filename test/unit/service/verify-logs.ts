import { type Batch, scanBatches } from '../../../src/records/index.js'
import { abortedBatches } from '../../../src/service/verify/aborted-batches.js'
import { Comparison, type Findings, type Side } from '../../../src/service/verify/comparison.js'
import { type Delivery, LogView, type OffsetRange } from '../../../src/service/verify/log-view.js'
import type { RecordCursor } from '../../../src/service/verify/record-cursor.js'
import { type LogRecord, writeBatch } from '../../support/batch-writer.js'

/** Offset → record. */
export type Log = ReadonlyMap<number, LogRecord>

export const record = (value: string | null, key: string | null = null, timestamp = 1_700_000_000_000n): LogRecord => ({
  timestamp,
  key: key === null ? null : Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
  headers: [],
})

/** A fetched set of these batches. */
export function delivery(bytes: readonly Buffer[], aborted: { producerId: bigint; firstOffset: bigint }[] = []): Delivery {
  const batches: Batch[] = [...scanBatches(Buffer.concat(bytes))]
  const { header } = batches.at(-1)!
  return {
    batches,
    aborted: abortedBatches(batches, aborted),
    nextOffset: header.baseOffset + BigInt(header.lastOffsetDelta + 1),
    release: () => {},
  }
}

/** One batch of the log's records from `from` up to `to`; a hollow one where there are none. */
export function batchOf(log: Log, from: number, to: number, options: Partial<Parameters<typeof writeBatch>[0]> = {}): Buffer {
  const records = [...log].filter(([offset]) => from <= offset && offset < to).map(([offset, each]) => [offset - from, each] as const)
  return writeBatch({ baseOffset: BigInt(from), lastOffsetDelta: to - from - 1, records, ...options })
}

/** What a comparison finds, in words. */
export class Noted implements Findings {
  readonly lines: string[] = []
  readonly watching: boolean = false
  readonly full: boolean = false

  differs(offset: number, fields: readonly string[]): void {
    this.lines.push(`${offset} ${fields.join()}`)
  }

  lacks(side: Side, { offset }: RecordCursor): void {
    this.lines.push(`${offset} not on the ${side}`)
  }

  seen(): void {}
}

/** Compares two rows of record sets. */
export function compared(
  source: readonly Delivery[],
  destination: readonly Delivery[],
  range: OffsetRange,
): { lines: string[]; records: number } {
  const noted = new Noted()
  const left = { view: new LogView({ range, origin: 0n, place: 'source' }), deliveries: [...source] }
  const right = {
    view: new LogView({
      range,
      origin: 0n,
      place: 'destination',
      transactional: ({ header }) => noted.lines.push(`${header.baseOffset} transactional`),
    }),
    deliveries: [...destination],
  }
  const comparison = new Comparison(left.view, right.view, noted)
  for (;;) {
    const halt = comparison.run()
    if (halt === 'done' || halt === 'full') return { lines: noted.lines, records: comparison.records }
    for (const side of halt) {
      const { view, deliveries } = side === 'source' ? left : right
      const next = deliveries.shift()
      if (next === undefined) view.finish()
      else view.give(next)
    }
  }
}

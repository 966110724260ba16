import type { PartitionStatus } from '../../mirror/state.js'
import type { Findings, Side } from './comparison.js'
import type { RecordField } from './record-content.js'
import type { RecordCursor, Timestamp } from './record-cursor.js'
import { showFields, showRecord } from './show.js'
import type { OpenKey, SupersededKeys } from './superseded-keys.js'
import type { DifferenceKind, LogDifference } from './types.js'

/** How a compacted topic is judged. */
export interface CompactionRule {
  readonly keys: SupersededKeys
  /** Whether a tombstone may be gone from that side by now. */
  mayHaveExpired(timestamp: Timestamp, from: Side): boolean
}

export interface FindingsOptions {
  /** The offset that the comparison's offsets count from. */
  readonly origin: bigint
  readonly lost: PartitionStatus['lostRanges']
  /** Undefined where nothing may be missing. */
  readonly compaction: CompactionRule | undefined
  /** Whether the source has a control record or an aborted one there. */
  readonly isDark: (offset: number) => boolean
  readonly book: DifferenceBook
}

/** The differences of one partition: the first are kept and told, all are counted. */
export class DifferenceBook {
  readonly kept: LogDifference[] = []
  count = 0

  constructor(
    private readonly topic: string,
    private readonly partition: number,
    private readonly most: number,
    private readonly told: (difference: LogDifference) => void,
  ) {}

  /** `message` is asked for only if it is shown. */
  add(kind: DifferenceKind, offset: bigint, message: () => string, fields: readonly RecordField[] = []): void {
    this.count++
    if (this.kept.length >= this.most) return
    const difference = { topic: this.topic, partition: this.partition, offset, kind, fields, message: message() }
    this.kept.push(difference)
    this.told(difference)
  }
}

const OTHER = { source: 'destination', destination: 'source' } as const

/** Judges what a comparison finds. */
export class PartitionFindings implements Findings {
  constructor(private readonly options: FindingsOptions) {}

  get watching(): boolean {
    return (this.options.compaction?.keys.size ?? 0) > 0
  }

  get full(): boolean {
    return this.options.compaction?.keys.full ?? false
  }

  seen(record: RecordCursor): void {
    this.options.compaction?.keys.seen(record)
  }

  differs(offset: number, fields: readonly RecordField[], source: RecordCursor, destination: RecordCursor): void {
    this.options.book.add('record', this.absolute(offset), () => showFields(fields, source, destination), fields)
  }

  lacks(side: Side, record: RecordCursor): void {
    const { compaction, book, isDark } = this.options
    const offset = this.absolute(record.offset)
    if (this.isLost(offset)) return
    const dark = side === 'source' && compaction !== undefined && isDark(record.offset)
    if (compaction !== undefined && !dark) compaction.keys.add(record, side)
    else if (side === 'destination') book.add('missing', offset, () => `missing on the destination; the source has ${showRecord(record)}`)
    else book.add('extra', offset, () => `only on the destination: ${showRecord(record)}; the source shows consumers nothing there`)
  }

  /** What is still open when everything was looked at. */
  judgeLeft(left: readonly OpenKey[]): void {
    const { compaction, book } = this.options
    if (compaction === undefined) return
    for (const { offset, lackedBy, tombstone, timestamp } of left) {
      if (tombstone && compaction.mayHaveExpired(timestamp, lackedBy)) {
        compaction.keys.superseded++
        continue
      }
      const what = tombstone ? 'a tombstone too young to have been compacted away' : 'a record'
      const kind = lackedBy === 'destination' ? 'missing' : 'extra'
      book.add(kind, this.absolute(offset), () => `on the ${OTHER[lackedBy]} only: ${what}, and there is no later one of its key`)
    }
  }

  private absolute(offset: number): bigint {
    return this.options.origin + BigInt(offset)
  }

  private isLost(offset: bigint): boolean {
    return this.options.lost.some(({ from, to }) => from <= offset && offset <= to)
  }
}

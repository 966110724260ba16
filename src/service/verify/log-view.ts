import { failure, type MirrorError } from '../../mirror/errors.js'
import { isControl, isTransactional, lastOffset } from '../../records/batch.js'
import type { Batch } from '../../records/scan.js'
import { type RecordCursor, recordsOf } from './record-cursor.js'

/** A fetched record set. */
export interface Delivery {
  readonly batches: readonly Batch[]
  /** Those of aborted transactions; nothing where all must be seen. */
  readonly aborted: ReadonlySet<Batch>
  /** The offset after the last batch. */
  readonly nextOffset: bigint
  /** Lets go of the memory behind it. */
  release(): void
}

/** Offsets from `from` up to, not including, `to`. */
export interface OffsetRange {
  readonly from: bigint
  readonly to: bigint
}

export interface ViewOptions {
  readonly range: OffsetRange
  /** Where offsets count from. */
  readonly origin: bigint
  /** The partition and its side, as sentences name them. */
  readonly place: string
  /** Told of every batch of a transaction before its records are read, where there should be none. */
  readonly transactional?: (batch: Batch) => void
  /** Whether {@link LogView.isDark} will be asked. */
  readonly remembersDark?: boolean
}

/**
 * One side of a comparison: the records that consumers see between two offsets, read from what was fetched so far. Inside,
 * offsets count from an origin, as numbers.
 */
export class LogView {
  /** Everything below is known. */
  known: number
  private readonly end: number
  private first: number
  private delivery: Delivery | undefined
  private next = 0
  private records: RecordCursor | undefined
  private readonly dark: { from: number; to: number }[] = []

  constructor(private readonly options: ViewOptions) {
    const { range } = options
    this.first = this.relative(range.from)
    this.known = this.first
    this.end = this.relative(range.to)
  }

  get done(): boolean {
    return this.known >= this.end && this.current === undefined
  }

  /** Takes the next record set; the last one must be used up. */
  give(delivery: Delivery): void {
    this.close()
    this.delivery = delivery
    this.next = 0
    this.known = Math.max(this.known, Math.min(this.end, this.relative(delivery.nextOffset)))
  }

  /** There is nothing more. */
  finish(): void {
    this.known = this.end
  }

  /** The record at hand, undefined once everything given is used up. */
  get current(): RecordCursor | undefined {
    while (this.records === undefined) {
      const batch = this.batch()
      if (batch === undefined) return undefined
      this.next++
      if (isTransactional(batch.header)) this.options.transactional?.(batch)
      this.records = this.opened(batch)
      this.advance()
    }
    return this.records
  }

  /** Leaves the record at hand. Throws MirrorError where a batch cannot be read. */
  advance(): void {
    const { records } = this
    try {
      while (records?.next()) {
        if (records.offset < this.first) continue
        if (records.offset >= this.end) break
        return
      }
    } catch (error) {
      throw this.unreadable(error)
    }
    this.records = undefined
  }

  /** The next batch as a whole, if none is open, all of it is in the range, and all its records are seen. */
  get whole(): Batch | undefined {
    if (this.records !== undefined) return undefined
    const batch = this.batch()
    if (batch === undefined || batch.header.magic < 2) return undefined
    if (this.options.transactional !== undefined && isTransactional(batch.header)) return undefined
    const at = this.relative(batch.header.baseOffset)
    return at >= this.first && at + batch.header.lastOffsetDelta < this.end ? batch : undefined
  }

  /** Leaves {@link whole} unread. */
  pass(): void {
    this.next++
  }

  /** Records below `offset` are of no interest any more. */
  raise(offset: bigint): void {
    this.first = Math.max(this.first, this.relative(offset))
    if (this.records !== undefined && this.records.offset < this.first) this.advance()
    this.known = Math.max(this.known, Math.min(this.end, this.first))
  }

  /** Whether a control record or an aborted one is at this offset. Asked with offsets that only grow. */
  isDark(offset: number): boolean {
    this.forgetDark(offset)
    return this.dark.length > 0 && this.dark[0]!.from <= offset
  }

  /** {@link isDark} will not be asked below this offset any more. */
  forgetDark(offset: number): void {
    const kept = this.dark.findIndex(({ to }) => to > offset)
    if (kept !== 0) this.dark.splice(0, kept < 0 ? this.dark.length : kept)
  }

  /** Lets go of the memory. */
  close(): void {
    this.delivery?.release()
    this.delivery = undefined
    this.records = undefined
  }

  /** The first batch that has something to see, of those given and not used. */
  private batch(): Batch | undefined {
    const { delivery } = this
    if (delivery === undefined) return undefined
    for (; this.next < delivery.batches.length; this.next++) {
      const batch = delivery.batches[this.next]!
      const { header } = batch
      // The base offset of an old compressed wrapper is its last one.
      if (header.magic >= 2 && this.relative(header.baseOffset) >= this.end) return undefined
      const dark = isControl(header) || delivery.aborted.has(batch)
      if (dark && this.options.remembersDark) this.remember(batch)
      if (dark || header.count === 0 || this.relative(lastOffset(header)) < this.first) continue
      return batch
    }
    return undefined
  }

  private remember({ header }: Batch): void {
    const from = this.relative(header.baseOffset)
    const to = from + header.lastOffsetDelta + 1
    const last = this.dark.at(-1)
    if (last !== undefined && last.to === from) last.to = to
    else this.dark.push({ from, to })
  }

  private opened(batch: Batch): RecordCursor {
    try {
      return recordsOf(batch, this.options.origin)
    } catch (error) {
      throw this.unreadable(error)
    }
  }

  private unreadable(error: unknown): MirrorError {
    return failure('KAFKA', `${this.options.place} cannot be read: ${(error as Error).message}`, undefined, error)
  }

  private relative(offset: bigint): number {
    return Number(offset - this.options.origin)
  }
}

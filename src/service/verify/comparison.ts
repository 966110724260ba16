import { At, Bit } from '../../records/batch.js'
import type { Batch } from '../../records/scan.js'
import type { LogView } from './log-view.js'
import { differingFields, type RecordField } from './record-content.js'
import type { RecordCursor } from './record-cursor.js'

export type Side = 'source' | 'destination'

/** What a comparison finds. Offsets count from the beginning of the range. */
export interface Findings {
  /** The same offset holds other content. */
  differs(offset: number, fields: readonly RecordField[], source: RecordCursor, destination: RecordCursor): void
  /** Only one side has a record there. */
  lacks(side: Side, record: RecordCursor): void
  /** Whether {@link seen} is to be told of records that are the same on both sides. */
  readonly watching: boolean
  seen(record: RecordCursor): void
  /** Whether it can take no more for now. */
  readonly full: boolean
}

/** What holds a comparison up: record sets that are wanted, or findings that are full; `done` at the end of the range. */
export type Halt = 'done' | 'full' | readonly Side[]

/** Compares two logs in one walk, batch by batch where they are the same bytes, else record by record. */
export class Comparison {
  /** Records that were compared. */
  records = 0

  constructor(
    private readonly source: LogView,
    private readonly destination: LogView,
    private readonly findings: Findings,
  ) {}

  /** Goes on as far as both sides are known. Throws MirrorError where a batch cannot be read. */
  run(): Halt {
    const halt = this.walk()
    this.source.forgetDark(this.position)
    return halt
  }

  private walk(): Halt {
    const { source, destination, findings } = this
    for (;;) {
      if (findings.full) return 'full'
      this.passEqualBatches()
      const left = source.current
      const right = destination.current
      if (left !== undefined && right !== undefined) {
        if (left.offset === right.offset) this.both(left, right)
        else if (left.offset < right.offset) this.only('source', left)
        else this.only('destination', right)
      } else if (left !== undefined) {
        if (left.offset >= destination.known) return ['destination']
        this.only('source', left)
      } else if (right !== undefined) {
        if (right.offset >= source.known) return ['source']
        this.only('destination', right)
      } else {
        return this.wanted()
      }
    }
  }

  /** The offset up to which nothing is left to compare. */
  get position(): number {
    const heads = [this.source, this.destination].map((view) => view.current?.offset ?? view.known)
    return Math.min(...heads)
  }

  /** Both are used up: the one that is behind goes first, so that neither runs away from the other. */
  private wanted(): Halt {
    const { source, destination } = this
    if (source.known < destination.known) return ['source']
    if (destination.known < source.known) return ['destination']
    return source.done ? 'done' : ['source', 'destination']
  }

  private passEqualBatches(): void {
    const { source, destination, findings } = this
    if (findings.watching) return
    for (;;) {
      const left = source.whole
      if (left === undefined) return
      const right = destination.whole
      if (right === undefined || !sameBatch(left, right)) return
      this.records += left.header.count
      source.pass()
      destination.pass()
    }
  }

  private both(left: RecordCursor, right: RecordCursor): void {
    this.records++
    const fields = differingFields(left, right)
    if (fields.length > 0) this.findings.differs(left.offset, fields, left, right)
    if (this.findings.watching) this.findings.seen(left)
    this.source.advance()
    this.destination.advance()
  }

  private only(side: Side, record: RecordCursor): void {
    this.records++
    this.findings.lacks(side === 'source' ? 'destination' : 'source', record)
    if (side === 'source') this.source.advance()
    else this.destination.advance()
  }
}

const MEANING = Bit.compression | Bit.logAppendTime

/** Whether two batches hold the same records for sure: what tells their offsets and times is the same, and so is every byte of them. */
function sameBatch(a: Batch, b: Batch): boolean {
  if (a.header.size !== b.header.size || a.header.baseOffset !== b.header.baseOffset) return false
  if ((a.header.attributes & MEANING) !== (b.header.attributes & MEANING)) return false
  const [left, right] = [a.bytes, b.bytes]
  // Last offset delta and both timestamps, then the count and the records.
  const times = left.compare(right, At.lastOffsetDelta, At.producerId, At.lastOffsetDelta, At.producerId)
  return times === 0 && left.compare(right, At.count, right.length, At.count, left.length) === 0
}

import { isControl, isTransactional, lastOffset, nextOffset as offsetAfter, usesLogAppendTime } from './batch.js'
import { type Batch, controlTypeOf, isDense } from './scan.js'

/** What to do at the destination's log end, in order. Steps follow each other without gap or overlap. */
export type Step =
  | {
      readonly kind: 'append'
      /** The source's batch, not patched yet: a view into the fetched bytes. */
      readonly bytes: Buffer
      readonly baseOffset: bigint
      readonly count: number
      readonly size: number
      readonly leaderEpoch: number
    }
  | { readonly kind: 'fill'; readonly baseOffset: bigint; readonly count: number; readonly leaderEpoch: number; readonly why: FillReason }
  | { readonly kind: 'refuse'; readonly baseOffset: bigint; readonly reason: string }

export type FillReason = 'control' | 'aborted' | 'hollow' | 'hole'

/** An aborted transaction as Fetch v4+ lists it for read_committed. */
export interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

export interface TranslateOptions {
  /** The destination's log end: the first offset wanted. */
  readonly nextOffset: bigint
  readonly abortedTransactions: readonly AbortedTransaction[]
  /** Largest batch the destination topic takes, in bytes (`max.message.bytes`). */
  readonly maxMessageBytes: number
}

/** What a row may look at beside the batch itself. */
export interface RowContext {
  readonly aborted: boolean
  /** First offset of the batch still wanted: above its base offset where part of it is at the destination already. */
  readonly from: bigint
  readonly maxMessageBytes: number
}

/** One row of the translation table: the first that matches a batch says what becomes of it. */
export interface TranslationRow {
  readonly name: string
  matches(batch: Batch, context: RowContext): boolean
  step(batch: Batch, context: RowContext): Step
}

const refuse = (reason: (batch: Batch, context: RowContext) => string) => (batch: Batch, context: RowContext) =>
  ({ kind: 'refuse', baseOffset: context.from, reason: reason(batch, context) }) as const

const fill = (why: FillReason) => (batch: Batch, context: RowContext) =>
  ({
    kind: 'fill',
    baseOffset: context.from,
    count: Number(offsetAfter(batch.header) - context.from),
    leaderEpoch: batch.header.leaderEpoch,
    why,
  }) as const

const at = (batch: Batch) => `the source's batch at offset ${batch.header.baseOffset}`

/** What a source batch becomes on the destination, first match wins. */
export const TRANSLATION: readonly TranslationRow[] = [
  {
    name: 'old format',
    matches: ({ header }) => header.magic < 2,
    step: refuse((b) => `${at(b)} has the old message format ${b.header.magic}, which is not copied yet`),
  },
  { name: 'control', matches: ({ header }) => isControl(header), step: fill('control') },
  { name: 'aborted', matches: (_, { aborted }) => aborted, step: fill('aborted') },
  { name: 'hollow', matches: ({ header }) => header.count === 0, step: fill('hollow') },
  {
    name: 'log append time',
    matches: ({ header }) => usesLogAppendTime(header),
    step: refuse((b) => `${at(b)} has message.timestamp.type=LogAppendTime, which is not copied yet`),
  },
  {
    name: 'thinned',
    matches: (batch) => !isDense(batch),
    step: refuse(
      (b) =>
        `${at(b)} was thinned by compaction (${b.header.count} records in ${b.header.lastOffsetDelta + 1} offsets), which is not copied yet`,
    ),
  },
  {
    name: 'straddling',
    matches: ({ header }, { from }) => from > header.baseOffset,
    step: refuse((b, { from }) => `the destination's log ends at offset ${from}, inside ${at(b)}, which is not copied in part yet`),
  },
  {
    name: 'too large',
    matches: ({ header }, { maxMessageBytes }) => header.size > maxMessageBytes,
    step: refuse(
      (b, { maxMessageBytes }) =>
        `${at(b)} has ${b.header.size} bytes, more than the destination topic's max.message.bytes=${maxMessageBytes}`,
    ),
  },
  {
    name: 'dense',
    matches: () => true,
    step: (batch) => {
      const { baseOffset, count, size, leaderEpoch } = batch.header
      return { kind: 'append', bytes: batch.bytes, baseOffset, count, size, leaderEpoch }
    },
  },
]

/**
 * Turns one fetched record set, in order, into steps that cover `nextOffset` up to the end of its last batch exactly, or up to the
 * first refusal. Batches that end below `nextOffset` are skipped (a fetch returns whole batches), gaps between batches
 * are filled, neighbouring fills are merged. Fetched read_committed: nothing of an open transaction may be in it.
 * @throws {CorruptBatchError} where `batches` does, or where offsets go backwards.
 */
export function translate(batches: Iterable<Batch>, options: TranslateOptions): Step[] {
  const steps: Step[] = []
  const aborted = new AbortedRanges(options.abortedTransactions)
  const { maxMessageBytes } = options
  let next = options.nextOffset
  for (const batch of batches) {
    const { header } = batch
    const isAborted = aborted.covers(batch)
    const after = offsetAfter(header)
    if (after <= next) continue
    // The base offset of an old compressed wrapper is that of its last message: what lies before it is no hole.
    const from = header.magic >= 2 && header.baseOffset > next ? header.baseOffset : next
    if (from > next) {
      push(steps, { kind: 'fill', baseOffset: next, count: Number(from - next), leaderEpoch: header.leaderEpoch, why: 'hole' })
    }
    const step = rowOf(batch, { aborted: isAborted, from, maxMessageBytes })
    push(steps, step)
    if (step.kind === 'refuse') break
    next = after
  }
  return steps
}

function rowOf(batch: Batch, context: RowContext): Step {
  for (const row of TRANSLATION) if (row.matches(batch, context)) return row.step(batch, context)
  throw new Error('the last row of the translation table matches every batch')
}

function push(steps: Step[], step: Step): void {
  const last = steps[steps.length - 1]
  if (step.kind === 'fill' && last?.kind === 'fill') {
    // One reason is kept for the log; the leader epoch must be that of the newest offset covered.
    steps[steps.length - 1] = { ...last, count: last.count + step.count, leaderEpoch: step.leaderEpoch }
  } else {
    steps.push(step)
  }
}

/** Which transactional batches were aborted, as Kafka's consumer decides it (`CompletedFetch.nextFetchedRecord`). */
export class AbortedRanges {
  private readonly pending: AbortedTransaction[]
  private readonly producerIds = new Set<bigint>()
  private index = 0

  constructor(transactions: readonly AbortedTransaction[]) {
    this.pending = [...transactions].sort((a, b) => (a.firstOffset < b.firstOffset ? -1 : a.firstOffset > b.firstOffset ? 1 : 0))
  }

  /** Must be asked for every batch in order, those below the wanted offset too. */
  covers(batch: Batch): boolean {
    if (this.pending.length === 0 || !isTransactional(batch.header)) return false
    const last = lastOffset(batch.header)
    while (this.index < this.pending.length && this.pending[this.index]!.firstOffset <= last) {
      this.producerIds.add(this.pending[this.index++]!.producerId)
    }
    const { producerId } = batch.header
    if (!isControl(batch.header)) return this.producerIds.has(producerId)
    if (controlTypeOf(batch) === 'abort') this.producerIds.delete(producerId)
    return false
  }
}

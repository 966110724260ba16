import { AbortedRanges, type AbortedTransaction } from './aborted.js'
import { CorruptBatchError, isControl, nextOffset as offsetAfter, usesLogAppendTime } from './batch.js'
import { HalfReadTransactions } from './half-read.js'
import { mergedBytes } from './merge.js'
import { rewrite as rewriteFrom } from './rewrite.js'
import { type Batch, batchAt, isDense } from './scan.js'
import { smallRun } from './small-run.js'
import type { FillReason, Step } from './steps.js'

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
  steps(batch: Batch, context: RowContext): readonly Step[]
}

const fill =
  (why: FillReason) =>
  ({ header }: Batch, { from }: RowContext): Step[] => [
    { kind: 'fill', baseOffset: from, count: Number(offsetAfter(header) - from), leaderEpoch: header.leaderEpoch, why },
  ]

/** Opened and encoded anew. One way for all that need it, so that a batch may match several rows: what is done is right for each. */
const rewrite = (batch: Batch, { from, maxMessageBytes }: RowContext) => rewriteFrom(batch, from, maxMessageBytes)

const copy = ({ header, bytes }: Batch): Step[] => {
  const { baseOffset, count, size, leaderEpoch } = header
  return [{ kind: 'append', bytes, batches: 1, rewritten: false, baseOffset, count, size, leaderEpoch }]
}

/** What a source batch becomes on the destination, first match wins. */
export const TRANSLATION: readonly TranslationRow[] = [
  { name: 'old format', matches: ({ header }) => header.magic < 2, steps: rewrite },
  { name: 'control', matches: ({ header }) => isControl(header), steps: fill('control') },
  { name: 'aborted', matches: (_, { aborted }) => aborted, steps: fill('aborted') },
  { name: 'hollow', matches: ({ header }) => header.count === 0, steps: fill('hollow') },
  { name: 'log append time', matches: ({ header }) => usesLogAppendTime(header), steps: rewrite },
  { name: 'thinned', matches: (batch) => !isDense(batch), steps: rewrite },
  { name: 'straddling', matches: ({ header }, { from }) => from > header.baseOffset, steps: rewrite },
  { name: 'too large', matches: ({ header }, { maxMessageBytes }) => header.size > maxMessageBytes, steps: rewrite },
  { name: 'dense', matches: () => true, steps: copy },
]

/**
 * Turns one fetched record set, in order, into steps that cover `nextOffset` up to the end of its last batch exactly, or up to the
 * first refusal. Batches that end below `nextOffset` are skipped (a fetch returns whole batches), gaps between batches
 * are filled, neighbouring fills are merged, and so are runs of small batches (one step, to be merged once they are sent).
 * A set that ends inside of transactions is cut before them, if anything is before them: what a failover finds then is whole.
 * A corrupt batch, or one that can't be opened, is refused. Fetched read_committed: nothing of an open transaction may be in it.
 */
export function translate(records: Buffer, options: TranslateOptions): Step[] {
  const steps: Step[] = []
  const aborted = new AbortedRanges(options.abortedTransactions)
  const transactions = new HalfReadTransactions()
  const { nextOffset, maxMessageBytes } = options
  const runBytes = mergedBytes(maxMessageBytes)
  let next = nextOffset
  let at = 0
  try {
    for (;;) {
      const run = smallRun(records, at, next, runBytes)
      if (run !== undefined) {
        const bytes = records.subarray(at, run.end)
        const { batches, count, leaderEpoch } = run
        steps.push({ kind: 'append', bytes, batches, rewritten: false, baseOffset: next, count, size: bytes.length, leaderEpoch })
        next += BigInt(count)
        at = run.end
        continue
      }
      const batch = batchAt(records, at)
      if (batch === undefined) break
      const { header } = batch
      at += header.size
      const isAborted = aborted.covers(batch)
      const after = offsetAfter(header)
      if (after <= next) continue
      // The base offset of an old compressed wrapper is that of its last message: what lies before it is no hole.
      const from = header.magic >= 2 && header.baseOffset > next ? header.baseOffset : next
      if (from > next) {
        push(steps, { kind: 'fill', baseOffset: next, count: Number(from - next), leaderEpoch: header.leaderEpoch, why: 'hole' })
        next = from
      }
      if (!isAborted) transactions.saw(batch, from)
      for (const step of stepsOf(batch, { aborted: isAborted, from, maxMessageBytes })) push(steps, step)
      if (steps.at(-1)?.kind === 'refuse') break
      next = after
    }
  } catch (error) {
    if (!(error instanceof CorruptBatchError)) throw error
    push(steps, { kind: 'refuse', baseOffset: next, reason: error.message })
  }
  const { cut } = transactions
  return cut === undefined || cut <= nextOffset ? steps : steps.filter(({ baseOffset }) => baseOffset < cut)
}

function stepsOf(batch: Batch, context: RowContext): readonly Step[] {
  for (const row of TRANSLATION) if (row.matches(batch, context)) return row.steps(batch, context)
  throw new Error('the last row of the translation table matches every batch')
}

function push(steps: Step[], step: Step): void {
  const last = steps[steps.length - 1]
  if (step.kind === 'fill' && last?.kind === 'fill') {
    // One reason is kept for the log; the leader epoch must be the newest of the offsets covered (old formats have none).
    steps[steps.length - 1] = { ...last, count: last.count + step.count, leaderEpoch: Math.max(last.leaderEpoch, step.leaderEpoch) }
  } else {
    steps.push(step)
  }
}

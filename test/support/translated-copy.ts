import { mergeBatches, mergeKeyOf, nextSequence, patchForAppend, translate } from '../../src/records/index.js'
import { readBatch } from './batch-reader.js'
import { latestOf } from './batch-writer.js'
import type { AppendAnswer } from './model-broker.js'
import type { FetchCut, SourceLog } from './source-log.js'

/** Where the copy goes: a model's partition, or a real one. */
export interface CopyTarget {
  logEndOffset(): bigint | Promise<bigint>
  append(batch: Buffer): AppendAnswer | Promise<AppendAnswer>
  mark(count: number): void | Promise<void>
}

/** One fetch and what is done with it. */
export interface CopyRound extends FetchCut {
  /** The copier dies after so many steps, amid a fill if that is the last one; what is left is fetched again. */
  readonly diesAfter?: number
  /** Mergeable neighbours are sent as one batch. */
  readonly merges?: boolean
}

export interface CopyOptions {
  readonly producerId: bigint
  readonly maxMessageBytes: number
  /** Over and over. */
  readonly rounds: readonly CopyRound[]
}

/** Any will do for a producer that the broker does not know; this one comes to where they begin again soon. */
const FIRST_SEQUENCE = 2 ** 31 - 20

/** One batch or several back to back, in memory of their own. */
interface Appendable {
  readonly kind: 'append'
  readonly baseOffset: bigint
  readonly bytes: Buffer
  readonly batches: number
}
type Action = Appendable | { readonly kind: 'fill'; readonly baseOffset: bigint; readonly count: number }

/** Where a copy stopped and why; without a reason it got to the end of the stable log. */
export interface CopyStop {
  readonly baseOffset: bigint
  readonly reason: string
}

/**
 * Copies a source log as the engine does, with `translate` and `patchForAppend`: fetch at the destination's log end, cut
 * anywhere, do the steps in order, check every base offset.
 *
 * @throws Error where steps leave a gap or overlap, end inside of a transaction without need, keep the fetched memory against their word, or the target refuses a batch
 */
export async function copyTranslated(source: SourceLog, target: CopyTarget, options: CopyOptions): Promise<CopyStop | undefined> {
  let sequence: number | undefined
  for (let turn = 0; ; turn++) {
    if (turn > 1_000) throw new Error('the copy makes no progress')
    const round = options.rounds[turn % options.rounds.length]!
    const from = await target.logEndOffset()
    const { actions, stop } = translated(source, from, round, options.maxMessageBytes)
    if (actions.length === 0) return stop
    const dying = actions.slice(0, round.diesAfter)
    for (const [i, action] of dying.entries()) {
      if (action.kind === 'fill') {
        const dies = i === dying.length - 1 && round.diesAfter !== undefined
        // Markers make the broker remember a producer that has sent nothing yet.
        sequence ??= 0
        await target.mark(dies ? Math.ceil(action.count / 2) : action.count)
        continue
      }
      const { bytes, baseOffset } = action
      sequence ??= FIRST_SEQUENCE
      const stamp = { producerId: options.producerId, producerEpoch: 0, baseSequence: sequence }
      patchForAppend(bytes, stamp)
      const { count, attributes, maxTimestamp, ...batch } = readBatch(bytes)
      const answer = await target.append(bytes)
      if (answer.errorCode !== 0 || answer.baseOffset !== baseOffset)
        throw new Error(`the batch for offset ${baseOffset} is answered with error ${answer.errorCode}, offset ${answer.baseOffset}`)
      sequence = nextSequence(sequence, count)
      if (attributes >> 3 !== 0) throw new Error(`the batch for offset ${baseOffset} has attributes ${attributes}`)
      const latest = latestOf(batch.records().map(([, { timestamp }]) => timestamp))
      if (latest !== maxTimestamp)
        throw new Error(`the batch for offset ${baseOffset} says ${maxTimestamp} is its latest time, not ${latest}`)
    }
  }
}

/** The steps for one fetch; the fetched memory is spoilt afterwards. */
function translated(source: SourceLog, from: bigint, round: CopyRound, maxMessageBytes: number): { actions: Action[]; stop?: CopyStop } {
  const { records: fetched, abortedTransactions } = source.fetch(from, round)
  const actions: Action[] = []
  let stop: CopyStop | undefined
  let next = from
  for (const step of translate(fetched, { nextOffset: from, abortedTransactions, maxMessageBytes })) {
    if (step.baseOffset !== next) throw new Error(`a step begins at ${step.baseOffset} where ${next} was next`)
    if (stop !== undefined) throw new Error(`a step at ${step.baseOffset} follows a refusal`)
    if (step.kind === 'refuse') {
      stop = step
      continue
    }
    next += BigInt(step.count)
    if (step.kind === 'fill') {
      if (step.count < 1) throw new Error(`a fill of ${step.count} offsets`)
      actions.push(step)
      continue
    }
    const { count, baseOffset } = step
    const parts = parted(step)
    const records = parts.reduce((sum, { bytes }) => sum + readBatch(bytes).count, 0)
    if (records !== count || parts.length !== step.batches || step.bytes.length !== step.size)
      throw new Error(`the step at ${baseOffset} is not the ${step.batches} batches, ${count} records, ${step.size} bytes that it says`)
    // A new leader epoch goes on record before its first batch does: no step may hold two.
    const other = parts.find((part) => source.leaderEpochAt(part.baseOffset) !== step.leaderEpoch)
    if (other !== undefined)
      throw new Error(`epoch ${step.leaderEpoch} for offset ${other.baseOffset} is ${source.leaderEpochAt(other.baseOffset)} on the source`)
    if (overlaps(step.bytes, fetched) === step.rewritten)
      throw new Error(`the step at ${baseOffset} says rewritten=${step.rewritten} and ${step.rewritten ? 'is' : 'is no'} view of the fetch`)
    actions.push({ kind: 'append', baseOffset, batches: step.batches, bytes: step.rewritten ? step.bytes : Buffer.from(step.bytes) })
  }
  const couldBeWhole = source.batches.some(({ firstOffset }) => firstOffset > from && firstOffset < next && source.isWholeAt(firstOffset))
  if (stop === undefined && couldBeWhole && !source.isWholeAt(next))
    throw new Error(`the steps from ${from} end at ${next}, inside of a transaction, though there are offsets below at which all are whole`)
  fetched.fill(0xee)
  return { actions: round.merges ? merged(actions, maxMessageBytes) : actions.flatMap(parted), stop }
}

function overlaps(a: Buffer, b: Buffer): boolean {
  return a.buffer === b.buffer && a.byteOffset < b.byteOffset + b.length && b.byteOffset < a.byteOffset + a.length
}

/** Each batch by itself. */
function parted<T extends Action>(action: T): (T | Appendable)[] {
  if (action.kind !== 'append') return [action]
  const parts: Appendable[] = []
  let { baseOffset } = action
  for (let at = 0; at < action.bytes.length; ) {
    const size = 12 + action.bytes.readInt32BE(at + 8)
    const bytes = action.bytes.subarray(at, at + size)
    parts.push({ kind: 'append', baseOffset, batches: 1, bytes })
    baseOffset += BigInt(readBatch(bytes).count)
    at += size
  }
  return parts
}

/** Neighbours that may be merged as one, as long as the destination takes it. */
function merged(actions: readonly Action[], maxMessageBytes: number): Action[] {
  const out: Action[] = []
  for (let i = 0; i < actions.length; ) {
    const group = mergeable(actions.slice(i), maxMessageBytes)
    const several = group.length > 1 || (group[0]?.batches ?? 0) > 1
    const bytes = several ? mergeBatches(group.map((one) => one.bytes)) : undefined
    if (bytes !== undefined && bytes.length <= maxMessageBytes)
      out.push({ kind: 'append', baseOffset: group[0]!.baseOffset, batches: 1, bytes: Buffer.from(bytes) })
    else out.push(...actions.slice(i, i + Math.max(1, group.length)).flatMap(parted))
    i += Math.max(1, group.length)
  }
  return out
}

function mergeable(actions: readonly Action[], maxMessageBytes: number): Appendable[] {
  const group: Appendable[] = []
  let size = 0
  for (const action of actions) {
    if (action.kind !== 'append') break
    const key = mergeKeyOf(action.bytes)
    size += action.bytes.length
    if (key === undefined || size > maxMessageBytes || (group[0] !== undefined && mergeKeyOf(group[0].bytes) !== key)) break
    group.push(action)
  }
  return group
}

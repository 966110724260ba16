import {
  type AppendStep,
  type FillStep,
  mergeBatches,
  mergedBytes,
  mergeKeyOf,
  type RefuseStep,
  readBatchHeader,
} from '../records/index.js'
import type { Slab } from './byte-budget.js'
import { Queue } from './queue.js'

/** A new source leader epoch, to be on record before the first of its batches is appended. */
export interface EpochStep {
  readonly kind: 'epoch'
  readonly epoch: number
  readonly startOffset: bigint
}

/** What must be over before anything behind it begins. */
export type BarrierStep = FillStep | RefuseStep | EpochStep

/** Batches to be appended and the memory they lie in, to be released when they are done with. */
export interface Sendable {
  readonly step: AppendStep
  readonly slab: Slab
}

/** `parted`: the rest of batches that could not be merged, which is not tried again. */
type Queued = { readonly step: BarrierStep; readonly slab?: undefined } | (Sendable & { readonly parted?: boolean })

const isSendable = (item: Queued): item is Sendable & { readonly parted?: boolean } => item.step.kind === 'append'

/** What a partition has to do, in order. Small batches that have piled up are taken out as one. */
export class StepQueue {
  private readonly queue = new Queue<Queued>()

  /** @param maxMessageBytes largest batch that may be made of several */
  constructor(private readonly maxMessageBytes: number) {}

  get first(): BarrierStep | AppendStep | undefined {
    return this.queue.first?.step
  }

  push(step: BarrierStep): void {
    this.queue.push({ step })
  }

  /** Keeps `fetched` in use until the batch is taken out, save for what was encoded anew, which has memory of its own. */
  pushAppend(step: AppendStep, fetched: Slab): void {
    if (step.rewritten) this.queue.push({ step, slab: fetched.successor(step.bytes.length) })
    else {
      fetched.retain()
      this.queue.push({ step, slab: fetched })
    }
  }

  /** The barrier at the head is over. */
  shift(): void {
    this.queue.shift()
  }

  /** Takes out one batch to be sent, made of the small ones at the head if there are several. The head must be an append. */
  takeBatch(): Sendable {
    return this.takeMerged() ?? this.takeOne()
  }

  clear(): void {
    for (const { slab } of this.queue) slab?.release()
    this.queue.clear()
  }

  private takeMerged(): Sendable | undefined {
    const most = mergedBytes(this.maxMessageBytes)
    const neighbours: Sendable[] = []
    let key: number | undefined
    let [size, batches] = [0, 0]
    for (const item of this.queue) {
      if (!isSendable(item) || item.parted || size + item.step.size > most) break
      const itsKey = mergeKeyOf(item.step.bytes)
      if (itsKey === undefined || itsKey !== (key ?? itsKey)) break
      key = itsKey
      size += item.step.size
      batches += item.step.batches
      neighbours.push(item)
    }
    const [first] = neighbours
    if (first === undefined || batches === 1) return undefined
    const bytes = mergeBatches(neighbours.map(({ step }) => step.bytes))
    if (bytes === undefined || bytes.length > this.maxMessageBytes) return undefined
    const slab = first.slab.successor(bytes.length)
    let count = 0
    for (const { step, slab: source } of neighbours) {
      count += step.count
      source.release()
      this.queue.shift()
    }
    return { step: { ...first.step, bytes, batches: 1, count, size }, slab }
  }

  /** The batch at the head; of several that could not be merged the first. */
  private takeOne(): Sendable {
    const item = this.queue.first as Sendable
    if (item.step.batches === 1) {
      this.queue.shift()
      return item
    }
    const [step, rest] = partFirst(item.step)
    item.slab.retain()
    this.queue.replaceFirst({ step: rest, slab: item.slab, parted: true })
    return { step, slab: item.slab }
  }
}

function partFirst(step: AppendStep): readonly [first: AppendStep, rest: AppendStep] {
  const { size, count } = readBatchHeader(step.bytes, 0)
  const first = { ...step, bytes: step.bytes.subarray(0, size), batches: 1, count, size }
  const rest = {
    ...step,
    bytes: step.bytes.subarray(size),
    batches: step.batches - 1,
    baseOffset: step.baseOffset + BigInt(count),
    count: step.count - count,
    size: step.size - size,
  }
  return [first, rest]
}

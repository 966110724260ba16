import { ConnectionError } from '../client/errors.js'
import { kafkaError } from '../protocol/errors.js'
import { type AppendStep, type FillStep, nextSequence, patchForAppend, type Step, translate } from '../records/index.js'
import { appendAnswer } from './append-answers.js'
import type { Slab } from './byte-budget.js'
import { type CopyCounters, type CopyEnd, type CopyPorts, type CopyStart, ENDS, type FetchedPartition } from './copy-session.js'
import type { RateLimit } from './rate-limit.js'
import { type Sendable, StepQueue } from './step-queue.js'

/** Below every leader epoch, the −1 of message formats without one included. */
const NO_EPOCH = -2
/** Appends in flight per partition: more than five would outrun the broker's memory of the last five batches. */
const MAX_IN_FLIGHT = 5
/** Well below the time (`producer.id.expiration.ms`, a day) after which a broker forgets a producer that was silent. */
const FORGETTABLE_AFTER_MS = 10 * 60_000
/** A partition with more than this waiting is left out of the next fetch, so that one slow leader can't fill the budget. */
const MAX_QUEUED_BYTES = 4 << 20
const THROTTLED_QUEUED_BYTES = 64 << 10

/**
 * One partition on its way from a fetched record set to checked appends: a queue of steps between a fetcher, which
 * pushes, and an append lane, which pulls. It lives from one alignment to the next and never repairs itself: anything
 * unexpected ends it, and the next alignment starts from the destination's log end.
 */
export class PartitionCopy {
  /** Next offset to ask the source for. */
  fetchOffset: bigint
  lastFetchedEpoch: number
  /** The destination's log end as far as it was acknowledged. */
  logEndOffset: bigint
  highWatermark: bigint | undefined
  lastStableOffset: bigint | undefined
  limit: RateLimit | undefined
  /** True once an append of this session got no answer: it may still land. */
  uncertain = false

  private readonly queue: StepQueue
  /** The offset after the last one queued. */
  private nextOffset: bigint
  private sequence: number
  /** The highest leader epoch on record or queued to be; below the −1 of old formats while there is none. */
  private recordedEpoch: number
  private inFlight = 0
  private queuedBytes = 0
  private busy = false
  private draining = false
  /** A step that cannot be done is queued: nothing behind it is wanted. */
  private refused = false
  /** The broker surely knows our producer's last sequence, and so refuses a batch whose predecessor is missing. */
  private anchored: boolean
  private landedAt: number
  private end: CopyEnd | undefined
  private readonly ended: Promise<CopyEnd>
  private resolveEnded!: (end: CopyEnd) => void
  private wakeSettled: Array<() => void> = []

  constructor(
    readonly start: CopyStart,
    private readonly ports: CopyPorts,
    private readonly counters: CopyCounters,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.queue = new StepQueue(start.maxMessageBytes)
    this.anchored = start.producerKnown
    this.landedAt = now()
    this.fetchOffset = start.fetchFrom
    this.nextOffset = start.from
    this.logEndOffset = start.from
    this.lastFetchedEpoch = start.lastEpoch
    this.recordedEpoch = start.everMirrored ? start.lastEpoch : NO_EPOCH
    this.sequence = start.nextSequence
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve
    })
  }

  /** True when the next fetch should include this partition. */
  get wantsData(): boolean {
    return this.end === undefined && !this.draining && !this.refused && this.queuedBytes < this.bytesAhead
  }

  /**
   * Bytes that may be read ahead of appending; also a measure for one fetch. A throttled partition reads a tenth of a second
   * ahead, or it would fill the budget that all partitions share.
   */
  get bytesAhead(): number {
    if (this.limit === undefined) return MAX_QUEUED_BYTES
    return Math.max(THROTTLED_QUEUED_BYTES, Math.min(MAX_QUEUED_BYTES, this.limit.rate / 10))
  }

  /** True while what is read next has to wait for earlier appends. */
  get isBehind(): boolean {
    return this.queue.first !== undefined || this.inFlight > 2
  }

  /** True while nothing of this session is on its way to the destination. */
  get isResting(): boolean {
    return this.end === undefined && this.inFlight === 0 && !this.busy && this.queue.first === undefined
  }

  get isDraining(): boolean {
    return this.draining
  }

  get isOver(): boolean {
    return this.end !== undefined
  }

  /** Resolves with the reason once the session is over; appends may still be in flight, see {@link settled}. */
  whenOver(): Promise<CopyEnd> {
    return this.ended
  }

  /** Resolves once no append of this session is unanswered. */
  async settled(): Promise<void> {
    while (this.inFlight > 0 || this.busy) await new Promise<void>((resolve) => this.wakeSettled.push(resolve))
  }

  /** Append what was read, fetch no more, then end as `drained`. */
  drain(): void {
    this.draining = true
    this.advance()
  }

  finish(end: CopyEnd): void {
    if (this.end !== undefined) return
    this.end = end
    this.queue.clear()
    this.queuedBytes = 0
    this.resolveEnded(end)
  }

  /** Takes one fetched record set; `slab` is retained for as long as views into it are queued. */
  fetched(data: FetchedPartition, slab: Slab): void {
    if (this.end !== undefined) return
    this.highWatermark = data.highWatermark
    this.lastStableOffset = data.lastStableOffset
    this.ports.logStartMoved(data.logStartOffset)
    // Empty may also mean that the next batch did not fit beside others.
    if (data.records.length === 0 && data.lastStableOffset <= this.nextOffset) this.ports.worked()
    if (data.records.length === 0 || this.draining) return
    const steps = translate(data.records, {
      nextOffset: this.nextOffset,
      abortedTransactions: data.abortedTransactions,
      maxMessageBytes: this.start.maxMessageBytes,
    })
    for (const step of steps) this.enqueue(step, slab)
    this.advance()
  }

  /** The next batch the lane may send now, patched for the destination; undefined while there is none. */
  takeBatch(): Sendable | undefined {
    if (this.queue.first?.kind !== 'append' || this.busy || this.end !== undefined || this.inFlight >= this.window()) return undefined
    const sendable = this.queue.takeBatch()
    const { step } = sendable
    const { producerId, producerEpoch } = this.start
    patchForAppend(step.bytes, { producerId, producerEpoch, baseSequence: this.sequence })
    this.sequence = nextSequence(this.sequence, step.count)
    this.inFlight++
    return sendable
  }

  /** Appends that may be in flight. One while the broker may not know our producer: it would put the second where the first failed. */
  private window(): number {
    if (this.inFlight === 0 && this.now() - this.landedAt > FORGETTABLE_AFTER_MS) this.anchored = false
    return this.anchored ? MAX_IN_FLIGHT : 1
  }

  /** The broker's answer to a batch given out by {@link takeBatch}. */
  answered(step: AppendStep, slab: Slab, answer: { errorCode: number; baseOffset: bigint; message: string | null }): void {
    this.returned(step, slab)
    if (this.end !== undefined) return
    const meaning = appendAnswer(answer.errorCode)
    if (meaning === 'landed') {
      this.landed(step, answer.baseOffset)
      return
    }
    const words = `${answer.message ?? kafkaError(answer.errorCode).message} (offset ${step.baseOffset}, ${step.size} bytes)`
    this.finish(ENDS[meaning](words, step.bytes.length))
  }

  private landed(step: AppendStep, baseOffset: bigint): void {
    if (baseOffset !== step.baseOffset) {
      const { topic, partition } = this.start
      this.finish({
        kind: 'failed',
        reason: `the destination put the batch of offset ${step.baseOffset} at ${baseOffset}: something else writes to ${topic}-${partition} there`,
      })
      return
    }
    this.anchored = true
    this.landedAt = this.now()
    this.logEndOffset = step.baseOffset + BigInt(step.count)
    this.counters.bytes += step.size
    this.counters.records += step.count
    if (step.rewritten) this.counters.rewritten++
    this.ports.worked()
    this.advance()
  }

  /** No answer will come for a batch given out by {@link takeBatch}: the connection is gone or the request timed out. */
  unanswered(step: AppendStep, slab: Slab, error: unknown): void {
    // Refused before it was written, it can't land.
    if (!(error instanceof ConnectionError) || error.uncertain) this.uncertain = true
    slab.linger()
    this.returned(step, slab)
    this.finish(this.ports.classify(error))
  }

  private returned(step: AppendStep, slab: Slab): void {
    this.inFlight--
    if (this.end === undefined) this.queuedBytes -= step.size
    slab.release()
    this.wake()
  }

  private enqueue(step: Step, slab: Slab): void {
    if (step.kind !== 'refuse') {
      if (step.leaderEpoch > this.recordedEpoch) {
        this.queue.push({ kind: 'epoch', epoch: step.leaderEpoch, startOffset: step.baseOffset })
        this.recordedEpoch = step.leaderEpoch
        this.lastFetchedEpoch = step.leaderEpoch
      }
      this.nextOffset = step.baseOffset + BigInt(step.count)
      this.fetchOffset = this.nextOffset
    }
    if (step.kind !== 'append') {
      if (step.kind === 'refuse') this.refused = true
      this.queue.push(step)
      return
    }
    this.queuedBytes += step.size
    this.queue.pushAppend(step, slab)
  }

  /** Works on the head of the queue as far as it is not a matter of the lane. */
  private advance(): void {
    if (this.end !== undefined || this.busy) return
    const step = this.queue.first
    if (step === undefined) {
      if (this.draining && this.inFlight === 0) this.finish({ kind: 'drained' })
    } else if (step.kind === 'append') {
      if (this.inFlight < this.window()) this.ports.ready()
    } else if (step.kind === 'epoch') {
      this.occupy(() => this.ports.recordEpoch(step.epoch, step.startOffset))
    } else if (this.inFlight === 0) {
      if (step.kind === 'fill') this.occupy(() => this.fill(step))
      else this.finish({ kind: 'failed', reason: step.reason })
    }
  }

  private async fill(step: FillStep): Promise<void> {
    await this.ports.fill(step.baseOffset, step.count)
    this.logEndOffset = step.baseOffset + BigInt(step.count)
    this.ports.worked()
  }

  /** Runs one step that must be over before the next begins. */
  private occupy(work: () => Promise<void>): void {
    this.busy = true
    work()
      .then(
        () => this.queue.shift(),
        (error) => this.finish(this.ports.classify(error)),
      )
      .finally(() => {
        this.busy = false
        this.wake()
        this.advance()
      })
  }

  private wake(): void {
    if (this.inFlight > 0 || this.busy) return
    const waiting = this.wakeSettled
    this.wakeSettled = []
    for (const resolve of waiting) resolve()
  }
}

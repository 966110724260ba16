import { Slab } from '../../engine/byte-budget.js'
import { toMirrorError } from '../../mirror/failures.js'
import { Errors, KafkaError } from '../../protocol/errors.js'
import { nextOffset } from '../../records/batch.js'
import { type Batch, scanBatches } from '../../records/scan.js'
import { abortedBatches } from './aborted-batches.js'
import type { LogReader } from './log-reader.js'
import type { Delivery, OffsetRange } from './log-view.js'

export interface FeedPartition {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  /** Most bytes of one fetch, save for a single batch that is larger. */
  readonly maxBytes: number
  /** Below this offset it is read as consumers see it, whatever is read above. */
  readonly committedBelow?: bigint | undefined
}

/** The log does not go on where it should: it begins later now, or ends earlier. */
export class OutOfRangeError extends Error {
  override readonly name = 'OutOfRangeError'

  constructor(readonly offset: bigint) {
    super(`offset ${offset} is out of range`)
  }
}

/** One partition on one side, record set by record set; the next one is under way while the last is compared. */
export class LogFeed {
  /** Bytes of records that came. */
  bytes = 0
  private position = 0n
  private end = 0n
  private ahead: Promise<Delivery> | undefined

  constructor(
    private readonly reader: LogReader,
    private readonly partition: FeedPartition,
  ) {}

  /** Reads this range next; what was under way is dropped. */
  async seek(range: OffsetRange): Promise<void> {
    await this.stop()
    this.position = range.from
    this.end = range.to
  }

  /** Leaves out what is before `offset`, unless it was read already. */
  async skipTo(offset: bigint): Promise<void> {
    if (offset <= this.position) return
    await this.stop()
    this.position = offset
  }

  /** The next record set, undefined at the end of the range. Throws OutOfRangeError, MirrorError. */
  async next(): Promise<Delivery | undefined> {
    if (this.ahead === undefined && this.position >= this.end) return undefined
    const wanted = this.ahead ?? this.fetch()
    this.ahead = undefined
    const delivery = await wanted
    this.position = delivery.nextOffset
    if (this.position < this.end && this.reader.budget.open) {
      this.ahead = this.fetch()
      // It is told when it is asked for.
      this.ahead.catch(() => {})
    }
    return delivery
  }

  /** Waits for what is under way, and drops it. */
  async stop(): Promise<void> {
    const ahead = this.ahead
    this.ahead = undefined
    await ahead?.then(
      (delivery) => delivery.release(),
      () => {},
    )
  }

  private async fetch(): Promise<Delivery> {
    const { position } = this
    const { topic, topicId, partition, maxBytes, committedBelow = 0n } = this.partition
    try {
      const { records, abortedTransactions } = await this.reader.read({
        topic,
        topicId,
        partition,
        maxBytes,
        offset: position,
        ...(position < committedBelow ? { committed: true } : {}),
      })
      this.bytes += records.length
      const { budget } = this.reader
      const slab = new Slab(budget, records.length, () => budget.buffers.recycle(records))
      try {
        const batches = [...scanBatches(records)]
        const aborted = this.hidden(batches, abortedBatches(batches, abortedTransactions ?? []))
        return { batches, aborted, nextOffset: afterLast(batches, position), release: () => slab.release() }
      } catch (error) {
        slab.release()
        throw error
      }
    } catch (error) {
      if (error instanceof OutOfRangeError) throw error
      if (error instanceof KafkaError && error.code === Errors.OFFSET_OUT_OF_RANGE) throw new OutOfRangeError(position)
      const { place } = this.reader.options
      throw toMirrorError(error, place, `${topic}-${partition} cannot be read on ${place.name}`)
    }
  }

  /** A record set that was asked for as consumers see it may reach to where all must be seen. */
  private hidden(batches: readonly Batch[], aborted: ReadonlySet<Batch>): ReadonlySet<Batch> {
    const { committedBelow } = this.partition
    if (this.reader.options.isolation === 'read_committed' || committedBelow === undefined) return aborted
    return new Set(batches.filter((batch) => aborted.has(batch) && batch.header.baseOffset < committedBelow))
  }
}

/** Below the log's end a broker always has a batch to give. */
function afterLast(batches: readonly Batch[], position: bigint): bigint {
  const last = batches.at(-1)
  if (last === undefined || nextOffset(last.header) <= position) throw new OutOfRangeError(position)
  return nextOffset(last.header)
}

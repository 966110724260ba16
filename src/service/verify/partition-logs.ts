import { setTimeout as delay } from 'node:timers/promises'
import { failure, MirrorError } from '../../mirror/errors.js'
import { least, most } from '../../mirror/offsets.js'
import { type BothClusters, type PartitionBounds, readBounds } from './bounds.js'
import type { Side } from './comparison.js'
import { LogFeed, OutOfRangeError } from './log-feed.js'
import type { LogReader } from './log-reader.js'
import { LogView, type OffsetRange, type ViewOptions } from './log-view.js'
import type { RecordCursor } from './record-cursor.js'

export interface LogsContext {
  readonly clusters: BothClusters
  readonly readers: Readonly<Record<Side, LogReader>>
  /** Most bytes of one fetch. */
  readonly maxBytes: number
}

export interface PartitionIdentity {
  readonly topic: string
  readonly partition: number
  readonly topicIds: Readonly<Record<Side, string>>
  /** The mirror began to append here: what the destination has below is others', who may have had transactions of their own. */
  readonly ownFrom: bigint
}

export const SIDES: readonly Side[] = ['source', 'destination']

/** A log that seems too short is looked at again so often: a new leader learns its high watermark a moment later. */
const LOOKS = 10
const LOOK_EVERY_MS = 200

/** Both logs of one partition, read while they may move. */
export class PartitionLogs {
  /** Below this offset a log was cut off meanwhile: nothing is compared there any more. */
  floor = 0n
  private readonly feeds: Readonly<Record<Side, LogFeed>>
  private otherBytes = 0
  /** Looks at a log that did not go on, since it last did. */
  private looks = 0

  constructor(
    private readonly identity: PartitionIdentity,
    private readonly origin: bigint,
    private readonly context: LogsContext,
  ) {
    this.feeds = { source: this.feed('source'), destination: this.feed('destination') }
  }

  /** Bytes of records fetched from both sides. */
  get bytes(): number {
    return this.feeds.source.bytes + this.feeds.destination.bytes + this.otherBytes
  }

  /** What a view of one side is made of. */
  viewOf(side: Side, range: OffsetRange): ViewOptions {
    const { topic, partition } = this.identity
    return { range, origin: this.origin, place: `${topic}-${partition} on ${this.context.readers[side].options.place.name}` }
  }

  async seek(range: OffsetRange): Promise<void> {
    await Promise.all(SIDES.map((side) => this.feeds[side].seek(range)))
  }

  /**
   * Gives each of the views its next record set. Where a log's start has moved up meanwhile, what is below is left out.
   * Throws MirrorError when a log cannot be read, or ends earlier now.
   */
  async give(sides: readonly Side[], views: Readonly<Record<Side, LogView>>, range: OffsetRange): Promise<void> {
    const given = await Promise.allSettled(
      sides.map(async (side) => {
        const delivery = await this.feeds[side].next()
        if (delivery === undefined) views[side].finish()
        else views[side].give(delivery)
      }),
    )
    const errors = given.flatMap((one): unknown[] => (one.status === 'rejected' ? [one.reason] : []))
    const [error] = [...errors.filter((one) => !(one instanceof OutOfRangeError)), ...errors]
    if (error === undefined) this.looks = 0
    else if (!(error instanceof OutOfRangeError)) throw error
    else {
      const { sourceStart, destinationStart } = await this.boundsNow()
      const start = most(sourceStart, destinationStart)
      this.floor = most(this.floor, start)
      if (start <= error.offset) return this.wait(error.offset)
      for (const side of SIDES) {
        views[side].raise(start)
        await this.feeds[side].skipTo(least(start, range.to))
      }
    }
  }

  /** Shows every record of one side to `see`, until it has seen enough. Throws MirrorError. */
  async visit(side: Side, range: OffsetRange, see: (record: RecordCursor) => boolean): Promise<void> {
    const feed = this.feed(side)
    const view = new LogView(this.viewOf(side, range))
    try {
      await feed.seek(range)
      for (;;) {
        for (let record = view.current; record !== undefined; view.advance(), record = view.current) if (!see(record)) return
        const delivery = await this.nextOf(side, feed, range)
        if (delivery === 'end') return
        if (delivery !== 'moved') view.give(delivery)
      }
    } finally {
      view.close()
      await feed.stop()
      this.otherBytes += feed.bytes
    }
  }

  async boundsNow(): Promise<PartitionBounds> {
    const [bounds] = await readBounds(this.context.clusters, [this.identity])
    if (bounds instanceof MirrorError) throw bounds
    return bounds!
  }

  /** Looks again until the bounds are as they should be, or for two seconds. */
  async boundsOnce(right: (bounds: PartitionBounds) => boolean): Promise<PartitionBounds> {
    for (let look = 1; ; look++) {
      const bounds = await this.boundsNow()
      if (right(bounds) || look === LOOKS) return bounds
      await this.pause()
    }
  }

  async close(): Promise<void> {
    await Promise.all(SIDES.map((side) => this.feeds[side].stop()))
  }

  private async nextOf(side: Side, feed: LogFeed, range: OffsetRange) {
    try {
      const delivery = await feed.next()
      this.looks = 0
      return delivery ?? 'end'
    } catch (error) {
      if (!(error instanceof OutOfRangeError)) throw error
      const bounds = await this.boundsNow()
      const start = side === 'source' ? bounds.sourceStart : bounds.destinationStart
      if (start <= error.offset) await this.wait(error.offset)
      else await feed.skipTo(least(start, range.to))
      return 'moved'
    }
  }

  private async wait(offset: bigint): Promise<void> {
    if (++this.looks < LOOKS) return this.pause()
    const { lastStableOffset, destinationEnd } = await this.boundsNow()
    const { topic, partition } = this.identity
    throw failure(
      'KAFKA',
      `${topic}-${partition}: offset ${offset} cannot be read any more, the source's log now ends at ${lastStableOffset} and the destination's at ${destinationEnd}`,
      'A log was cut off or made anew while it was read; verify it again.',
    )
  }

  private pause(): Promise<void> {
    return delay(LOOK_EVERY_MS, undefined, { signal: this.context.readers.source.options.signal })
  }

  private feed(side: Side): LogFeed {
    const { topic, partition, topicIds, ownFrom } = this.identity
    const committedBelow = side === 'destination' ? ownFrom : undefined
    const { maxBytes } = this.context
    return new LogFeed(this.context.readers[side], { topic, partition, topicId: topicIds[side], maxBytes, committedBelow })
  }
}

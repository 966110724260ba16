import { ascending, least } from '../../mirror/offsets.js'
import type { PartitionStatus } from '../../mirror/state.js'
import type { PartitionBounds } from './bounds.js'
import { Comparison } from './comparison.js'
import { LogView, type OffsetRange } from './log-view.js'
import { type CompactionRule, type DifferenceBook, PartitionFindings } from './partition-findings.js'
import { type LogsContext, type PartitionIdentity, PartitionLogs, SIDES } from './partition-logs.js'

/** One partition to compare. */
export interface PartitionJob extends PartitionIdentity {
  readonly bounds: PartitionBounds
  /** Where the mirror's part of the destination's log ends: below its end once the topic was removed and written to. */
  readonly mirroredEnd: bigint
  /** What to compare, ascending and apart. */
  readonly stretches: readonly OffsetRange[]
  /** Offsets below the destination's start, where the source must not have anything. */
  readonly belowStart: OffsetRange | undefined
  readonly lost: PartitionStatus['lostRanges']
  readonly compaction: CompactionRule | undefined
}

export interface VerifierContext extends LogsContext {
  /** So many offsets more are compared, and so many bytes were fetched. */
  progress(offsets: number, bytes: number): void
}

/** Compares one partition from beginning to end. */
export class PartitionVerifier {
  /** Records compared, of either side. */
  records = 0
  /** Offsets compared. */
  offsets = 0
  private readonly origin: bigint
  private readonly logs: PartitionLogs
  private toldBytes = 0

  constructor(
    private readonly job: PartitionJob,
    private readonly book: DifferenceBook,
    private readonly context: VerifierContext,
  ) {
    this.origin = least(job.bounds.sourceStart, job.bounds.destinationStart)
    this.logs = new PartitionLogs(job, this.origin, context)
  }

  /** Bytes of records fetched from both sides. */
  get bytes(): number {
    return this.logs.bytes
  }

  /** The first offset that could be compared in the end: logs may begin later than when the work began. */
  get floor(): bigint {
    return this.logs.floor
  }

  /** Throws MirrorError when it cannot go on. */
  async run(): Promise<void> {
    const { job, book } = this
    try {
      await this.checkEnd()
      if (job.belowStart !== undefined) await this.checkBelowStart(job.belowStart)
      let open: bigint | undefined
      for (const stretch of job.stretches) {
        await this.compare(stretch)
        if ((job.compaction?.keys.size ?? 0) > 0) open ??= stretch.to
      }
      if (open !== undefined) await this.searchKeys(open)
    } finally {
      await this.logs.close()
      book.kept.sort((a, b) => ascending(a.offset, b.offset))
    }
  }

  /** Nothing past the source's last stable offset is ever copied. */
  private async checkEnd(): Promise<void> {
    const { mirroredEnd, bounds } = this.job
    if (mirroredEnd <= bounds.lastStableOffset) return
    const { lastStableOffset, sourceEnd } = await this.logs.boundsOnce((now) => mirroredEnd <= now.lastStableOffset)
    if (mirroredEnd <= lastStableOffset) return
    const there = mirroredEnd > sourceEnd ? `log ends at ${sourceEnd}` : `last stable offset is ${lastStableOffset}`
    this.book.add('end', mirroredEnd, () => `the destination's log ends here, the source's ${there}`)
  }

  /** A destination that starts later is fine as long as the source has no record before that. */
  private async checkBelowStart(range: OffsetRange): Promise<void> {
    await this.logs.visit('source', range, (record) => {
      const offset = this.origin + BigInt(record.offset)
      this.book.add('start', range.to, () => `the destination's log starts here, the source has a record at offset ${offset}`)
      return false
    })
    this.advanced(0)
  }

  private async compare(stretch: OffsetRange): Promise<void> {
    const { logs } = this
    const views = {
      source: new LogView({ ...logs.viewOf('source', stretch), remembersDark: this.job.compaction !== undefined }),
      destination: new LogView({
        ...logs.viewOf('destination', stretch),
        transactional: ({ header }) => {
          if (header.baseOffset < this.job.ownFrom) return
          this.book.add(
            'transactional',
            header.baseOffset,
            () => `data of a transaction is on the destination (producer ${header.producerId})`,
          )
        },
      }),
    }
    const comparison = new Comparison(
      views.source,
      views.destination,
      this.findings((offset) => views.source.isDark(offset)),
    )
    let position = comparison.position
    try {
      await logs.seek(stretch)
      for (;;) {
        const halt = comparison.run()
        this.advanced(comparison.position - position)
        position = comparison.position
        if (halt === 'done') return
        if (halt === 'full') await this.searchKeys(this.origin + BigInt(position))
        else await logs.give(halt, views, stretch)
      }
    } finally {
      this.records += comparison.records
      for (const side of SIDES) views[side].close()
    }
  }

  /** Looks for later records of the keys that are open, from `from` to the ends of both logs, and judges what is left. */
  private async searchKeys(from: bigint): Promise<void> {
    const { compaction, bounds, mirroredEnd } = this.job
    if (compaction === undefined) return
    const { keys } = compaction
    const copied = Number(mirroredEnd - this.origin)
    // What was not copied yet supersedes nothing on the destination.
    await this.logs.visit('source', { from, to: bounds.lastStableOffset }, (record) => {
      keys.seen(record, record.offset < copied ? undefined : 'source')
      return keys.size > 0
    })
    if (keys.size > 0) {
      await this.logs.visit('destination', { from, to: bounds.destinationEnd }, (record) => {
        keys.seen(record)
        return keys.size > 0
      })
    }
    this.findings(() => false).judgeLeft(keys.takeLeft().filter(({ offset }) => this.origin + BigInt(offset) >= this.floor))
    this.advanced(0)
  }

  private findings(isDark: (offset: number) => boolean): PartitionFindings {
    const { lost, compaction } = this.job
    return new PartitionFindings({ origin: this.origin, book: this.book, lost, compaction, isDark })
  }

  private advanced(offsets: number): void {
    this.offsets += offsets
    this.context.progress(offsets, this.bytes - this.toldBytes)
    this.toldBytes = this.bytes
  }
}

import type { PartitionState } from '../mirror/partition-states.js'
import type { PartitionStatus } from '../mirror/state.js'
import { backoffMs, Pause } from './backoff.js'
import { classify } from './classify.js'
import type { CopyEnd } from './copy-session.js'
import { type PartitionSnapshot, publish } from './events.js'
import { LogStartFollower } from './log-start-follower.js'
import { type Aligned, alignPartition } from './partition-aligner.js'
import type { PartitionContext } from './partition-context.js'
import { PartitionCopy } from './partition-copy.js'
import { type FillRecord, PartitionFiller } from './partition-filler.js'
import { destinationLogEnd } from './positions.js'
import { StatusBook, type WriteStatus } from './status-book.js'

const RETRY_INITIAL_MS = 1_000
const RETRY_MAX_MS = 60_000
/** A restart moves leaders for a moment; the first attempts are quick. */
const MOVED_INITIAL_MS = 100
/** Less than any session: who waits for us to let go would otherwise think us dead. Nothing is lost by dropping what was only read. */
const RELEASE_WITHIN_MS = 5_000
/** As many leader epochs back a destination's log end may fall by an election of its own and still be continued with a check. */
const EPOCHS_KEPT = 100
/** Sessions that end at once, again and again, are worth a word in the status even if each reason is a passing one. */
const TOLD_AFTER_ATTEMPTS = 4

/**
 * The life of one partition in the hands of this runner: align, copy until something ends the session, decide what that
 * means, again. The state machine is the KIP's; only what is a verdict becomes FAILED.
 */
export class PartitionMirror {
  private readonly counters = { bytes: 0, records: 0, rewritten: 0 }
  private readonly pause = new Pause()
  private readonly book: StatusBook
  private copy: PartitionCopy | undefined
  private retries = 0
  private attempts = 0
  private error: string | undefined
  private state: PartitionState = 'LOG_ALIGNMENT'
  private since: number
  private destinationBroker = -1
  private fastForwardedTo: bigint | undefined
  /** An append got no answer and may still reach the log. */
  private appendUncertain = false
  /** The state of rest that is on record. */
  private resting: 'PAUSED' | 'STOPPED' | undefined
  private released = false
  /** The destination's last records were compared with the source's, and no verdict has come up since. */
  private trusted = false
  private readonly filler: PartitionFiller
  private readonly logStart: LogStartFollower
  private readonly running: Promise<void>

  constructor(
    private readonly context: PartitionContext,
    last: PartitionStatus | undefined,
    write: WriteStatus,
    private readonly now: () => number = Date.now,
  ) {
    const identity = () => ({
      ownerEpoch: context.ownerEpoch(),
      owner: context.owner,
      addedAt: context.spec().addedAt,
      destinationTopicId: context.spec().destinationTopicId,
    })
    this.book = new StatusBook(last, identity, write, now)
    this.since = now()
    this.filler = new PartitionFiller(context, fillRecordOf(this.book))
    this.logStart = new LogStartFollower(
      {
        logEndOffset: () => this.copy?.logEndOffset,
        deleteRecords: (before) => context.deleteRecords(before),
        failed: (wanted, error) =>
          this.tell('warn', 'log-start', `the log start could not follow the source's to ${wanted}: ${messageOf(error)}`),
      },
      now,
    )
    this.running = this.run().finally(() => this.logStart.close())
  }

  get snapshot(): PartitionSnapshot {
    const { mirror, topic, partition } = this.context
    return {
      mirror,
      topic,
      partition,
      state: this.state,
      bytes: this.counters.bytes,
      records: this.counters.records,
      rewrittenBatches: this.counters.rewritten,
      lostOffsets: this.book.status.lostRanges.reduce((sum, { from, to }) => sum + to - from + 1n, 0n),
      retries: this.retries,
      sourceHighWatermark: this.copy?.highWatermark,
      lastStableOffset: this.copy?.lastStableOffset,
      logEndOffset: this.copy?.logEndOffset ?? this.fastForwardedTo,
      error: this.error,
      since: this.since,
    }
  }

  /** A status that is not this owner's was written over ours: compaction would keep that one. Never throws. */
  async repeatStatus(): Promise<void> {
    await this.book.update({}).catch(() => {})
  }

  /** Something is wrong that this partition's sessions do not see; shown until the next one begins. Never throws. */
  async note(message: string): Promise<void> {
    this.error = message
    await this.noteError(message)
  }

  /** The active session's partition-level throttle and wishes may have changed. */
  changed(): void {
    const { copy } = this
    if (copy !== undefined && this.context.spec().desired !== 'MIRRORING') copy.drain()
    this.pause.interrupt()
  }

  /** Ends the running session so that the partition is aligned anew, over new links. */
  relink(reason: string): void {
    this.copy?.finish({ kind: 'realign', reason })
    this.pause.interrupt()
  }

  /** What the destination's metadata say just now: the topic's id, undefined when it is gone. */
  destinationSeen(topicId: string | undefined): void {
    const { copy } = this
    if (copy === undefined || topicId === copy.start.destinationTopicId) return
    const what = topicId === undefined ? 'is gone from' : 'was deleted and created again on'
    copy.finish({ kind: 'moved', side: 'destination', reason: `the topic ${what} the destination` })
  }

  /** The destination's log end while nothing of this partition is on its way there. */
  get restingLogEnd(): bigint | undefined {
    return this.copy?.isResting ? this.copy.logEndOffset : undefined
  }

  /** Where the destination's log was seen to end, asked for while it was resting at `expected`. */
  destinationEndSeen(expected: bigint, seen: bigint): void {
    if (seen === expected || this.restingLogEnd !== expected) return
    // Something else wrote to it, or an election took records away: what is there must be compared before it is trusted.
    this.trusted = false
    this.copy?.finish({ kind: 'realign', reason: `the destination's log ends at offset ${seen} where ${expected} was left` })
  }

  applyThrottle(): void {
    if (this.copy !== undefined) this.setLimit(this.copy)
  }

  /** Appends what was read as far as that goes within seconds, then lets go. No new append begins after this resolves. */
  async release(): Promise<void> {
    this.released = true
    this.copy?.drain()
    this.pause.interrupt()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, RELEASE_WITHIN_MS)
    })
    await Promise.race([this.running, late])
    clearTimeout(timer)
    this.copy?.finish({ kind: 'retry', reason: 'it was let go before everything that was read was appended' })
  }

  /** Resolves once nothing of this partition is under way any more. */
  whenGone(): Promise<void> {
    return this.running
  }

  /** Lets go at once: somebody else may own the partition already. */
  abandon(): void {
    this.released = true
    this.copy?.finish({ kind: 'retry', reason: 'this runner lost its place in the group' })
    this.pause.interrupt()
  }

  /** True once the partition is no longer this runner's. */
  get isReleased(): boolean {
    return this.released
  }

  /** Never rejects: what nobody foresaw is told and tried again, like everything else. */
  private async run(): Promise<void> {
    while (!this.released) {
      try {
        const { desired } = this.context.spec()
        if (desired === 'MIRRORING') await this.session()
        else await this.rest(desired === 'PAUSED' ? 'PAUSED' : 'STOPPED')
      } catch (error) {
        this.tell('error', 'partition-retry', error instanceof Error ? (error.stack ?? error.message) : String(error))
        if (!this.released) await this.pause.wait(backoffMs(this.attempts++, RETRY_INITIAL_MS, RETRY_MAX_MS))
      }
    }
  }

  /** Not copying: the state is confirmed once, with the log end at which it holds, then waited on. */
  private async rest(state: 'PAUSED' | 'STOPPED'): Promise<void> {
    try {
      await this.filler.settle()
      if (state === 'STOPPED' && (this.appendUncertain || this.filler.uncertain)) {
        this.tell('warn', 'not-confirmed', 'an append is unanswered and may still land: the removal is left to be fenced by its command')
      } else if (this.resting !== state) {
        const stoppedAt = state === 'STOPPED' ? await this.destinationLogEnd() : undefined
        await this.enter(state, { stoppedAt, error: undefined })
        this.resting = state
      }
      this.copy = undefined
    } catch (error) {
      if (!this.released) await this.after(classify(error, 'destination'))
      return
    }
    if (!this.released) await this.pause.wait(RETRY_MAX_MS)
  }

  /** Read, not remembered: a batch that was refused for want of replicas is in the log all the same. */
  private async destinationLogEnd(): Promise<bigint> {
    const { topic, partition, destination } = this.context
    if (destination.cluster.leaderOf(topic, partition) === undefined) await destination.cluster.refresh([topic])
    return destinationLogEnd(destination.cluster, topic, partition, destination.cluster.leaderOf(topic, partition)?.leaderEpoch ?? -1)
  }

  private async session(): Promise<void> {
    let end: CopyEnd
    this.resting = undefined
    try {
      // The state is kept over outages: only a partition that was not at work begins anew.
      if (this.state !== 'FAILED' && this.state !== 'MIRRORING') await this.enter('LOG_ALIGNMENT')
      await this.filler.settle()
      const aligned = await alignPartition(this.context, this.book, {
        compare: !this.trusted,
        fastForwarded: (logEndOffset) => {
          this.fastForwardedTo = logEndOffset
        },
      })
      this.trusted = true
      if (this.released || this.context.spec().desired !== 'MIRRORING') return
      end = await this.copyFrom(aligned)
    } catch (error) {
      end = await this.classifyAlignment(error)
    }
    if (!this.released) await this.after(end)
  }

  /** Alignment talks to both sides; which one is out of reach decides whom to wait for. */
  private async classifyAlignment(error: unknown): Promise<CopyEnd> {
    const end = classify(error, 'source')
    if (end.kind !== 'retry' && end.kind !== 'moved') return end
    const reason = error instanceof Error ? error.message : String(error)
    if (end.kind === 'moved') {
      await this.context.destination.cluster.refresh([this.context.topic]).catch(() => {})
      return { ...end, reason }
    }
    return { kind: 'retry', reason, unreachable: end.unreachable === undefined ? undefined : 'both' }
  }

  private async copyFrom({ start, sourceLeader, destinationLeader }: Aligned): Promise<CopyEnd> {
    const { context } = this
    const index = (start.partition + hashOf(start.topic)) % context.config().numReplicaFetchers
    const lane = await context.destination.lane(destinationLeader.brokerId, index)
    const copy: PartitionCopy = new PartitionCopy(
      start,
      {
        fill: (baseOffset, count) =>
          this.filler.fill({ start, leaderEpoch: destinationLeader.leaderEpoch, baseOffset, count, isOver: () => copy.isOver }),
        recordEpoch: (epoch, startOffset) => this.recordEpoch(epoch, startOffset),
        ready: () => lane.push(copy),
        classify: (error) => classify(error, 'destination'),
        logStartMoved: (offset) => this.logStart.moved(offset),
        worked: () => this.recover(),
      },
      this.counters,
    )
    this.copy = copy
    this.destinationBroker = destinationLeader.brokerId
    this.setLimit(copy)
    const [progressAtStart, startedAt] = [this.counters.records, this.now()]
    // A verdict stands until something was really copied.
    if (this.state !== 'FAILED') await this.enter('MIRRORING', { error: undefined })
    if (this.released || context.spec().desired !== 'MIRRORING') copy.drain()
    else context.source().fetcher(sourceLeader.brokerId, destinationLeader.brokerId, index).add(copy)
    const end = await copy.whenOver()
    await copy.settled()
    // A later append that landed rules out an earlier one of unknown fate: its sequence has passed.
    if (copy.uncertain) this.appendUncertain = true
    else if (this.counters.records > progressAtStart) this.appendUncertain = false
    if (this.counters.records > progressAtStart || this.now() - startedAt > RETRY_MAX_MS) this.attempts = 0
    return end
  }

  private setLimit(copy: PartitionCopy): void {
    const { destination, topic, partition } = this.context
    copy.limit = destination.limitOf(topic, partition, this.destinationBroker)
  }

  private async recordEpoch(epoch: number, startOffset: bigint): Promise<void> {
    const earlier = this.book.status.sourceLeaderEpochs.filter((start) => start.epoch < epoch).slice(-EPOCHS_KEPT)
    const sourceLeaderEpochs = [...earlier, { epoch, startOffset }]
    await this.book.update({ sourceLeaderEpochs })
  }

  private recover(): void {
    if (this.state === 'FAILED') void this.enter('MIRRORING', { error: undefined }).catch(() => {})
  }

  /** What follows the end of a session. */
  private async after(end: CopyEnd): Promise<void> {
    if (end.kind === 'drained') return
    if (end.kind === 'failed') return this.fail(end.reason)
    if (end.kind === 'too-large' && !(await this.mayBeSplit(end.size))) return this.fail(end.reason)
    this.tell(end.kind === 'retry' ? 'warn' : 'info', `partition-${end.kind}`, end.reason)
    if (end.kind === 'fenced') {
      this.error = end.reason
      // A newer owner or a failover: what comes next is told by the group or by the operator.
      await this.pause.wait(RETRY_MAX_MS)
      return
    }
    this.retries++
    if (end.kind === 'moved') await this.refresh(end.side)
    if (end.kind === 'retry') {
      this.error = end.reason
      await this.noteError(end.reason)
      if (await this.reachable(end.unreachable)) return
    }
    if (end.kind !== 'retry' && this.attempts >= TOLD_AFTER_ATTEMPTS) await this.noteError(end.reason)
    const initial = end.kind === 'retry' ? this.context.config().fetchBackoffMs : MOVED_INITIAL_MS
    await this.pause.wait(backoffMs(this.attempts++, initial, RETRY_MAX_MS))
  }

  /** The destination's limit was lowered after the session had begun: what was read with the old one is read again and split. */
  private async mayBeSplit(size: number): Promise<boolean> {
    this.context.forgetMaxMessageBytes()
    return this.context.maxMessageBytes().then(
      (limit) => limit < size,
      () => true,
    )
  }

  private async fail(reason: string): Promise<void> {
    const { failedRetryInitialBackoffMs, failedRetryMaxBackoffMs } = this.context.config()
    this.trusted = false
    const retries = this.state === 'FAILED' ? (this.book.status.error?.retries ?? 0) + 1 : 0
    if (this.state !== 'FAILED') this.tell('error', 'partition-failed', reason)
    await this.enter('FAILED', { error: { message: reason, retries, at: this.now() } }).catch(() => {})
    this.error = reason
    await this.pause.wait(backoffMs(retries, failedRetryInitialBackoffMs, failedRetryMaxBackoffMs))
    // It may be what failed us, and what the operator has changed since.
    this.context.forgetMaxMessageBytes()
  }

  private async refresh(side: 'source' | 'destination'): Promise<void> {
    const { cluster } = side === 'source' ? this.context.source() : this.context.destination
    await cluster.refresh([this.context.topic]).catch(() => {})
  }

  private async noteError(message: string): Promise<void> {
    await this.book.update({ error: { message, retries: this.attempts, at: this.now() } }).catch(() => {})
  }

  /** Waits until what is out of reach is back. True if something else has changed before. */
  private async reachable(side: 'source' | 'destination' | 'both' | undefined): Promise<boolean> {
    if (side === undefined) return false
    const { source, destination } = this.context
    const links = side === 'both' ? [source(), destination] : [side === 'source' ? source() : destination]
    for (const link of links) link.reachability.down()
    if (side !== 'destination') source().forgetVerification()
    return this.pause.wait(RETRY_MAX_MS, Promise.all(links.map((link) => link.reachability.whenUp())))
  }

  private async enter(state: PartitionState, change: Partial<PartitionStatus> = {}): Promise<void> {
    if (state !== this.state) {
      this.since = this.now()
      this.tell('info', 'partition-state', `${this.state} → ${state}`)
    }
    this.state = state
    if (change.error === undefined && 'error' in change) this.error = undefined
    await this.book.update({ ...change, state })
  }

  private tell(level: 'info' | 'warn' | 'error', event: string, message: string): void {
    const { mirror, topic, partition } = this.context
    publish({ level, event, message, mirror, topic, partition })
  }
}

const fillRecordOf = (book: StatusBook): FillRecord => ({
  get mode() {
    return book.status.fillMode
  },
  record: (fillMode) => book.update({ fillMode }),
})

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/** Spreads the first partitions of many topics over the fetchers. */
const hashOf = (text: string) => [...text].reduce((hash, char) => (hash * 31 + char.charCodeAt(0)) & 0xffff, 7)

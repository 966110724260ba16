import type { PartitionState } from '../mirror/partition-states.js'
import type { PartitionStatus } from '../mirror/state.js'
import { backoffMs, Pause } from './backoff.js'
import { classify } from './classify.js'
import { type PartitionSnapshot, publish } from './events.js'
import { fillWithMarkers } from './marker-fill.js'
import { type Aligned, alignPartition } from './partition-aligner.js'
import type { PartitionContext } from './partition-context.js'
import { type CopyEnd, PartitionCopy } from './partition-copy.js'
import { StatusBook, type WriteStatus } from './status-book.js'

const RETRY_INITIAL_MS = 1_000
const RETRY_MAX_MS = 60_000
/** A restart moves leaders for a moment; the first attempts are quick. */
const MOVED_INITIAL_MS = 100
/** How often the destination's log start may follow the source's. */
const FOLLOW_LOG_START_MS = 10_000

/**
 * The life of one partition in the hands of this runner: align, copy until something ends the session, decide what that
 * means, again. The state machine is the KIP's; only what is a verdict becomes FAILED.
 */
export class PartitionMirror {
  private readonly counters = { bytes: 0, records: 0 }
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
  /** An append or fill got no answer and may still reach the log. */
  private uncertain = false
  private released = false
  private logStartFollowed = { offset: -1n, at: Number.NEGATIVE_INFINITY }
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
    this.running = this.run()
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
      retries: this.retries,
      sourceHighWatermark: this.copy?.highWatermark,
      lastStableOffset: this.copy?.lastStableOffset,
      logEndOffset: this.copy?.logEndOffset ?? this.fastForwardedTo,
      error: this.error,
      since: this.since,
    }
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

  applyThrottle(): void {
    if (this.copy !== undefined) this.setLimit(this.copy)
  }

  /** Appends what was read, then lets go. Nothing is written for the partition after this resolves. */
  async release(): Promise<void> {
    this.released = true
    this.copy?.drain()
    this.pause.interrupt()
    await this.running
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

  private async run(): Promise<void> {
    while (!this.released) {
      const { desired } = this.context.spec()
      if (desired === 'MIRRORING') await this.session()
      else await this.rest(desired === 'PAUSED' ? 'PAUSED' : 'STOPPED')
    }
  }

  /** Not copying: the state is confirmed once, with the log end at which it holds, then waited on. */
  private async rest(state: 'PAUSED' | 'STOPPED'): Promise<void> {
    try {
      if (state === 'STOPPED' && this.uncertain) {
        this.tell('warn', 'not-confirmed', 'an append is unanswered and may still land: the removal is left to be fenced by its command')
      } else if (this.state !== state) {
        const stoppedAt = state === 'STOPPED' ? this.copy?.logEndOffset : undefined
        await this.enter(state, { stoppedAt, error: undefined })
      }
      this.copy = undefined
      await this.pause.wait(RETRY_MAX_MS)
    } catch (error) {
      await this.after(classify(error, 'destination'))
    }
  }

  private async session(): Promise<void> {
    let end: CopyEnd
    try {
      // The state is kept over outages: only a partition that was not at work begins anew.
      if (this.state !== 'FAILED' && this.state !== 'MIRRORING') await this.enter('LOG_ALIGNMENT')
      const aligned = await alignPartition(this.context, this.book)
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
    const copy = new PartitionCopy(
      start,
      {
        fill: (baseOffset, count) => this.fill(start, destinationLeader.leaderEpoch, baseOffset, count),
        recordEpoch: (epoch, startOffset) => this.recordEpoch(epoch, startOffset),
        ready: () => lane.push(copy),
        classify: (error) => classify(error, 'destination'),
        logStartMoved: (offset) => this.followLogStart(offset),
      },
      this.counters,
    )
    this.copy = copy
    this.destinationBroker = destinationLeader.brokerId
    this.setLimit(copy)
    const progressAtStart = this.counters.records
    await this.enter('MIRRORING', { error: undefined })
    if (this.released || context.spec().desired !== 'MIRRORING') copy.drain()
    else context.source().fetcher(sourceLeader.brokerId, destinationLeader.brokerId, index).add(copy)
    const end = await copy.whenOver()
    await copy.settled()
    // A later append that landed rules out an earlier one of unknown fate: its sequence has passed.
    if (copy.uncertain) this.uncertain = true
    else if (this.counters.records > progressAtStart) this.uncertain = false
    if (this.counters.records > progressAtStart || this.now() - this.since > RETRY_MAX_MS) this.attempts = 0
    return end
  }

  private setLimit(copy: PartitionCopy): void {
    const { destination, topic, partition } = this.context
    copy.limit = destination.limitOf(topic, partition, this.destinationBroker)
  }

  private async fill(start: PartitionCopy['start'], leaderEpoch: number, baseOffset: bigint, count: number): Promise<void> {
    const { destination } = this.context
    if (!this.context.mayAppend()) throw new Error('this runner lost its place in the group')
    try {
      await fillWithMarkers(
        {
          cluster: destination.cluster,
          topic: start.topic,
          partition: start.partition,
          leaderEpoch,
          producerId: start.producerId,
          producerEpoch: start.producerEpoch,
          ownerEpoch: this.context.ownerEpoch(),
        },
        baseOffset,
        count,
      )
    } catch (error) {
      await this.context.renewOwnerEpoch()
      throw error
    }
  }

  private async recordEpoch(epoch: number, startOffset: bigint): Promise<void> {
    const sourceLeaderEpochs = [...this.book.status.sourceLeaderEpochs.filter((start) => start.epoch < epoch), { epoch, startOffset }]
    await this.book.update({ sourceLeaderEpochs })
  }

  /** The destination's log start follows the source's, so that both keep the same records. */
  private followLogStart(offset: bigint): void {
    const now = this.now()
    if (offset <= this.logStartFollowed.offset || now - this.logStartFollowed.at < FOLLOW_LOG_START_MS) return
    this.logStartFollowed = { offset, at: now }
    this.context.deleteRecords(offset).catch((error) => {
      this.logStartFollowed = { offset: -1n, at: now }
      this.tell(
        'warn',
        'log-start',
        `the log start could not follow the source's to ${offset}: ${error instanceof Error ? error.message : error}`,
      )
    })
  }

  /** What follows the end of a session. */
  private async after(end: CopyEnd): Promise<void> {
    if (end.kind === 'drained') return
    if (end.kind === 'failed') return this.fail(end.reason)
    this.tell(end.kind === 'retry' ? 'warn' : 'info', `partition-${end.kind}`, end.reason)
    if (end.kind === 'fenced') {
      // A newer owner or a failover: what comes next is told by the group or by the operator.
      return this.pause.wait(RETRY_MAX_MS)
    }
    this.retries++
    if (end.kind === 'moved') await this.refresh(end.side)
    if (end.kind === 'retry') {
      this.error = end.reason
      await this.noteError(end.reason)
      await this.reachable(end.unreachable)
    }
    const initial = end.kind === 'retry' ? RETRY_INITIAL_MS / 4 : MOVED_INITIAL_MS
    await this.pause.wait(backoffMs(this.attempts++, initial, RETRY_MAX_MS))
  }

  private async fail(reason: string): Promise<void> {
    const { failedRetryInitialBackoffMs, failedRetryMaxBackoffMs } = this.context.config()
    const retries = this.state === 'FAILED' ? (this.book.status.error?.retries ?? 0) + 1 : 0
    if (this.state !== 'FAILED') this.tell('error', 'partition-failed', reason)
    await this.enter('FAILED', { error: { message: reason, retries, at: this.now() } }).catch(() => {})
    this.error = reason
    await this.pause.wait(backoffMs(retries, failedRetryInitialBackoffMs, failedRetryMaxBackoffMs))
  }

  private async refresh(side: 'source' | 'destination'): Promise<void> {
    const { cluster } = side === 'source' ? this.context.source() : this.context.destination
    await cluster.refresh([this.context.topic]).catch(() => {})
  }

  private async noteError(message: string): Promise<void> {
    await this.book.update({ error: { message, retries: this.attempts, at: this.now() } }).catch(() => {})
  }

  private async reachable(side: 'source' | 'destination' | 'both' | undefined): Promise<void> {
    const { source, destination } = this.context
    const links = side === undefined ? [] : side === 'both' ? [source(), destination] : [side === 'source' ? source() : destination]
    for (const link of links) link.reachability.down()
    if (side === 'source' || side === 'both') source().forgetVerification()
    await Promise.race([Promise.all(links.map((link) => link.reachability.whenUp())), this.pause.wait(RETRY_MAX_MS)])
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

/** Spreads the first partitions of many topics over the fetchers. */
const hashOf = (text: string) => [...text].reduce((hash, char) => (hash * 31 + char.charCodeAt(0)) & 0xffff, 7)

import type { PartitionState } from '../mirror/partition-states.js'
import type { PartitionStatus } from '../mirror/state.js'
import { AfterSession, RETRY_MAX_MS } from './after-session.js'
import { backoffMs, Pause } from './backoff.js'
import { classify } from './classify.js'
import type { CopyEnd } from './copy-session.js'
import type { PartitionSnapshot } from './events.js'
import { LogStartFollower } from './log-start-follower.js'
import { type Aligned, alignPartition } from './partition-aligner.js'
import type { PartitionContext } from './partition-context.js'
import { PartitionCopy } from './partition-copy.js'
import { type FillRecord, PartitionFiller } from './partition-filler.js'
import { PartitionStanding } from './partition-standing.js'
import { destinationLogEnd } from './positions.js'
import type { StatusBook, WriteStatus } from './status-book.js'

const RETRY_INITIAL_MS = 1_000
/** A broker closes connections that are silent for so long (`connections.max.idle.ms`), and what was not read from them is gone. */
const LATE_APPENDS_MS = 10 * 60_000
/** Less than any session: who waits for us to let go would otherwise think us dead. Nothing is lost by dropping what was only read. */
const RELEASE_WITHIN_MS = 5_000

const KEPT_STATES: ReadonlySet<PartitionState> = new Set(['FAILED', 'MIRRORING'])
const COMPARED_AFTER: ReadonlySet<CopyEnd['kind']> = new Set<CopyEnd['kind']>(['failed', 'too-large', 'realign', 'fenced'])

/**
 * The life of one partition in the hands of this runner: align, copy until something ends the session, decide what that
 * means, again. The state machine is the KIP's; only what is a verdict becomes FAILED.
 */
export class PartitionMirror {
  private readonly counters = { bytes: 0, records: 0, rewritten: 0 }
  private readonly pause = new Pause()
  private readonly standing: PartitionStanding
  private readonly afterSession: AfterSession
  private copy: PartitionCopy | undefined
  private destinationBroker = -1
  private fastForwardedTo: bigint | undefined
  /** Until then an append that nobody got an answer to, ours or an earlier owner's, may still reach the log. */
  private uncertainUntil: number
  /** The log end at which the destination's log was once seen to be shorter. */
  private endSeenShort: bigint | undefined
  /** The rest that is on record: a request to stop is answered anew, also if the one before was never seen to be taken back. */
  private resting: { readonly state: 'PAUSED' | 'STOPPED'; readonly answers: number | undefined } | undefined
  private released = false
  /** What the next owner may rely on is written at the end. */
  private handsOver = false
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
    this.standing = new PartitionStanding(context, last, write, now)
    this.afterSession = new AfterSession(context, this.standing, this.pause)
    // The status of an earlier addition is about another copy, with another producer.
    const earlier = last !== undefined && last.addedAt === context.spec().addedAt
    this.uncertainUntil = earlier && last.letGo !== true ? now() + LATE_APPENDS_MS : 0
    this.filler = new PartitionFiller(context, fillRecordOf(this.standing.book))
    this.logStart = new LogStartFollower(
      {
        logEndOffset: () => this.copy?.logEndOffset,
        deleteRecords: (before) => context.deleteRecords(before),
        failed: (wanted, error) =>
          this.standing.tell('warn', 'log-start', `the log start could not follow the source's to ${wanted}: ${messageOf(error)}`),
      },
      now,
    )
    this.running = this.run().finally(() => this.logStart.close())
  }

  get snapshot(): PartitionSnapshot {
    const { mirror, topic, partition } = this.context
    const { state, since, error, lostOffsets } = this.standing
    return {
      mirror,
      topic,
      partition,
      state,
      bytes: this.counters.bytes,
      records: this.counters.records,
      rewrittenBatches: this.counters.rewritten,
      lostOffsets,
      retries: this.afterSession.retries,
      sourceHighWatermark: this.copy?.highWatermark,
      lastStableOffset: this.copy?.lastStableOffset,
      logEndOffset: this.copy?.logEndOffset ?? this.fastForwardedTo,
      error,
      since,
    }
  }

  /** A status that is not this owner's was written over ours: compaction would keep that one. Never throws. */
  async repeatStatus(): Promise<void> {
    await this.standing.repeat()
  }

  /** Something is wrong that this partition's sessions do not see; shown until the next one begins. Never throws. */
  async note(message: string): Promise<void> {
    await this.standing.note(message, this.afterSession.attempts)
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
    // What can be asked for is the high watermark, which may lag behind after an election of which nothing came.
    if (seen < expected && this.endSeenShort !== expected) {
      this.endSeenShort = expected
      return
    }
    // Something else wrote to it, or an election took records away: what is there must be compared before it is trusted.
    this.trusted = false
    this.copy?.finish({ kind: 'realign', reason: `the destination's log ends at offset ${seen} where ${expected} was left` })
  }

  applyThrottle(): void {
    if (this.copy !== undefined) this.setLimit(this.copy)
  }

  /**
   * Appends what was read as far as that goes within seconds, then lets go. No new append begins after this resolves.
   * @param handsOver whether another owner follows, who is told if nothing of ours can land any more
   */
  async release({ handsOver } = { handsOver: false }): Promise<void> {
    this.released = true
    this.handsOver = handsOver
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
    this.handsOver = false
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
        if (this.context.spec().desired === 'MIRRORING') await this.session()
        else await this.rest()
      } catch (error) {
        this.standing.tell('error', 'partition-retry', error instanceof Error ? (error.stack ?? error.message) : String(error))
        if (!this.released) await this.pause.wait(backoffMs(this.afterSession.attempts++, RETRY_INITIAL_MS, RETRY_MAX_MS))
      }
    }
    if (this.handsOver && !this.isUncertain) await this.standing.book.update({ letGo: true }).catch(() => {})
  }

  private get isUncertain(): boolean {
    return this.now() < this.uncertainUntil || this.filler.uncertain
  }

  /** Not copying: the state is confirmed once, with the log end at which it holds, then waited on. */
  private async rest(): Promise<void> {
    // What is asked now: another request may come while this one is being answered.
    const { desired, stopping } = this.context.spec()
    const rest = { state: desired === 'PAUSED' ? ('PAUSED' as const) : ('STOPPED' as const), answers: stopping?.at }
    const { state, answers } = rest
    try {
      await this.filler.settle()
      if (state === 'STOPPED' && this.isUncertain) {
        const why = 'an append of unknown fate may still land: whoever removes the topic has to fence it'
        this.standing.tell('warn', 'not-confirmed', why)
        await this.standing.enter('STOPPING', { needsFence: true, answers })
      } else if (this.resting?.state !== state || this.resting.answers !== answers) {
        const stoppedAt = state === 'STOPPED' ? await this.destinationLogEnd() : undefined
        await this.standing.enter(state, { stoppedAt, answers, error: undefined })
        this.resting = rest
      }
      this.copy = undefined
    } catch (error) {
      if (!this.released) await this.afterSession.pass(classify(error, 'destination'))
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
      if (!KEPT_STATES.has(this.standing.state) && !(this.standing.state === 'STOPPED' && this.standing.error !== undefined))
        await this.standing.enter('LOG_ALIGNMENT', { stoppedAt: undefined, needsFence: undefined, answers: undefined })
      await this.filler.settle()
      const aligned = await alignPartition(this.context, this.standing.book, {
        compare: !this.trusted,
        fastForwarded: (logEndOffset) => {
          this.fastForwardedTo = logEndOffset
        },
      })
      this.trusted = true
      if (this.released || this.context.spec().desired !== 'MIRRORING') return
      end = await this.copyFrom(aligned)
    } catch (error) {
      // Filler of a fast-forward may still land.
      if (this.standing.book.status.fastForward?.done === false) this.uncertainUntil = this.now() + LATE_APPENDS_MS
      end = await this.classifyAlignment(error)
    }
    // A verdict stands until both logs were compared again; an answer that should not have come may be another owner's doing.
    if (COMPARED_AFTER.has(end.kind)) this.trusted = false
    if (!this.released) await this.afterSession.pass(end)
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
        fill: (baseOffset, count) => this.filler.fill({ start, leader: destinationLeader, baseOffset, count, isOver: () => copy.isOver }),
        recordEpoch: (epoch, startOffset) => this.standing.recordEpoch(epoch, startOffset),
        ready: () => lane.push(copy),
        classify: (error) => classify(error, 'destination'),
        logStartMoved: (offset) => this.logStart.moved(offset),
        worked: () => this.standing.recover(),
      },
      this.counters,
    )
    this.copy = copy
    this.destinationBroker = destinationLeader.brokerId
    this.setLimit(copy)
    const [progressAtStart, startedAt] = [this.counters.records, this.now()]
    // A verdict stands until something was really copied.
    if (this.standing.state !== 'FAILED') await this.standing.enter('MIRRORING', { error: undefined })
    if (this.released || context.spec().desired !== 'MIRRORING') copy.drain()
    else context.source().fetcher(sourceLeader.brokerId, destinationLeader.brokerId, index).add(copy)
    const end = await copy.whenOver()
    await copy.settled()
    if (copy.highWatermark !== undefined) this.standing.sourceEnd = { offset: copy.highWatermark, at: this.now() }
    // A later append that landed rules out an earlier one of unknown fate: its sequence has passed.
    if (copy.uncertain) this.uncertainUntil = this.now() + LATE_APPENDS_MS
    else if (this.counters.records > progressAtStart) this.uncertainUntil = 0
    if (this.counters.records > progressAtStart || this.now() - startedAt > RETRY_MAX_MS) this.afterSession.attempts = 0
    return end
  }

  private setLimit(copy: PartitionCopy): void {
    const { destination, topic, partition } = this.context
    copy.limit = destination.limitOf(topic, partition, this.destinationBroker)
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

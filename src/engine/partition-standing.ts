import type { PartitionState } from '../mirror/partition-states.js'
import type { PartitionStatus } from '../mirror/state.js'
import { publish } from './events.js'
import type { PartitionContext } from './partition-context.js'
import { StatusBook, type WriteStatus } from './status-book.js'

/** As many leader epochs back a destination's log end may fall by an election of its own and still be continued with a check. */
const EPOCHS_KEPT = 100

/** Where a partition stands, as its owner says: on record in the state topic, shown in snapshots, told to whoever listens. */
export class PartitionStanding {
  readonly book: StatusBook
  state: PartitionState = 'LOG_ALIGNMENT'
  /** When the state was entered, milliseconds since the epoch. */
  since: number
  /** What is wrong just now. */
  error: string | undefined
  /** The source's end as the last session saw it; put on record with whatever is written next. */
  sourceEnd: PartitionStatus['sourceEnd']

  constructor(
    private readonly context: PartitionContext,
    last: PartitionStatus | undefined,
    write: WriteStatus,
    private readonly now: () => number,
  ) {
    const identity = () => ({
      ownerEpoch: context.ownerEpoch(),
      owner: context.owner,
      addedAt: context.spec().addedAt,
      destinationTopicId: context.spec().destinationTopicId,
    })
    this.book = new StatusBook(last, identity, write, now)
    this.since = now()
  }

  /** Offsets that the source had lost before they could be copied. */
  get lostOffsets(): bigint {
    return this.book.status.lostRanges.reduce((sum, { from, to }) => sum + to - from + 1n, 0n)
  }

  /** Throws what writing the status throws; the state is entered all the same. */
  async enter(state: PartitionState, change: Partial<PartitionStatus> = {}): Promise<void> {
    if (state !== this.state) {
      this.since = this.now()
      this.tell('info', 'partition-state', `${this.state} → ${state}`)
    }
    this.state = state
    if (change.error === undefined && 'error' in change) this.error = undefined
    await this.book.update({ ...change, ...this.lastSeen, state })
  }

  private get lastSeen(): Pick<PartitionStatus, 'sourceEnd'> {
    return this.sourceEnd === undefined ? {} : { sourceEnd: this.sourceEnd }
  }

  /** A verdict. Never throws. */
  async fail(reason: string): Promise<{ readonly retries: number }> {
    const retries = this.state === 'FAILED' ? (this.book.status.error?.retries ?? 0) + 1 : 0
    if (this.state !== 'FAILED') this.tell('error', 'partition-failed', reason)
    await this.enter('FAILED', { error: { message: reason, retries, at: this.now() } }).catch(() => {})
    this.error = reason
    return { retries }
  }

  /** The verdict was mended: something was copied. */
  recover(): void {
    if (this.state === 'FAILED') void this.enter('MIRRORING', { error: undefined }).catch(() => {})
  }

  /** What keeps the partition from going on though its state is the same. Never throws. */
  async note(message: string, retries: number): Promise<void> {
    this.error = message
    await this.book.update({ ...this.lastSeen, error: { message, retries, at: this.now() } }).catch(() => {})
  }

  /** A status that is not this owner's was written over ours: compaction would keep that one. Never throws. */
  async repeat(): Promise<void> {
    await this.book.update({}).catch(() => {})
  }

  /** Puts a source leader epoch on record, with its first offset. Throws what writing the status throws. */
  async recordEpoch(epoch: number, startOffset: bigint): Promise<void> {
    const earlier = this.book.status.sourceLeaderEpochs.filter((start) => start.epoch < epoch).slice(-EPOCHS_KEPT)
    await this.book.update({ sourceLeaderEpochs: [...earlier, { epoch, startOffset }] })
  }

  tell(level: 'info' | 'warn' | 'error', event: string, message: string): void {
    const { mirror, topic, partition } = this.context
    publish({ level, event, message, mirror, topic, partition })
  }
}

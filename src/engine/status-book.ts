import type { PartitionStatus } from '../mirror/state.js'

/** Where the owner's statuses go; resolves once the record is acknowledged by all in-sync replicas. */
export type WriteStatus = (status: PartitionStatus) => Promise<void>

/** What a status is about and by whom; taken anew for every write. */
export interface StatusIdentity {
  readonly ownerEpoch: number
  readonly owner: string
  readonly addedAt: number
  readonly destinationTopicId: string
}

/**
 * One partition's status as its owner writes it. Starts from what the last owner left, so that epochs and lost ranges
 * stay known, unless that was about an earlier addition of the topic.
 */
export class StatusBook {
  private current: PartitionStatus
  private writing: Promise<void> = Promise.resolve()

  constructor(
    last: PartitionStatus | undefined,
    private readonly identity: () => StatusIdentity,
    private readonly write: WriteStatus,
    private readonly now: () => number,
  ) {
    const identityNow = identity()
    const kept = last?.addedAt === identityNow.addedAt ? last : undefined
    this.current = {
      sourceLeaderEpochs: [],
      fillMode: 'markers',
      lostRanges: [],
      ...kept,
      ...identityNow,
      destinationTopicId: kept?.destinationTopicId ?? identityNow.destinationTopicId,
      state: 'LOG_ALIGNMENT',
      since: now(),
      stoppedAt: undefined,
      needsFence: undefined,
      answers: undefined,
      letGo: undefined,
    }
  }

  get status(): PartitionStatus {
    return this.current
  }

  /** Writes the changed status, one change after the other; if that fails, nothing has changed. `since` follows the state. */
  update(change: Partial<PartitionStatus>): Promise<void> {
    const written = this.writing.then(() => this.apply(change))
    this.writing = written.catch(() => {})
    return written
  }

  private async apply(change: Partial<PartitionStatus>): Promise<void> {
    const { ownerEpoch, owner } = this.identity()
    const since = change.state === undefined || change.state === this.current.state ? this.current.since : this.now()
    const next = { ...this.current, ...change, ownerEpoch, owner, since }
    await this.write(next)
    this.current = next
  }
}

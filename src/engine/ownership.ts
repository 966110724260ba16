import type { GroupMembership } from '../client/group.js'

/**
 * The owner epochs of the shards this runner holds. An owner epoch is the group's committed offset of the shard: read, add
 * one, commit as a member of the current generation, which Kafka refuses from anybody else. It only ever grows.
 */
export class Ownership {
  private readonly epochs = new Map<number, number>()
  /** Shards being let go: their partitions still finish under the old epoch, but no new ones are taken up. */
  private readonly leaving = new Set<number>()
  /** One change at a time: of two that overlap, the later commit could be the lower one. */
  private changing: Promise<unknown> = Promise.resolve()

  /**
   * @param group where the epochs are committed
   * @param lowest the smallest epoch that is above every marker and status of a shard; asked when the group has no offset
   */
  constructor(
    private readonly group: Pick<GroupMembership, 'committed' | 'commit'>,
    private readonly lowest: (shard: number) => Promise<number>,
  ) {}

  /** Takes new owner epochs for the shards. Throws KafkaError when this member is not (or no longer) entitled to them. */
  take(shards: readonly number[]): Promise<void> {
    return this.inTurn(async () => {
      for (const [shard, epoch] of await this.raise(shards)) {
        this.epochs.set(shard, epoch)
        this.leaving.delete(shard)
      }
    })
  }

  /** A higher owner epoch for a shard that is held. Throws KafkaError; also when the shard is lost meanwhile. */
  renew(shard: number): Promise<void> {
    return this.inTurn(async () => {
      const held = () => {
        if (!this.epochs.has(shard)) throw new Error(`shard ${shard} is no longer this runner's`)
      }
      held()
      const raised = await this.raise([shard])
      held()
      for (const [, epoch] of raised) this.epochs.set(shard, epoch)
    })
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    const result = this.changing.then(work)
    this.changing = result.catch(() => {})
    return result
  }

  private async raise(shards: readonly number[]): Promise<Map<number, number>> {
    const committed = await this.group.committed(shards)
    const raised = new Map<number, number>()
    for (const shard of shards) {
      const last = committed.get(shard)
      raised.set(shard, last === undefined ? await this.lowest(shard) : Number(last) + 1)
    }
    await this.group.commit(new Map([...raised].map(([shard, epoch]) => [shard, BigInt(epoch)])))
    return raised
  }

  /** From now on no partition of these is taken up; {@link drop} follows when the last one is let go. */
  giveUp(shards: readonly number[]): void {
    for (const shard of shards) this.leaving.add(shard)
  }

  drop(shards: readonly number[]): void {
    for (const shard of shards) {
      this.epochs.delete(shard)
      this.leaving.delete(shard)
    }
  }

  holds(shard: number): boolean {
    return this.epochs.has(shard) && !this.leaving.has(shard)
  }

  /** The owner epoch of a shard this runner holds, else of none: −1. */
  epochOf(shard: number): number {
    return this.epochs.get(shard) ?? -1
  }

  get count(): number {
    return this.epochs.size
  }
}

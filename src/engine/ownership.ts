import type { GroupMembership } from '../client/group.js'

/**
 * The owner epochs of the shards this runner holds. An owner epoch is the group's committed offset of the shard: read, add
 * one, commit as a member of the current generation, which Kafka refuses from anybody else. It only ever grows.
 */
export class Ownership {
  private readonly epochs = new Map<number, number>()

  /**
   * @param group where the epochs are committed
   * @param lowest the smallest epoch that is above every marker and status of a shard; asked when the group has no offset
   */
  constructor(
    private readonly group: Pick<GroupMembership, 'committed' | 'commit'>,
    private readonly lowest: (shard: number) => Promise<number>,
  ) {}

  /** Takes new owner epochs for the shards. Throws KafkaError when this member is not (or no longer) entitled to them. */
  async take(shards: readonly number[]): Promise<void> {
    const committed = await this.group.committed(shards)
    const taken = new Map<number, number>()
    for (const shard of shards) {
      const last = committed.get(shard)
      taken.set(shard, last === undefined ? await this.lowest(shard) : Number(last) + 1)
    }
    await this.group.commit(new Map([...taken].map(([shard, epoch]) => [shard, BigInt(epoch)])))
    for (const [shard, epoch] of taken) this.epochs.set(shard, epoch)
  }

  drop(shards: readonly number[]): void {
    for (const shard of shards) this.epochs.delete(shard)
  }

  holds(shard: number): boolean {
    return this.epochs.has(shard)
  }

  /** The owner epoch of a shard this runner holds, else of none: −1. */
  epochOf(shard: number): number {
    return this.epochs.get(shard) ?? -1
  }

  get count(): number {
    return this.epochs.size
  }
}

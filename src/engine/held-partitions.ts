import type { TopicSpec } from '../mirror/state.js'
import type { PartitionMirror } from './partition-mirror.js'
import { keyOf, type Wanted } from './wanted.js'

interface Held {
  readonly want: Wanted
  readonly partition: PartitionMirror
  /** As the operators want it now. */
  spec: TopicSpec
}

export interface HeldPartitionsPort {
  /** Begins to copy one; `spec` is what the operators want of it from then on. */
  takeUp(want: Wanted, spec: () => TopicSpec): PartitionMirror
  /** One that was let go is done. */
  gone(): void
}

/** The partitions that a runner copies, and those that it is letting go of. */
export class HeldPartitions {
  private readonly held = new Map<string, Held>()
  /** Let go, and not done yet: taken up again now, they would be copied twice at once. */
  private readonly leaving = new Map<string, Wanted>()

  constructor(private readonly port: HeldPartitionsPort) {}

  get all(): PartitionMirror[] {
    return [...this.held.values()].map(({ partition }) => partition)
  }

  get topics(): Set<string> {
    return new Set([...this.held.values()].map(({ want }) => want.topic))
  }

  /** Of all that is at work, also on its way out. */
  get mirrors(): Set<string> {
    return new Set([...[...this.held.values()].map(({ want }) => want), ...this.leaving.values()].map(({ mirror }) => mirror))
  }

  find(where: Pick<Wanted, 'mirror' | 'topic' | 'partition'>): PartitionMirror | undefined {
    return this.held.get(keyOf(where))?.partition
  }

  which(test: (want: Wanted) => boolean): PartitionMirror[] {
    return [...this.held.values()].flatMap(({ want, partition }) => (test(want) ? [partition] : []))
  }

  /**
   * Lets go of what is not wanted and takes up what is, where `mayBegin`. Gives those that are wanted and in nobody's hands. With
   * `wake` those that go on look again at once at what they wait for.
   */
  reconcile(wanted: ReadonlyMap<string, Wanted>, { wake, mayBegin }: { wake: boolean; mayBegin(want: Wanted): boolean }): Wanted[] {
    for (const [key, held] of [...this.held]) {
      const want = wanted.get(key)
      // Removed and added again is another copy, with other ids and producers.
      if (want === undefined || want.spec.addedAt !== held.spec.addedAt) {
        void held.partition.release()
        this.letGo(key, held)
      } else {
        held.spec = want.spec
        if (wake) held.partition.changed()
        held.partition.applyThrottle()
      }
    }
    const unable: Wanted[] = []
    for (const [key, want] of wanted) {
      if (this.held.has(key) || this.leaving.has(key)) continue
      if (mayBegin(want)) this.held.set(key, this.takeUp(want))
      else unable.push(want)
    }
    return unable
  }

  /** Appends what was read of the partitions on these shards, for whoever has them next. */
  async release(shards: readonly number[]): Promise<void> {
    await Promise.all(this.letGoOf(shards).map((partition) => partition.release({ handsOver: true })))
  }

  /** Drops the partitions on these shards: somebody else may have them by now. */
  abandon(shards: readonly number[]): void {
    for (const partition of this.letGoOf(shards)) partition.abandon()
  }

  private takeUp(want: Wanted): Held {
    const current = { spec: want.spec }
    const partition = this.port.takeUp(want, () => current.spec)
    return Object.assign(current, { want, partition })
  }

  private letGoOf(shards: readonly number[]): PartitionMirror[] {
    const leaving = [...this.held].filter(([, { want }]) => shards.includes(want.shard))
    for (const [key, held] of leaving) this.letGo(key, held)
    return leaving.map(([, { partition }]) => partition)
  }

  private letGo(key: string, { want, partition }: Held): void {
    this.held.delete(key)
    this.leaving.set(key, want)
    void partition.whenGone().then(() => {
      this.leaving.delete(key)
      this.port.gone()
    })
  }
}

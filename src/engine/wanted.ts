import { isAdded, type MirrorEntry } from '../mirror/fold.js'
import { SHARDS, shardOf } from '../mirror/shards.js'
import type { TopicSpec } from '../mirror/state.js'

/** A partition that this runner should copy. */
export interface Wanted {
  readonly mirror: string
  readonly topic: string
  readonly partition: number
  readonly shard: number
  readonly spec: TopicSpec
}

/** Neither mirrors nor topics have a slash in their names. */
export const keyOf = ({ mirror, topic, partition }: Pick<Wanted, 'mirror' | 'topic' | 'partition'>): string =>
  `${mirror}/${topic}/${partition}`

/** The partitions of some mirrors that lie on shards held here, by {@link keyOf}. */
export function wantedPartitions(mirrors: readonly MirrorEntry[], holds: (shard: number) => boolean): Map<string, Wanted> {
  const wanted = new Map<string, Wanted>()
  for (const { name, topics } of mirrors) {
    for (const [topic, spec] of topics) {
      if (!isAdded(spec)) continue
      for (let partition = 0; partition < spec.partitions; partition++) {
        const one = { mirror: name, topic, partition, shard: shardOf(name, topic, partition, SHARDS), spec }
        if (holds(one.shard)) wanted.set(keyOf(one), one)
      }
    }
  }
  return wanted
}

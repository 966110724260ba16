import { about, DESTINATION } from '../mirror/failures.js'
import { mirrorShardOf, SHARDS, shardOf } from '../mirror/shards.js'
import { erase } from '../mirror/spec-store.js'
import type { StateKey } from '../mirror/state-keys.js'
import type { ServiceContext } from './context.js'

/**
 * Erases what runners said of a mirror that is gone, or of an earlier one of the name: it is theirs to write, but nobody owns these
 * partitions and loops any more. Throws MirrorError.
 */
export async function eraseStatuses({ store }: ServiceContext, mirror: string): Promise<void> {
  const state = await store.read()
  if (state.mirror(mirror) !== undefined) return
  const byShard = new Map<number, ReturnType<typeof erase>[]>()
  const add = (shard: number, key: StateKey) => byShard.set(shard, [...(byShard.get(shard) ?? []), erase(key)])
  for (const [topic, partitions] of state.statusesOf(mirror)) {
    for (const partition of partitions.keys()) {
      const key = { kind: 'status', mirror, topic, partition } as const
      add(shardOf(mirror, topic, partition, SHARDS), key)
    }
  }
  for (const loop of state.syncsOf(mirror).keys()) add(mirrorShardOf(mirror, SHARDS), { kind: 'sync', mirror, loop })
  await about(DESTINATION, undefined, () => Promise.all([...byShard].map(([shard, records]) => store.log.append(shard, records))))
}

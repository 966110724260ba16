import type { Cluster } from '../client/cluster.js'
import { isActive, type MirrorState } from '../mirror/fold.js'
import { SHARDS, shardOf } from '../mirror/shards.js'
import { Errors, KafkaError } from '../protocol/errors.js'
import { producerState } from './positions.js'

/** More renewals than happen between two statuses of a partition, for one whose markers can't be looked at. */
const UNSEEN_RENEWALS = 1_000

/**
 * An owner epoch that is above everything a former owner of the shard may have used: the coordinator epochs of
 * its partitions' markers, and the statuses. Needed once, when the group has no committed offset for the shard (it was
 * deleted, or nobody ever owned it).
 */
export async function lowestOwnerEpoch(destination: Cluster, state: MirrorState, shard: number): Promise<number> {
  let highest = 0
  let unseen = false
  for (const entry of state.mirrors()) {
    for (const [topic, spec] of entry.topics) {
      for (let partition = 0; partition < spec.partitions; partition++) {
        if (shardOf(entry.name, topic, partition, SHARDS) !== shard) continue
        highest = Math.max(highest, state.status(entry.name, topic, partition)?.ownerEpoch ?? 0)
        const producer = spec.producers[partition]
        if (!isActive(spec) || producer === undefined) continue
        const known = await producerState(destination, topic, partition, producer.id).catch((error) => {
          // One without a leader must not keep the others of the shard waiting.
          unseen ||= !(error instanceof KafkaError && error.code === Errors.UNKNOWN_TOPIC_OR_PARTITION)
          return undefined
        })
        highest = Math.max(highest, known?.coordinatorEpoch ?? 0)
      }
    }
  }
  return highest + 1 + (unseen ? UNSEEN_RENEWALS : 0)
}

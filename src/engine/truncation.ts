import { offsetForLeaderEpoch, unwrap } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { PartitionFailure } from './errors.js'

/** What was copied last, and from which source leader epoch. */
export interface Copied {
  readonly topic: string
  readonly partition: number
  /** Of the last copied record; −1 when unknown. */
  readonly lastEpoch: number
  /** The offset after it. */
  readonly logEndOffset: bigint
}

/** The sentence for a source whose history ends earlier than what was copied of it. */
export const truncated = ({ topic, partition, logEndOffset }: Omit<Copied, 'lastEpoch'>, epoch: number, endOffset: bigint): string =>
  `the source's log of ${topic}-${partition} was truncated: its leader epoch ${epoch} ends at offset ${endOffset}, copied is up to ${logEndOffset}. ` +
  'Run recover to see what differs'

/**
 * Makes sure that the source still has the history that was copied: after an unclean election its leader may have lost
 * records and written others in their place (KIP-101). Fetch says so by itself from version 12 on; this asks before the first
 * fetch, and on older sources whenever the leader epoch has changed.
 *
 * @throws PartitionFailure when the history ends earlier; KafkaError, ConnectionError.
 */
export async function checkNotTruncated(source: Cluster, copied: Copied, currentLeaderEpoch: number): Promise<void> {
  const { topic, partition, lastEpoch, logEndOffset } = copied
  if (lastEpoch < 0) return
  const [answer] = await offsetForLeaderEpoch(source, [{ topic, partition, leaderEpoch: lastEpoch, currentLeaderEpoch }])
  const { leaderEpoch, endOffset } = unwrap(answer!)
  // −1: it keeps no epochs for this log, as with old message formats.
  if (endOffset < 0n || (leaderEpoch >= lastEpoch && endOffset >= logEndOffset)) return
  throw new PartitionFailure(truncated(copied, leaderEpoch, endOffset))
}

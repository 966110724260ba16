import { listOffsets, type OffsetPoint } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'
import { failure } from '../../mirror/errors.js'
import type { FoundLog } from '../../mirror/state.js'

/** Where a partition's log begins and ends. */
export interface LogBounds {
  readonly logStartOffset: bigint
  readonly highWatermark: bigint
}

/** The bounds of every partition of a topic, by partition number. Throws KafkaError, ConnectionError. */
export async function logBounds(cluster: Cluster, topic: string, partitions: number): Promise<LogBounds[]> {
  const [starts, ends] = await Promise.all([offsets(cluster, topic, partitions, 'earliest'), offsets(cluster, topic, partitions, 'latest')])
  return starts.map((logStartOffset, partition) => ({ logStartOffset, highWatermark: ends[partition]! }))
}

/**
 * What the destination holds now that its settings delete nothing any more. Throws MirrorError if it has grown since it was looked at:
 * nobody knows what is there now.
 */
export async function foundLogs(destination: Cluster, topic: string, found: readonly LogBounds[]): Promise<FoundLog[]> {
  const now = await logBounds(destination, topic, found.length)
  const moving = now.findIndex(({ highWatermark }, partition) => highWatermark !== found[partition]!.highWatermark)
  if (moving < 0) return now.map(({ logStartOffset, highWatermark }) => ({ logStartOffset, logEndOffset: highWatermark }))
  throw failure(
    'CONFLICT',
    `partition ${moving} of topic ${topic} is written to on the destination by something else`,
    'Stop its writers there, they belong on the source; then try again.',
  )
}

async function offsets(cluster: Cluster, topic: string, partitions: number, at: OffsetPoint): Promise<bigint[]> {
  const queries = Array.from({ length: partitions }, (_, partition) => ({ topic, partition, at }))
  return (await listOffsets(cluster, queries)).map((result) => {
    if (!result.ok) throw result.error
    return result.value.offset
  })
}

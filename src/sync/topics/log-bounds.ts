import { listOffsets, type OffsetPoint } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'

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

async function offsets(cluster: Cluster, topic: string, partitions: number, at: OffsetPoint): Promise<bigint[]> {
  const queries = Array.from({ length: partitions }, (_, partition) => ({ topic, partition, at }))
  return (await listOffsets(cluster, queries)).map((result) => {
    if (!result.ok) throw result.error
    return result.value.offset
  })
}

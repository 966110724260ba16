import type { MirrorState } from '../mirror/fold.js'
import type { PartitionStatus, TopicSpec } from '../mirror/state.js'

export const partitionsOf = ({ partitions }: Pick<TopicSpec, 'partitions'>): number[] => Array.from({ length: partitions }, (_, i) => i)

/** What a runner last said of a partition; a status of an earlier addition says nothing about this one. */
export function statusOf(
  state: MirrorState,
  mirror: string,
  topic: string,
  spec: Pick<TopicSpec, 'addedAt'>,
  partition: number,
): PartitionStatus | undefined {
  const status = state.status(mirror, topic, partition)
  return status?.addedAt === spec.addedAt ? status : undefined
}

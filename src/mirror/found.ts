import type { PartitionStatus, TopicSpec } from './state.js'

/**
 * Where a partition must still end: where it ended when its topic was added, as long as the mirror itself has not moved its end.
 * Undefined once it has, or where that is not on record. `status` is one of this addition.
 */
export function untouchedEnd(spec: TopicSpec, partition: number, status: PartitionStatus | undefined): bigint | undefined {
  const isTouched = status !== undefined && (status.fastForward !== undefined || status.sourceLeaderEpochs.length > 0)
  return isTouched ? undefined : spec.found?.[partition]?.logEndOffset
}

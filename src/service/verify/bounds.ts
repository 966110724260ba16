import { listOffsets, type OffsetPoint, type Result, type TopicPartition } from '../../client/admin.js'
import type { OffsetAnswer } from '../../client/admin-partitions.js'
import type { Cluster } from '../../client/cluster.js'
import { MirrorError } from '../../mirror/errors.js'
import { DESTINATION, type Place, sourceOf, toMirrorError } from '../../mirror/failures.js'

/** Where both logs of a partition begin and end. */
export interface PartitionBounds {
  readonly sourceStart: bigint
  readonly lastStableOffset: bigint
  /** High watermark. */
  readonly sourceEnd: bigint
  readonly destinationStart: bigint
  readonly destinationEnd: bigint
}

/** The clusters that are compared. */
export interface BothClusters {
  readonly mirror: string
  readonly source: Cluster
  readonly destination: Cluster
}

/**
 * The bounds of many partitions, in their order; a MirrorError for each that has no answer. The destination is asked first:
 * it follows the source, so nothing that moves between the questions can make it seem ahead.
 */
export async function readBounds(
  clusters: BothClusters,
  partitions: readonly TopicPartition[],
): Promise<(PartitionBounds | MirrorError)[]> {
  const { mirror, source, destination } = clusters
  const ask = (cluster: Cluster, ...points: OffsetPoint[]) =>
    Promise.all(
      points.map((at) =>
        listOffsets(
          cluster,
          partitions.map(({ topic, partition }) => ({ topic, partition, at })),
        ),
      ),
    )
  const here = await ask(destination, 'earliest', 'latest')
  const there = await ask(source, 'earliest', 'lastStable', 'latest')
  return partitions.map(({ topic, partition }, i) => {
    const offset = (answers: readonly Result<OffsetAnswer>[], place: Place) => {
      const answer = answers[i]!
      if (answer.ok) return answer.value.offset
      throw toMirrorError(answer.error, place, `the offsets of ${topic}-${partition} cannot be read on ${place.name}`)
    }
    try {
      return {
        destinationStart: offset(here[0]!, DESTINATION),
        destinationEnd: offset(here[1]!, DESTINATION),
        sourceStart: offset(there[0]!, sourceOf(mirror)),
        lastStableOffset: offset(there[1]!, sourceOf(mirror)),
        sourceEnd: offset(there[2]!, sourceOf(mirror)),
      }
    } catch (error) {
      if (error instanceof MirrorError) return error
      throw error
    }
  })
}

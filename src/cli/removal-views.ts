import type { DrainProgress, RemovedPartition, RemovedTopic, TopicResult } from '../service/types.js'
import { resultJson } from './item-results.js'
import type { Column } from './table.js'

export type LossRow = RemovedPartition & { readonly mirror: string; readonly topic: string }

const isoTime = (milliseconds: number | undefined) => (milliseconds === undefined ? undefined : new Date(milliseconds).toISOString())

/** What a failover would lose. */
export const lossColumns: readonly Column<LossRow>[] = [
  { header: 'MIRROR', value: (row) => row.mirror },
  { header: 'TOPIC', value: (row) => row.topic },
  { header: 'PARTITION', value: (row) => row.partition },
  { header: 'SOURCE-OFFSET', value: (row) => row.sourceOffset },
  { header: 'DESTINATION-OFFSET', value: (row) => row.destinationOffset },
  { header: 'LOST', value: (row) => row.lost, colour: (row) => (row.lost ? 'red' : undefined) },
  { header: 'SOURCE-SEEN', value: (row) => isoTime(row.sourceSeenAt), wide: true },
]

export function lossRows(topic: { mirror: string; topic: string; partitions: readonly RemovedPartition[] }): LossRow[] {
  return topic.partitions.map((partition) => ({ mirror: topic.mirror, topic: topic.topic, ...partition }))
}

/** Times as ISO 8601, everything else as it is. */
export const removalJson = (topics: readonly TopicResult<RemovedTopic>[]): unknown[] =>
  resultJson(
    topics.map((topic) => {
      if (!topic.ok) return topic
      return { ...topic, partitions: topic.partitions.map((row) => ({ ...row, sourceSeenAt: isoTime(row.sourceSeenAt) })) }
    }),
  )

/** How far a drain has come. */
export const drainLine = ({ partitions, drained, lag }: DrainProgress): string =>
  `draining: ${drained} of ${partitions} partition(s) have everything of a source that stands still, ${lag} offset(s) to go`

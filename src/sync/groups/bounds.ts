import { listOffsets } from '../../client/admin-partitions.js'
import type { TopicPartition } from '../../client/by-leader.js'
import type { Cluster } from '../../client/cluster.js'
import { spelled } from '../../mirror/spelled.js'
import { Errors, KafkaError } from '../../protocol/index.js'
import type { Findings } from './findings.js'
import { type Bounds, partitionKey } from './plan.js'

/**
 * The destination's log bounds of the partitions that positions are in. Those that can't be had are missing, and reported
 * unless they are simply not there yet.
 */
export async function boundsOf(
  destination: Cluster,
  positions: readonly TopicPartition[],
  findings: Findings,
): Promise<Map<string, Bounds>> {
  const partitions = [...new Map(positions.map((one) => [partitionKey(one), one] as const)).values()]
  const queries = partitions.flatMap(({ topic, partition }) => [
    { topic, partition, at: 'earliest' as const },
    { topic, partition, at: 'latest' as const },
  ])
  const answers = await listOffsets(destination, queries, { deadlineMs: 10_000 })
  const bounds = new Map<string, Bounds>()
  const unknown = new Map<string, { error: Error; partitions: string[] }>()
  for (const [i, { topic, partition }] of partitions.entries()) {
    const [start, end] = [answers[2 * i]!, answers[2 * i + 1]!]
    if (start.ok && end.ok) {
      bounds.set(partitionKey({ topic, partition }), { logStartOffset: start.value.offset, logEndOffset: end.value.offset })
      continue
    }
    const { error } = (start.ok ? end : start) as { readonly error: Error }
    // The source has grown the topic and the destination has yet to follow.
    if (error instanceof KafkaError && error.code === Errors.UNKNOWN_TOPIC_OR_PARTITION) continue
    const known = unknown.get(topic) ?? { error, partitions: [] }
    unknown.set(topic, { ...known, partitions: [...known.partitions, String(partition)] })
  }
  for (const [topic, { error, partitions: some }] of unknown)
    findings.problem(topic, `positions wait, since the log bounds of partition ${spelled(some)} are unknown: ${error.message}`)
  return bounds
}

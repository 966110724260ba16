import { most } from '../mirror/offsets.js'
import type { Mirror } from '../mirror/spec-store.js'
import { keyOf, type Offsets } from './source-contact.js'
import type { RemovedPartition, RemovedTopic, TopicResult } from './types.js'

/**
 * What the source has beyond the end of a partition: as it says now, or as a runner last saw it. `mirror` is with statuses;
 * `there` are the source's ends as far as it answered.
 */
export function lossOf(
  mirror: Mirror,
  topic: string,
  partition: number,
  destinationOffset: bigint | undefined,
  there: Offsets,
): RemovedPartition {
  const told = there.get(keyOf({ topic, partition }))
  const status = mirror.statuses.get(topic)?.get(partition)
  const seen = told === undefined && status?.addedAt === mirror.topics.get(topic)?.addedAt ? status?.sourceEnd : undefined
  const sourceOffset = told ?? seen?.offset
  const isKnown = sourceOffset !== undefined && destinationOffset !== undefined
  const lost = isKnown ? most(sourceOffset - destinationOffset, 0n) : undefined
  return { partition, destinationOffset, sourceOffset, lost, sourceSeenAt: seen?.at }
}

/** One sentence about all that was lost; none if nothing is known to be. */
export function lossSentence(mirror: string, topics: readonly TopicResult<RemovedTopic>[]): string[] {
  const rows = topics.flatMap((topic) => (topic.ok ? topic.partitions.map((row) => ({ ...row, topic: topic.topic })) : []))
  const lacking = rows.filter(({ lost }) => lost !== undefined && lost > 0n).sort((a, b) => (a.lost! > b.lost! ? -1 : 1))
  const [worst] = lacking
  if (worst === undefined) return []
  const sum = lacking.reduce((total, { lost }) => total + lost!, 0n)
  const seen = worst.sourceSeenAt === undefined ? '' : `, as last seen at ${new Date(worst.sourceSeenAt).toISOString()}`
  const where = `${worst.topic}-${worst.partition} from offset ${worst.destinationOffset}`
  const most = lacking.length === 1 ? where : `most in ${where}, ${worst.lost} of them`
  return [`the source of mirror ${mirror} has ${sum} offset(s) in ${lacking.length} partition(s) that are not here (${most})${seen}`]
}

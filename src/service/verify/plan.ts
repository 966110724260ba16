import { least, most } from '../../mirror/offsets.js'
import { spelled } from '../../mirror/spelled.js'
import type { PartitionBounds } from './bounds.js'
import type { OffsetRange } from './log-view.js'
import type { CompactionRule } from './partition-findings.js'
import type { PartitionJob } from './partition-verifier.js'
import { sampleOf } from './stretches.js'
import type { TopicPair, TopicSettings } from './topic-pairs.js'
import type { VerifyMirrorOptions } from './types.js'

export interface Sampling {
  readonly count: number
  readonly random: () => number
}

/** One partition's comparison, worked out before anything is read. */
export interface PlannedPartition {
  readonly job: PartitionJob
  /** What the stretches were taken from. */
  readonly range: OffsetRange
}

/**
 * What to compare of a partition: from the later of both starts to the destination's end (of a removed topic: to where the mirror
 * left it), never past the source's last stable offset; `from` and `to` of the user narrow it.
 */
export function planPartition(
  pair: TopicPair,
  partition: number,
  bounds: PartitionBounds,
  options: Pick<VerifyMirrorOptions, 'from' | 'to'>,
  sampling: Sampling | undefined,
  compaction: CompactionRule | undefined,
): PlannedPartition {
  const mirroredEnd = least(bounds.destinationEnd, pair.removedAt.get(partition) ?? bounds.destinationEnd)
  const from = most(bounds.sourceStart, bounds.destinationStart, options.from ?? 0n)
  const to = most(from, least(mirroredEnd, bounds.lastStableOffset, options.to ?? mirroredEnd))
  const range = { from, to }
  const stretches = sampling === undefined ? (from < to ? [range] : []) : sampleOf(range, sampling.count, sampling.random)
  const found = pair.found?.[partition]
  const { destinationStart } = bounds
  // What was gone from there before the mirror came is no loss of the mirror's.
  const startsFrom = most(bounds.sourceStart, found?.logStartOffset ?? 0n)
  const looksBelow = options.from === undefined && !pair.removed && startsFrom < destinationStart
  return {
    range,
    job: {
      topic: pair.topic,
      partition,
      topicIds: pair.topicIds,
      bounds,
      mirroredEnd,
      ownFrom: pair.found === undefined ? firstAppend(pair, partition, bounds) : (found?.logEndOffset ?? 0n),
      stretches,
      belowStart: looksBelow ? { from: startsFrom, to: least(destinationStart, bounds.lastStableOffset) } : undefined,
      lost: pair.statuses.get(partition)?.lostRanges ?? [],
      compaction,
    },
  }
}

/**
 * Where the mirror's own appends begin, as far back as its status tells; the log end if a runner has taken it up and not appended yet.
 * Earlier versions did not put on record what they found in the topics they took over.
 */
function firstAppend({ statuses }: TopicPair, partition: number, { destinationEnd }: PartitionBounds): bigint {
  const status = statuses.get(partition)
  return status === undefined ? 0n : least(...status.sourceLeaderEpochs.map(({ startOffset }) => startOffset), destinationEnd)
}

/** Whether the destination's log still begins where the source's no longer does. Topics that are only compacted cannot follow. */
export const lagsAtStart = (pair: TopicPair, bounds: PartitionBounds): boolean =>
  !pair.removed && followsStart(pair.settings) && bounds.destinationStart < bounds.sourceStart && bounds.sourceStart < bounds.destinationEnd

const followsStart = ({ policies }: TopicSettings): boolean => policies.destination.includes('delete')

/** Says which offsets the source no longer has although they were never copied. A destination that is still empty begins later anyway. */
export function gapWarning({ topic, partition, bounds }: PartitionJob): string | undefined {
  const { sourceStart, destinationStart, destinationEnd } = bounds
  if (destinationEnd === destinationStart || destinationEnd >= sourceStart) return undefined
  return `${topic}-${partition}: the source no longer has offsets ${destinationEnd} to ${sourceStart - 1n}, which were not copied`
}

/** Names shown of many partitions. */
const NAMED = 3

/** Says which partitions have nothing in the range that was asked for, and what they have: "equal" would be said of nothing there. */
export function nothingWarning(planned: readonly PlannedPartition[], { from, to }: Pick<VerifyMirrorOptions, 'from' | 'to'>): string[] {
  if (from === undefined && to === undefined) return []
  const outside = planned.filter(({ range }) => range.from >= range.to)
  if (outside.length === 0) return []
  const names = outside.map(({ job }) => `${job.topic}-${job.partition} (${comparableOf(job)})`)
  const asked = [...(from === undefined ? [] : [`from ${from}`]), ...(to === undefined ? [] : [`up to, not including, ${to}`])].join(' ')
  return [`nothing was compared of ${spelled(names, NAMED)}: no offset ${asked} is on both sides`]
}

function comparableOf({ bounds, mirroredEnd }: PartitionJob): string {
  const from = most(bounds.sourceStart, bounds.destinationStart)
  const end = least(mirroredEnd, bounds.lastStableOffset)
  return from < end ? `offsets ${from} to ${end - 1n} can be` : 'no offset can be'
}

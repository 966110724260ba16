import { failure, type MirrorError } from '../../mirror/errors.js'
import { rangesText } from '../recovery/dropped.js'
import type { ReversedPartition } from './types.js'

const NAMED = 3

/** Says which offsets and how many records only this cluster has, and what can be done. */
export function divergedError(topic: string, other: string, partitions: readonly ReversedPartition[]): MirrorError {
  const diverged = partitions.filter(({ differsFrom }) => differsFrom !== undefined)
  const gap = gapSentence(topic, other, partitions)
  if (gap !== undefined && diverged.every(({ lost }) => lost !== undefined)) return failure('TOPIC_HAS_OTHER_DATA', gap, GO_ON)
  const named = diverged.slice(0, NAMED).map(rangeOf)
  const more = diverged.length > NAMED ? ` and in ${diverged.length - NAMED} more partition(s)` : ''
  return failure(
    'TOPIC_HAS_OTHER_DATA',
    `topic ${topic} went on alone on this cluster, which has what ${other} has not: ${named.join('; ')}${more}`,
    `See all of it with --dry-run; --on-divergence reseed keeps it in ${topic}.diverged-<time> and copies the topic anew.`,
  )
}

const GO_ON =
  'To go on without them run alter --add-config mirror.on.gap=record and reverse again; --on-divergence reseed copies the topic anew instead.'

/** Says what was deleted there before it came here: whether it followed on what is here nothing can tell. Undefined if nothing was. */
export function gapSentence(topic: string, other: string, partitions: readonly ReversedPartition[]): string | undefined {
  const gaps = partitions.flatMap(({ partition, lost }) => (lost === undefined ? [] : [{ partition, ...lost }]))
  if (gaps.length === 0) return undefined
  return `topic ${topic}: offsets that this cluster lacks are no longer on ${other}: ${rangesText(gaps)}`
}

function rangeOf({ partition, sourceOffset, differsFrom, divergedOffsets, ...tail }: ReversedPartition): string {
  const from = differsFrom!
  if (sourceOffset === undefined) return `partition ${partition} itself`
  // Its own records are deleted already.
  if (divergedOffsets === 0n) return `offsets up to ${from - 1n} of partition ${partition}, of which nothing is left`
  const records = `${tail.divergedRecordsComplete ? '' : 'at least '}${tail.divergedRecords} visible record(s)`
  return `${divergedOffsets} offset(s), ${from} to ${from + divergedOffsets! - 1n}, of partition ${partition} with ${records}`
}

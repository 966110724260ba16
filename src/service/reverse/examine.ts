import { listOffsets, type OffsetPoint, unwrap } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'
import { inPool } from '../../client/many.js'
import { isThere, type TopicMetadata } from '../../client/metadata.js'
import { failure } from '../../mirror/errors.js'
import { policiesIn } from '../../mirror/held.js'
import { least, most } from '../../mirror/offsets.js'
import type { RemovalResult } from '../../mirror/state.js'
import { readTopicConfigs } from '../../sync/topics/topic-settings.js'
import { countVisible, findDivergence, firstDifference } from '../recovery/divergence.js'
import { droppedWarning } from '../recovery/dropped.js'
import { loggedBatches, type PartitionLog } from '../recovery/visible-batches.js'
import { openTransactionsError } from './open-transactions.js'
import type { ReversedPartition } from './types.js'

const PARTITIONS_AT_ONCE = 8
/** Records this cluster alone has that are counted; beyond it says "at least". */
const COUNTED_RECORDS = 200_000

/** Both clusters and what is known of a topic that is to be copied back. */
export interface Examined {
  /** The cluster that copied from this one, and is the source from now on. */
  readonly source: Cluster
  /** The old source. */
  readonly destination: Cluster
  readonly topic: string
  /** How the topic left the first mirror. */
  readonly result: RemovalResult
  /** Whether a partition may go on behind what the source no longer has. */
  readonly recordsGaps: boolean
}

/** A topic that stands still here, and what it has that the other cluster has not. */
export interface Findings {
  readonly there: TopicMetadata
  /** Undefined if the topic is not on this cluster. */
  readonly here: TopicMetadata | undefined
  readonly partitions: readonly ReversedPartition[]
  /** Log ends here, by partition. */
  readonly ends: readonly bigint[]
  /** What would be lost if the topic is copied from the start; undefined if nothing is. */
  readonly dropped: string | undefined
}

/**
 * Compares what the old source holds with the log that went on elsewhere. It must stand still: its last stable offset is its
 * end in every partition. Both logs are the same below the last mirrored offset unless somebody lost data, so their tails are compared
 * there; above it every offset is. Throws MirrorError, KafkaError, ConnectionError.
 */
export async function examineTopic(examined: Examined): Promise<Findings> {
  const { source, destination, topic } = examined
  const [there, found] = await Promise.all([source, destination].map(async (cluster) => (await cluster.topics([topic])).get(topic)))
  if (!isThere(there))
    throw failure('UNKNOWN_TOPIC', `there is no topic ${topic} on ${source.name} any more`, 'What this cluster has of it stays as it is.')
  const here = isThere(found) ? found : undefined
  const [starts, stable, ends] = await bounds(source, there)
  const [ownStarts, ownStable, ownEnds] = here === undefined ? [[], [], []] : await bounds(destination, here)
  const unstable = ownEnds.flatMap((end, partition) =>
    ownStable[partition]! < end ? [{ partition, lastStableOffset: ownStable[partition]! }] : [],
  )
  if (unstable.length > 0) throw await openTransactionsError(destination, topic, unstable)
  const strict = here === undefined || !(await isCompacted(examined))
  const count = Math.max(there.partitions.length, ownEnds.length)
  const numbers = Array.from({ length: count }, (_, partition) => partition)
  const partitions = await inPool(PARTITIONS_AT_ONCE, numbers, async (partition): Promise<ReversedPartition> => {
    const lastMirrored = examined.result.partitions.find((one) => one.partition === partition)?.logEndOffset
    const own = partition < ownEnds.length ? { start: ownStarts[partition]!, end: ownEnds[partition]! } : undefined
    const other = partition < ends.length ? { start: starts[partition]!, stable: stable[partition]!, end: ends[partition]! } : undefined
    const logs = {
      there: { cluster: source, topic, topicId: there.topicId, partition },
      here: { cluster: destination, topic, topicId: here?.topicId ?? '', partition },
    }
    const differsFrom = own && (await differenceOf(logs, own, other, { lastMirrored: lastMirrored ?? 0n, strict, examined }))
    const tail = differsFrom === undefined ? undefined : await countVisible(logs.here, differsFrom, own!.end, COUNTED_RECORDS)
    return {
      partition,
      lastMirrored,
      destinationOffset: own?.end,
      sourceOffset: other?.end,
      lost: own && other && own.start < own.end && own.end < other.start ? { from: own.end, to: other.start - 1n } : undefined,
      differsFrom,
      divergedOffsets: differsFrom === undefined ? undefined : own!.end - differsFrom,
      divergedRecords: tail?.records,
      divergedRecordsComplete: tail?.complete ?? true,
    }
  })
  const looked = partitions.map(({ partition, differsFrom }) => ({
    source: partition < starts.length ? { logStartOffset: starts[partition]! } : undefined,
    destination: partition < ownEnds.length ? { logStartOffset: ownStarts[partition]!, logEndOffset: ownEnds[partition]! } : undefined,
    differsFrom,
  }))
  return { there, here, partitions, ends: ownEnds, dropped: droppedWarning(topic, new Map(looked.entries())) }
}

/** Log starts, last stable offsets and high watermarks by partition. */
async function bounds(cluster: Cluster, { name, partitions }: TopicMetadata): Promise<[bigint[], bigint[], bigint[]]> {
  const ask = async (at: OffsetPoint) => {
    const queries = partitions.map((_, partition) => ({ topic: name, partition, at }))
    return (await listOffsets(cluster, queries)).map((answer) => unwrap(answer).offset)
  }
  return Promise.all([ask('earliest'), ask('lastStable'), ask('latest')])
}

/** On a compacted topic each side may lack records that the other still has. */
async function isCompacted({ source, destination, topic }: Examined): Promise<boolean> {
  const configs = await Promise.all([source, destination].map((cluster) => readTopicConfigs(cluster, topic)))
  return configs.some(({ effective }) => policiesIn(effective.get('cleanup.policy')).includes('compact'))
}

interface Logs {
  readonly there: PartitionLog
  readonly here: PartitionLog
}

/** The first offset of this cluster's log that the other one's does not go on from; undefined if there is none. */
async function differenceOf(
  { there, here }: Logs,
  own: { readonly start: bigint; readonly end: bigint },
  other: { readonly start: bigint; readonly stable: bigint } | undefined,
  { lastMirrored, strict, examined }: { readonly lastMirrored: bigint; readonly strict: boolean; readonly examined: Examined },
): Promise<bigint | undefined> {
  // The copy would have a partition the source has not.
  if (other === undefined) return own.start
  // It went on alone, and what it wrote is gone again: what the source has at those offsets could never come here.
  if (own.start > most(lastMirrored, other.start)) return own.start
  if (own.end === own.start) return own.end > other.stable ? own.end : undefined
  // What lies between is gone: nothing tells how the log went on.
  if (own.end < other.start) return examined.recordsGaps ? undefined : own.start
  const from = most(own.start, other.start)
  const mirrored = { from, sourceEnd: other.stable, destinationEnd: least(own.end, lastMirrored), strict }
  const below = await findDivergence(there, here, mirrored)
  if (below !== undefined || own.end <= lastMirrored) return below
  const [start, end] = [most(lastMirrored, from), least(own.end, other.stable)]
  // Here nothing was copied, so what only one side shows is a difference whatever its policy. Two fences or markers are none.
  const above = start < end ? await firstDifference(loggedBatches(there, start, end), loggedBatches(here, start, end), true) : undefined
  return above?.differsFrom ?? (own.end > other.stable ? most(other.stable, from) : undefined)
}

import { listOffsets, type OffsetPoint } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'
import { inPool } from '../../client/many.js'
import { isThere, type TopicMetadata } from '../../client/metadata.js'
import { destinationLogEnd, firstBatch, sourcePositions } from '../../engine/positions.js'
import type { ActiveTopic } from '../../mirror/fold.js'
import { untouchedEnd } from '../../mirror/found.js'
import { policiesIn } from '../../mirror/held.js'
import { least, most } from '../../mirror/offsets.js'
import type { PartitionStatus, RecoveryWish } from '../../mirror/state.js'
import { idsDiffer } from '../../protocol/uuid.js'
import { readTopicConfigs } from '../../sync/topics/topic-settings.js'
import { countVisible, findDivergence, type Tail } from './divergence.js'

const PARTITIONS_AT_ONCE = 8
/** Records of a diverged tail that are counted for the plan; beyond it says "at least". */
const COUNTED_RECORDS = 200_000

/** What is known about one partition: what its runner last said, and what both logs say now. */
export interface PartitionFacts {
  readonly mirror: string
  readonly topic: string
  readonly partition: number
  readonly spec: ActiveTopic
  readonly status: PartitionStatus | undefined
  readonly onGap: 'fail' | 'record'
  readonly wish: RecoveryWish | undefined
  /** Undefined when there is no such topic (any more). */
  readonly source: SourceFacts | undefined
  readonly destination: DestinationFacts | undefined
  /** First offset that differs; undefined when nothing does, or it was not compared. */
  readonly differsFrom: bigint | undefined
  /** What the destination has from there on. */
  readonly tail: Tail | undefined
  /** Why the logs could not be looked at. */
  readonly unseen: string | undefined
}

export interface SourceFacts {
  readonly topicId: string
  readonly logStartOffset: bigint
  /** First offset it can give: a log start may lie inside a batch, which is given whole. The log start where that was not looked at. */
  readonly firstOffset: bigint
  readonly lastStableOffset: bigint
  readonly highWatermark: bigint
}

export interface DestinationFacts {
  readonly topicId: string
  readonly logStartOffset: bigint
  readonly logEndOffset: bigint
}

/** One topic to be looked at, and which of its partitions more closely than by their log bounds. */
export interface Examined {
  readonly source: Cluster
  readonly destination: Cluster
  readonly topic: string
  readonly spec: ActiveTopic
  readonly partitions: readonly number[]
  isSuspect(partition: number): boolean
  /** What a runner last said of this addition's partition. */
  statusOf(partition: number): PartitionStatus | undefined
}

type Looked = Pick<PartitionFacts, 'source' | 'destination' | 'differsFrom' | 'tail' | 'unseen'>

/** Reads both logs' bounds, and compares the ends of those partitions that something may be wrong with. Throws KafkaError, ConnectionError. */
export async function examine(examined: Examined): Promise<ReadonlyMap<number, Looked>> {
  const { source, destination, topic, partitions } = examined
  const [there, here] = await Promise.all([source, destination].map(async (cluster) => (await cluster.topics([topic])).get(topic)))
  const [starts, stable, ends, ownStarts, ownEnds] = await Promise.all([
    offsets(source, there, partitions, 'earliest'),
    offsets(source, there, partitions, 'lastStable'),
    offsets(source, there, partitions, 'latest'),
    offsets(destination, here, partitions, 'earliest'),
    offsets(destination, here, partitions, 'latest'),
  ])
  let strict: Promise<boolean> | undefined
  const askStrict = () => {
    strict ??= isStrict(source, topic)
    return strict
  }
  const looked = await inPool(PARTITIONS_AT_ONCE, partitions, async (partition): Promise<Looked> => {
    try {
      const from = isThere(there) && partition < there.partitions.length ? there : undefined
      const to = isThere(here) && partition < here.partitions.length ? here : undefined
      return await look(examined, partition, askStrict, {
        source: from && {
          topicId: from.topicId,
          logStartOffset: known(starts, partition),
          firstOffset: known(starts, partition),
          lastStableOffset: known(stable, partition),
          highWatermark: known(ends, partition),
        },
        destination: to && { topicId: to.topicId, logStartOffset: known(ownStarts, partition), logEndOffset: known(ownEnds, partition) },
      })
    } catch (error) {
      const unseen = error instanceof Error ? error.message : String(error)
      return { source: undefined, destination: undefined, differsFrom: undefined, tail: undefined, unseen }
    }
  })
  return new Map(partitions.map((partition, i) => [partition, looked[i]!]))
}

type Offsets = ReadonlyMap<number, bigint | Error>

async function offsets(
  cluster: Cluster,
  topic: TopicMetadata | undefined,
  partitions: readonly number[],
  at: OffsetPoint,
): Promise<Offsets> {
  const asked = isThere(topic) ? partitions.filter((partition) => partition < topic.partitions.length) : []
  const answers = await listOffsets(
    cluster,
    asked.map((partition) => ({ topic: topic!.name, partition, at })),
  )
  return new Map(answers.map((answer, i) => [asked[i]!, answer.ok ? answer.value.offset : answer.error]))
}

function known(offsets: Offsets, partition: number): bigint {
  const offset = offsets.get(partition)
  if (typeof offset === 'bigint') return offset
  throw offset ?? new Error(`the offsets of partition ${partition} are unknown`)
}

/** On a compacted topic each side may lack records that the other still has. */
async function isStrict(source: Cluster, topic: string): Promise<boolean> {
  const { effective } = await readTopicConfigs(source, topic)
  return !policiesIn(effective.get('cleanup.policy')).includes('compact')
}

type Bounds = Pick<Looked, 'source' | 'destination'>

async function look(examined: Examined, partition: number, askStrict: () => Promise<boolean>, bounds: Bounds): Promise<Looked> {
  const { spec, topic } = examined
  const nothing = { ...bounds, differsFrom: undefined, tail: undefined, unseen: undefined }
  if (bounds.source === undefined || bounds.destination === undefined) return nothing
  const isOutside =
    bounds.destination.logEndOffset > bounds.source.highWatermark || bounds.destination.logEndOffset < bounds.source.firstOffset
  const isOther = idsDiffer(bounds.source.topicId, spec.sourceTopicId)
  // What something else wrote behind that is not the source's, even if the source has nothing there any more.
  const lastEnd = untouchedEnd(spec, partition, examined.statusOf(partition))
  if (!isOutside && !isOther && !examined.isSuspect(partition)) return nothing
  const [there, here] = [
    { cluster: examined.source, topic, topicId: bounds.source.topicId, partition },
    { cluster: examined.destination, topic, topicId: bounds.destination.topicId, partition },
  ]
  // In this order: a runner at work must not seem to be ahead of the source.
  const logEndOffset = await destinationLogEnd(here.cluster, topic, partition, -1)
  const positions = await sourcePositions(there.cluster, topic, partition, -1)
  const { firstOffset } = await firstBatch(there.cluster, there, positions.logStartOffset)
  const source = { ...positions, topicId: bounds.source.topicId, firstOffset }
  const destination = { ...bounds.destination, logEndOffset }
  const range = {
    // A log start may lie inside a batch: the batch is given whole, but not for the offset it begins with.
    from: most(source.logStartOffset, destination.logStartOffset),
    sourceEnd: source.lastStableOffset,
    destinationEnd: logEndOffset,
    strict: await askStrict(),
  }
  const found = isOther ? destination.logStartOffset : await findDivergence(there, here, range)
  const foreign = lastEnd !== undefined && lastEnd < logEndOffset ? lastEnd : undefined
  const differsFrom = found !== undefined && foreign !== undefined ? least(found, foreign) : (found ?? foreign)
  const tail =
    differsFrom === undefined ? undefined : await countVisible(here, differsFrom, bounds.destination.logEndOffset, COUNTED_RECORDS)
  return { source, destination, differsFrom, tail, unseen: undefined }
}

/**
 * The first differing offset of every partition the destination has, its log end where nothing differs. What cannot be compared
 * counts as different: it is to be kept. Nothing may be written to the destination meanwhile. Throws KafkaError, ConnectionError.
 */
export async function differencesOf(examined: {
  readonly source: Cluster
  readonly destination: Cluster
  readonly spec: ActiveTopic
  readonly there: TopicMetadata
  readonly here: TopicMetadata
  statusOf(partition: number): PartitionStatus | undefined
}): Promise<bigint[]> {
  const { source, destination, spec, there, here, statusOf } = examined
  const partitions = here.partitions.map(({ partition }) => partition)
  const topic = here.name
  const looked = await examine({ source, destination, topic, spec, partitions, isSuspect: () => true, statusOf })
  const starts = await offsets(destination, here, partitions, 'earliest')
  return partitions.map((partition) => {
    const { source: theirs, destination: ours, differsFrom, unseen } = looked.get(partition)!
    if (unseen !== undefined) throw new Error(`partition ${partition} of topic ${topic} cannot be compared: ${unseen}`)
    if (partition >= there.partitions.length || theirs === undefined || ours === undefined) return known(starts, partition)
    if (ours.logEndOffset <= theirs.logStartOffset) return ours.logStartOffset
    return differsFrom ?? ours.logEndOffset
  })
}

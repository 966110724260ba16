import {
  type ActiveProducer,
  claimTransactionalId,
  describeProducers,
  failed,
  listOffsets,
  type Markers,
  type OffsetAnswer,
  type Result,
  success,
  type TopicPartition,
  unwrap,
  writeMarkersOfMany,
} from '../client/admin.js'
import { byLeader } from '../client/by-leader.js'
import type { Cluster } from '../client/cluster.js'
import { ConnectionError } from '../client/errors.js'
import { batchesOf, inPool } from '../client/many.js'
import { failure } from '../mirror/errors.js'
import { isMissingRight } from '../mirror/failures.js'
import type { PartitionProducer, PartitionStatus } from '../mirror/state.js'
import { Errors, KafkaError } from '../protocol/errors.js'
import { findFence } from './find-fence.js'

/** What fencing one partition came to; the log end is the one before the fence's own marker. */
export interface Fence {
  readonly how: 'fenced' | 'unfenced'
  /** Undefined if the topic is not there any more. */
  readonly logEndOffset: bigint | undefined
}

/** A partition whose producer is to be shut out. */
export interface FenceRequest extends TopicPartition {
  readonly producer: PartitionProducer
  /** The last known owner's; 0 if there was none. */
  readonly ownerEpoch: number
}

const ATTEMPTS = 5
/** Markers in one request: a broker answers it once all are replicated. */
const MARKERS_AT_ONCE = 250
/** Logs read backwards at the same time. */
const SEARCHES_AT_ONCE = 16

/**
 * Shuts out whoever still copies into these partitions: a marker of the partition's producer with a higher epoch makes the broker
 * refuse every later batch of the old one (INVALID_PRODUCER_EPOCH). It takes one offset. Safe to repeat: an epoch that is
 * already higher is found and left alone. One request per leader and step, however many partitions; outcomes in the order of the
 * partitions. Never throws: see each result.
 */
export async function fencePartitions(destination: Cluster, wanted: readonly FenceRequest[]): Promise<Result<Fence>[]> {
  const results: Result<Fence>[] = []
  let open = wanted.map((request, index) => ({ ...request, index }))
  for (let attempt = 0; attempt < ATTEMPTS && open.length > 0; attempt++) {
    const found = await describeProducers(destination, open)
    const ends = await listOffsets(
      destination,
      open.map(({ topic, partition }) => ({ topic, partition, at: 'latest' })),
    )
    const seen = open.map((request, i) => ({ request, look: lookOf(request, found[i]!, ends[i]!) }))
    for (const { request, look } of seen) if ('outcome' in look) results[request.index] = look.outcome
    // A marker of an earlier attempt, maybe of another run of the command: it is not part of what was copied.
    const fenced = seen.flatMap(({ request, look }) => ('fencedBelow' in look ? [{ request, end: look.fencedBelow }] : []))
    await inPool(SEARCHES_AT_ONCE, fenced, async ({ request, end }) => {
      results[request.index] = await fenceFound(destination, request, end)
    })
    const markers = seen.flatMap(({ request, look }) => ('marker' in look ? [{ ...look.marker, request, end: look.end }] : []))
    const written = await byLeader(destination, markers, (brokerId, items) => writeInParts(destination, brokerId, items))
    const unknown = new Set<number>()
    for (const [i, { request, end }] of markers.entries()) {
      const outcome = outcomeOf(written[i]!, end)
      if (outcome === undefined) unknown.add(request.index)
      else results[request.index] = outcome
    }
    // Whether it landed, the next look at the producer's epoch tells.
    open = open.filter(({ index }) => unknown.has(index))
  }
  for (const { topic, partition, index } of open)
    results[index] = failed(failure('NOT_CONFIRMED', `partition ${partition} of topic ${topic} could not be fenced`, 'Run remove again.'))
  return results
}

/** {@link fencePartitions} for one. Throws KafkaError, ConnectionError, MirrorError. */
export async function fencePartition(
  destination: Cluster,
  topic: string,
  partition: number,
  producer: PartitionProducer,
  status: PartitionStatus | undefined,
): Promise<Fence> {
  const [result] = await fencePartitions(destination, [{ topic, partition, producer, ownerEpoch: status?.ownerEpoch ?? 0 }])
  return unwrap(result!)
}

/** What is to be done about a partition, or what came of it already. */
type Look =
  | { readonly outcome: Result<Fence> }
  | { readonly fencedBelow: bigint }
  | { readonly marker: Markers /** The log end before it. */; readonly end: bigint }

function lookOf(request: FenceRequest, producers: Result<ActiveProducer[]>, end: Result<OffsetAnswer>): Look {
  const { topic, partition, producer, ownerEpoch } = request
  if (isGone(producers) || isGone(end)) return { outcome: success({ how: 'unfenced', logEndOffset: undefined }) }
  if (!producers.ok) return { outcome: producers }
  if (!end.ok) return { outcome: end }
  const known = producers.value.find(({ producerId }) => producerId === producer.id)
  if (known !== undefined && known.producerEpoch > producer.epoch) return { fencedBelow: end.value.offset }
  const marker = {
    topic,
    partition,
    producerId: producer.id,
    producerEpoch: producer.epoch + 1,
    coordinatorEpoch: Math.max(ownerEpoch, known?.coordinatorEpoch ?? 0) + 1,
    count: 1,
    commit: false,
  }
  return { marker, end: end.value.offset }
}

async function fenceFound(destination: Cluster, { topic, partition, producer }: FenceRequest, end: bigint): Promise<Result<Fence>> {
  try {
    return success({ how: 'fenced', logEndOffset: (await findFence(destination, topic, partition, producer, end)) ?? end })
  } catch (error) {
    return failed(error as Error)
  }
}

async function writeInParts(destination: Cluster, brokerId: number, items: readonly Markers[]): Promise<Result<void>[]> {
  const results: Result<void>[] = []
  for (const part of batchesOf(items, MARKERS_AT_ONCE)) results.push(...(await writeMarkersOfMany(destination, brokerId, part)))
  return results
}

/** Undefined where nobody knows whether the marker landed. */
function outcomeOf(written: Result<void>, logEndOffset: bigint): Result<Fence> | undefined {
  if (written.ok) return success({ how: 'fenced', logEndOffset })
  if (isMissingRight(written.error)) return success({ how: 'unfenced', logEndOffset })
  return isPassing(written.error) ? undefined : written
}

/**
 * Ends the empty transaction that a late writer may have left open, whose end would take an offset of the topic later on, and
 * keeps him from beginning another. Without the right to it nothing happens. Throws KafkaError, ConnectionError.
 */
export async function endTransactions(destination: Cluster, transactionalId: string): Promise<void> {
  try {
    await claimTransactionalId(destination, transactionalId)
  } catch (error) {
    if (!isMissingRight(error)) throw error
  }
}

/** Whether it may be otherwise another time: a leader is missing or out of reach, not a right. */
export const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  (error instanceof KafkaError && (error.retriable || error.code === Errors.TRANSACTION_COORDINATOR_FENCED))

/** A partition that is not there any more. */
export const isGone = (result: Result<unknown>): boolean =>
  !result.ok && result.error instanceof KafkaError && result.error.code === Errors.UNKNOWN_TOPIC_OR_PARTITION

import { claimTransactionalId, describeProducers, listOffsets, writeTxnMarkers } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { ConnectionError } from '../client/errors.js'
import { failure } from '../mirror/errors.js'
import type { PartitionProducer, PartitionStatus } from '../mirror/state.js'
import { Errors, KafkaError } from '../protocol/errors.js'
import { isMissingRight } from './failures.js'
import { findFence } from './find-fence.js'

/** What fencing one partition came to; the log end is the one before the fence's own marker. */
export interface Fence {
  readonly how: 'fenced' | 'unfenced'
  /** Undefined if the topic is not there any more. */
  readonly logEndOffset: bigint | undefined
}

const ATTEMPTS = 5

/**
 * Shuts out whoever still copies into a partition: a marker of the partition's producer with a higher epoch makes the broker
 * refuse every later batch of the old one (INVALID_PRODUCER_EPOCH). It takes one offset. Safe to repeat: an epoch that is
 * already higher is found and left alone. Throws KafkaError, ConnectionError, MirrorError.
 */
export async function fencePartition(
  destination: Cluster,
  topic: string,
  partition: number,
  producer: PartitionProducer,
  status: PartitionStatus | undefined,
): Promise<Fence> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const [found] = await describeProducers(destination, [{ topic, partition }])
    const [end] = await listOffsets(destination, [{ topic, partition, at: 'latest' }])
    if (isGone(found) || isGone(end)) return { how: 'unfenced', logEndOffset: undefined }
    if (!found!.ok) throw found!.error
    if (!end!.ok) throw end!.error
    const known = found!.value.find(({ producerId }) => producerId === producer.id)
    const logEndOffset = end!.value.offset
    // A marker of an earlier attempt, maybe of another run of the command: it is not part of what was copied.
    if (known !== undefined && known.producerEpoch > producer.epoch)
      return { how: 'fenced', logEndOffset: (await findFence(destination, topic, partition, producer, logEndOffset)) ?? logEndOffset }
    try {
      await writeTxnMarkers(destination, {
        topic,
        partition,
        producerId: producer.id,
        producerEpoch: producer.epoch + 1,
        coordinatorEpoch: Math.max(status?.ownerEpoch ?? 0, known?.coordinatorEpoch ?? 0) + 1,
        count: 1,
        commit: false,
      })
      return { how: 'fenced', logEndOffset }
    } catch (error) {
      if (isMissingRight(error)) return { how: 'unfenced', logEndOffset }
      // Whether it landed, the next look at the producer's epoch tells.
      if (!isPassing(error)) throw error
    }
  }
  throw failure('NOT_CONFIRMED', `partition ${partition} of topic ${topic} could not be fenced`, 'Run remove again.')
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

const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  (error instanceof KafkaError && (error.retriable || error.code === Errors.TRANSACTION_COORDINATOR_FENCED))

const isGone = (result: { readonly ok: boolean; readonly error?: Error } | undefined): boolean =>
  result !== undefined && !result.ok && result.error instanceof KafkaError && result.error.code === Errors.UNKNOWN_TOPIC_OR_PARTITION

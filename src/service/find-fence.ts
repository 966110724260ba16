import { listOffsets } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { fetchPartition } from '../client/fetch-partition.js'
import { isMissingRight } from '../mirror/failures.js'
import { most } from '../mirror/offsets.js'
import type { PartitionProducer } from '../mirror/state.js'
import { NO_UUID } from '../protocol/schema.js'
import { isControl, nextOffset, scanBatches } from '../records/index.js'

const FIRST_STRETCH = 16n
const GROWTH = 16n
/** Others may have written since: how many offsets are looked through. */
const MOST = 1n << 16n
const WHATEVER_IS_THERE = { committedOnly: false, maxBytes: 1 << 20, maxWaitMs: 0 }

/**
 * The offset of the marker that fenced a partition's producer: the first one of a higher epoch behind all that this producer
 * wrote. Others may have written since, and another run may have fenced again, so it need not be the last offset: the log is read
 * backwards from `end`. Undefined where it is not found within some 70,000 offsets, or the right to read is missing. Throws KafkaError,
 * ConnectionError.
 */
export async function findFence(
  destination: Cluster,
  topic: string,
  partition: number,
  producer: PartitionProducer,
  end: bigint,
): Promise<bigint | undefined> {
  try {
    const [earliest] = await listOffsets(destination, [{ topic, partition, at: 'earliest' }])
    if (!earliest!.ok) throw earliest!.error
    const start = earliest!.value.offset
    let found: bigint | undefined
    for (let length = FIRST_STRETCH, to = end; to > start && length <= MOST; length *= GROWTH) {
      const from = most(to - length, start)
      const seen = await lookBetween(destination, topic, partition, producer, from, to)
      found = seen.fence ?? found
      // Below its own data there is no fence of it.
      if (seen.isOwn) return found
      to = from
    }
    return found
  } catch (error) {
    if (isMissingRight(error)) return undefined
    throw error
  }
}

/** The first fence in a stretch, and whether the producer's own batches are there too. */
async function lookBetween(
  destination: Cluster,
  topic: string,
  partition: number,
  producer: PartitionProducer,
  from: bigint,
  to: bigint,
): Promise<{ readonly fence: bigint | undefined; readonly isOwn: boolean }> {
  let fence: bigint | undefined
  let isOwn = false
  for (let position = from; position < to; ) {
    const topicId = destination.leaderOf(topic, partition)?.topicId ?? NO_UUID
    const { records } = await fetchPartition(destination, { topic, topicId, partition }, position, WHATEVER_IS_THERE)
    let next = position
    for (const { header } of scanBatches(records)) {
      if (nextOffset(header) > next) next = nextOffset(header)
      if (header.producerId !== producer.id) continue
      if (header.producerEpoch <= producer.epoch) isOwn = true
      else if (isControl(header)) fence ??= header.baseOffset
    }
    if (next === position) break
    position = next
  }
  return { fence, isOwn }
}

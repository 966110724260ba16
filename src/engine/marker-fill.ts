import { setTimeout as sleep } from 'node:timers/promises'
import { writeTxnMarkers } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { Errors, KafkaError } from '../protocol/errors.js'
import { Fenced, LostPlace, PartitionFailure } from './errors.js'
import { destinationLogEnd } from './positions.js'

/** Entries of one request: more gain nothing on one partition, and keep neighbours on the broker waiting. */
const MARKERS_PER_REQUEST = 2_000
const LOG_END_WITHIN_MS = 10_000
const FENCED: ReadonlySet<number> = new Set([Errors.TRANSACTION_COORDINATOR_FENCED, Errors.INVALID_PRODUCER_EPOCH])

export interface MarkerFillPort {
  readonly cluster: Cluster
  readonly topic: string
  readonly partition: number
  readonly leaderEpoch: number
  readonly producerId: bigint
  readonly producerEpoch: number
  /** The owner epoch, given as coordinator epoch: markers of an older owner are refused once this one's has landed. */
  readonly ownerEpoch: number
  /** Asked before every request: a long fill may outlive the right to it. */
  readonly mayAppend: () => boolean
}

/**
 * Puts `count` control records at the destination's log end: offsets no consumer ever sees. A marker has no sequence and
 * cannot be taken back, so nothing else of the partition may be in flight, and nothing may follow before this returns:
 * it does once the log end at the leader shows the markers. After any throw it is unknown whether they landed; the owner
 * must take a new owner epoch before the next fill, and start from the log end.
 *
 * @throws PartitionFailure when the log end is not where the markers should have put it; Fenced by a newer owner; KafkaError.
 */
export async function fillWithMarkers(port: MarkerFillPort, baseOffset: bigint, count: number): Promise<void> {
  for (let done = 0; done < count; ) {
    if (!port.mayAppend()) throw new LostPlace()
    const size = Math.min(MARKERS_PER_REQUEST, count - done)
    await writeMarkers(port, size)
    done += size
    await awaitLogEnd(port, baseOffset + BigInt(done))
  }
}

async function writeMarkers(
  { cluster, topic, partition, producerId, producerEpoch, ownerEpoch }: MarkerFillPort,
  count: number,
): Promise<void> {
  try {
    await writeTxnMarkers(cluster, { topic, partition, producerId, producerEpoch, coordinatorEpoch: ownerEpoch, count })
  } catch (error) {
    if (error instanceof KafkaError && FENCED.has(error.code)) throw new Fenced(error.message)
    throw error
  }
}

async function awaitLogEnd(port: MarkerFillPort, expected: bigint): Promise<void> {
  const until = performance.now() + LOG_END_WITHIN_MS
  // Nearly always there at the first look.
  for (let wait = 1; ; wait = Math.min(wait * 2, 100)) {
    const logEndOffset = await destinationLogEnd(port.cluster, port.topic, port.partition, port.leaderEpoch)
    if (logEndOffset === expected) return
    if (logEndOffset > expected) {
      throw new PartitionFailure(
        `the destination's log end of ${port.topic}-${port.partition} is ${logEndOffset} where ${expected} was expected: something else writes to it`,
      )
    }
    if (performance.now() > until)
      throw new Error(`markers up to offset ${expected} did not show in the log within ${LOG_END_WITHIN_MS} ms`)
    await sleep(wait)
  }
}

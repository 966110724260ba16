import { writeTxnMarkers } from '../client/admin.js'
import { Errors, KafkaError } from '../protocol/errors.js'
import { awaitLogEnd, type LogEndPort } from './await-log-end.js'
import { Fenced, LostPlace, Realign } from './errors.js'
import type { MarkerLane } from './marker-lane.js'
import { destinationLogEnd } from './positions.js'

/** Entries of one request: more gain nothing on one partition, and keep neighbours on the broker waiting. */
const MARKERS_PER_REQUEST = 2_000
/** More than transactions that end together leave: such a fill would keep the others on the lane waiting. */
const MARKERS_FOR_LANE = 16
const FENCED: ReadonlySet<number> = new Set([Errors.TRANSACTION_COORDINATOR_FENCED, Errors.INVALID_PRODUCER_EPOCH])

export interface MarkerFillPort extends LogEndPort {
  readonly producerId: bigint
  readonly producerEpoch: number
  /** The owner epoch, given as coordinator epoch: markers of an older owner are refused once this one's has landed. */
  readonly ownerEpoch: number
  /** No marker of this owner epoch has landed in the partition yet: an earlier owner's would still be taken. */
  readonly isFirst: boolean
  /** Takes few markers, together with those of other partitions. */
  readonly lane: Pick<MarkerLane, 'write'>
  /** Asked before every request: a long fill may outlive the right to it. */
  readonly mayAppend: () => boolean
}

/**
 * Puts `count` control records at the destination's log end: offsets no consumer ever sees. A marker has no sequence and
 * cannot be taken back, so nothing else of the partition may be in flight, and nothing may follow before this returns. A
 * single marker has landed once the broker says so; of several it tells one result for all, so that the log end at the
 * leader must show them. After any throw it is unknown whether they landed; the owner must take a new owner epoch before the
 * next fill, and start from the log end.
 *
 * An earlier owner that does not know yet that it was deposed fills the same offsets. The first marker shuts it out, so it goes
 * ahead alone, and only onto the log end at which it is meant to be.
 *
 * @throws Realign when the log has grown since it was read, before anything was sent; PartitionFailure when the log end is not where the markers should have put it; Fenced by a newer owner; KafkaError.
 */
export async function fillWithMarkers(port: MarkerFillPort, baseOffset: bigint, count: number): Promise<void> {
  if (port.isFirst) {
    const logEndOffset = await destinationLogEnd(port.cluster, port.topic, port.partition, port.leaderEpoch)
    if (logEndOffset !== baseOffset) throw new Realign(`the log end is ${logEndOffset} where ${baseOffset} was to be filled`)
  }
  for (let done = 0; done < count; ) {
    if (!port.mayAppend()) throw new LostPlace()
    const alone = port.isFirst && done === 0
    const size = alone ? 1 : Math.min(MARKERS_PER_REQUEST, count - done)
    const seen = await writeMarkers(port, size)
    done += size
    // The next append's base offset, or the next owner, tells if anything else was written meanwhile.
    if ((size > 1 || alone) && seen !== baseOffset + BigInt(done)) await awaitLogEnd(port, baseOffset + BigInt(done))
  }
}

/** The log end after them, if it was seen in passing. */
async function writeMarkers(port: MarkerFillPort, count: number): Promise<bigint | undefined> {
  const markers = { ...port, coordinatorEpoch: port.ownerEpoch, count }
  try {
    if (count <= MARKERS_FOR_LANE) return await port.lane.write(markers)
    await writeTxnMarkers(port.cluster, markers)
    return undefined
  } catch (error) {
    if (error instanceof KafkaError && FENCED.has(error.code)) throw new Fenced(error.message)
    throw error
  }
}

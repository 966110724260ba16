import { At, Bit } from './batch.js'
import { crc32c } from './crc.js'

/** Who a batch is written as. All owners of a mirror partition use the same producer id and epoch. */
export interface ProducerStamp {
  readonly producerId: bigint
  readonly producerEpoch: number
  /** Of the batch's first record, 0 … 2^31−1. */
  readonly baseSequence: number
}

const CLEARED = ~(Bit.transactional | Bit.deleteHorizon)

/**
 * Makes a fetched v2 batch one that a broker takes from a client, in place: base offset 0 (brokers refuse others), no
 * leader epoch, our producer, no transaction, no delete horizon (it would be stored and obeyed), and a new CRC. The records
 * and their compression are not touched. Safe to call again on the same bytes, as a retry with another sequence must.
 */
export function patchForAppend(bytes: Buffer, stamp: ProducerStamp): void {
  bytes.writeInt32BE(0, At.baseOffset)
  bytes.writeInt32BE(0, At.baseOffset + 4)
  bytes.writeInt32BE(-1, At.leaderEpoch)
  bytes.writeInt16BE(bytes.readInt16BE(At.attributes) & CLEARED, At.attributes)
  bytes.writeBigInt64BE(stamp.producerId, At.producerId)
  bytes.writeInt16BE(stamp.producerEpoch, At.producerEpoch)
  bytes.writeInt32BE(stamp.baseSequence, At.baseSequence)
  bytes.writeUInt32BE(crc32c(bytes.subarray(At.attributes)), At.crc)
}

const SEQUENCES = 2 ** 31

/**
 * The sequence after `count` records that began at `sequence`; −1, what brokers report before any data, counts as "next is 0".
 * Sequences wrap from 2^31−1 to 0 (`DefaultRecordBatch.incrementSequence`).
 */
export const nextSequence = (sequence: number, count: number): number => (sequence + count) % SEQUENCES

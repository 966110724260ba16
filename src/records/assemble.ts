import { At, type Compression, compressionAttribute, PREFIX_SIZE } from './batch.js'
import { crc32c } from './crc.js'
import type { ProducerStamp } from './patch.js'

/** What a v2 batch says of its records. */
export interface BatchFields extends Partial<ProducerStamp> {
  readonly compression: Exclude<Compression, 'unknown'>
  /** Records, dense. */
  readonly count: number
  /** Milliseconds since the epoch, from which the records' deltas count. */
  readonly baseTimestamp: bigint
  readonly maxTimestamp: bigint
  readonly baseOffset?: bigint
  readonly leaderEpoch?: number
}

/** A v2 batch (`DefaultRecordBatch`) around records that are encoded, and compressed, already. Without a producer it is not idempotent. */
export function assembleBatch(body: readonly Buffer[], fields: BatchFields): Buffer {
  const size = body.reduce<number>((sum, part) => sum + part.length, At.records)
  const header = Buffer.alloc(At.records)
  header.writeBigInt64BE(fields.baseOffset ?? 0n, At.baseOffset)
  header.writeInt32BE(size - PREFIX_SIZE, At.batchLength)
  header.writeInt32BE(fields.leaderEpoch ?? -1, At.leaderEpoch)
  header.writeInt8(2, At.magic)
  header.writeInt16BE(compressionAttribute(fields.compression), At.attributes)
  header.writeInt32BE(fields.count - 1, At.lastOffsetDelta)
  header.writeBigInt64BE(fields.baseTimestamp, At.baseTimestamp)
  header.writeBigInt64BE(fields.maxTimestamp, At.maxTimestamp)
  header.writeBigInt64BE(fields.producerId ?? -1n, At.producerId)
  header.writeInt16BE(fields.producerEpoch ?? -1, At.producerEpoch)
  header.writeInt32BE(fields.baseSequence ?? -1, At.baseSequence)
  header.writeInt32BE(fields.count, At.count)
  const batch = Buffer.concat([header, ...body], size)
  batch.writeUInt32BE(crc32c(batch.subarray(At.attributes)), At.crc)
  return batch
}

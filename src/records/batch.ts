/**
 * Kafka's record batch, format v2 (`DefaultRecordBatch`), read in place. The layout, by byte:
 *
 *   0 baseOffset int64 │ 8 batchLength int32 (bytes after this field) │ 12 partitionLeaderEpoch int32 │ 16 magic int8
 *   17 crc uint32 (CRC-32C of everything from 21) │ 21 attributes int16 │ 23 lastOffsetDelta int32 │ 27 baseTimestamp int64
 *   35 maxTimestamp int64 │ 43 producerId int64 │ 51 producerEpoch int16 │ 53 baseSequence int32 │ 57 count int32 │ 61 records
 *
 * Magic 0 and 1 (`LegacyRecord`) share only the first twelve bytes and the place of the magic byte.
 */
export const At = {
  baseOffset: 0,
  batchLength: 8,
  leaderEpoch: 12,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  baseTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  baseSequence: 53,
  count: 57,
  records: 61,
} as const

/** Bytes before and including the length field: a batch is this plus `batchLength` bytes long. */
export const PREFIX_SIZE = 12

/** Attribute bits of a v2 batch. */
export const Bit = { compression: 0b111, logAppendTime: 1 << 3, transactional: 1 << 4, control: 1 << 5, deleteHorizon: 1 << 6 } as const

const LEGACY_HEADER_SIZE = 26
const LEGACY_CRC = 12
const LEGACY_ATTRIBUTES = 17
const COMPRESSIONS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const

export type Compression = (typeof COMPRESSIONS)[number] | 'unknown'

/** Bytes that are no batch a broker would store. `offset` is the batch's base offset as far as it can be read. */
export class CorruptBatchError extends Error {
  override readonly name = 'CorruptBatchError'
  constructor(
    readonly offset: bigint,
    reason: string,
  ) {
    super(`corrupt batch at offset ${offset}: ${reason}`)
  }
}

/**
 * The header of a batch as a view: what every batch is asked for is read once, the rest when asked, so that a stream of
 * one-record batches costs little. It keeps the buffer alive and shows later changes to it in the lazy fields.
 * For magic 0 and 1 one message (or compressed wrapper) is a batch of count 1, whose base offset is the message's offset.
 */
export class BatchHeader {
  readonly baseOffset: bigint
  /** Whole size in bytes, the 12 bytes of offset and length included. */
  readonly size: number
  readonly magic: number
  readonly attributes: number
  readonly lastOffsetDelta: number
  readonly count: number

  /** Use {@link readBatchHeader}, which checks. `at` is the batch's first byte in `buffer`. */
  constructor(
    private readonly buffer: Buffer,
    private readonly at: number,
  ) {
    this.baseOffset = int64At(buffer, at)
    this.size = PREFIX_SIZE + buffer.readInt32BE(at + At.batchLength)
    this.magic = buffer.readInt8(at + At.magic)
    const legacy = this.magic < 2
    this.attributes = legacy ? buffer.readInt8(at + LEGACY_ATTRIBUTES) : buffer.readInt16BE(at + At.attributes)
    this.lastOffsetDelta = legacy ? 0 : buffer.readInt32BE(at + At.lastOffsetDelta)
    this.count = legacy ? 1 : buffer.readInt32BE(at + At.count)
  }

  /** Of the leader that appended it; −1 where magic has no such field. */
  get leaderEpoch(): number {
    return this.magic < 2 ? -1 : this.buffer.readInt32BE(this.at + At.leaderEpoch)
  }

  get crc(): number {
    return this.buffer.readUInt32BE(this.at + (this.magic < 2 ? LEGACY_CRC : At.crc))
  }

  get baseTimestamp(): bigint {
    return this.magic < 2 ? -1n : this.buffer.readBigInt64BE(this.at + At.baseTimestamp)
  }

  get maxTimestamp(): bigint {
    return this.magic < 2 ? -1n : this.buffer.readBigInt64BE(this.at + At.maxTimestamp)
  }

  /** −1 for batches of producers that are not idempotent. */
  get producerId(): bigint {
    return this.magic < 2 ? -1n : this.buffer.readBigInt64BE(this.at + At.producerId)
  }

  get producerEpoch(): number {
    return this.magic < 2 ? -1 : this.buffer.readInt16BE(this.at + At.producerEpoch)
  }

  get baseSequence(): number {
    return this.magic < 2 ? -1 : this.buffer.readInt32BE(this.at + At.baseSequence)
  }
}

/** Offsets below 2^53 are put together from halves: three times as fast as `readBigInt64BE` on small batches. */
function int64At(buffer: Buffer, at: number): bigint {
  const high = buffer.readInt32BE(at)
  return high >= 0 && high < 0x200000 ? BigInt(high * 0x100000000 + buffer.readUInt32BE(at + 4)) : buffer.readBigInt64BE(at)
}

/**
 * Reads the header of the batch that starts at `at`; the whole batch must be in the buffer. The CRC is not looked at.
 * @throws {CorruptBatchError} where sizes, counts or magic can't be.
 */
export function readBatchHeader(buffer: Buffer, at: number): BatchHeader {
  if (buffer.length - at < LEGACY_HEADER_SIZE) throw new CorruptBatchError(-1n, `only ${buffer.length - at} bytes`)
  const magic = buffer.readInt8(at + At.magic)
  if (magic < 0 || magic > 2) throw new CorruptBatchError(buffer.readBigInt64BE(at), `unknown magic ${magic}`)
  const size = PREFIX_SIZE + buffer.readInt32BE(at + At.batchLength)
  const least = magic < 2 ? LEGACY_HEADER_SIZE : At.records
  if (size < least) throw new CorruptBatchError(buffer.readBigInt64BE(at), `${size} bytes are too few for magic ${magic}`)
  if (size > buffer.length - at)
    throw new CorruptBatchError(buffer.readBigInt64BE(at), `${size} bytes long where ${buffer.length - at} are left`)
  const header = new BatchHeader(buffer, at)
  if (header.lastOffsetDelta < 0 || header.count < 0 || header.count > header.lastOffsetDelta + 1) {
    throw new CorruptBatchError(header.baseOffset, `${header.count} records in ${header.lastOffsetDelta + 1} offsets`)
  }
  return header
}

/** The last offset the batch covers, whether or not a record is still there. */
export const lastOffset = (header: BatchHeader): bigint => header.baseOffset + BigInt(header.lastOffsetDelta)
/** The offset after the batch. */
export const nextOffset = (header: BatchHeader): bigint => header.baseOffset + BigInt(header.lastOffsetDelta + 1)

const has = (header: BatchHeader, bit: number) => header.magic >= 2 && (header.attributes & bit) !== 0
export const isTransactional = (header: BatchHeader): boolean => has(header, Bit.transactional)
export const isControl = (header: BatchHeader): boolean => has(header, Bit.control)
/** Whether consumers see `maxTimestamp` on every record instead of the producer's times. */
export const usesLogAppendTime = (header: BatchHeader): boolean => header.magic >= 1 && (header.attributes & Bit.logAppendTime) !== 0
/** The codec the records are compressed with. */
export const compressionOf = (header: BatchHeader): Compression => COMPRESSIONS[header.attributes & Bit.compression] ?? 'unknown'
/** The attribute bits of a codec. */
export const compressionAttribute = (compression: Exclude<Compression, 'unknown'>): number => COMPRESSIONS.indexOf(compression)

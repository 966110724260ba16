import { gunzipSync } from 'node:zlib'
import { At, Bit, CorruptBatchError, compressionOf, PREFIX_SIZE, usesLogAppendTime } from './batch.js'
import { crc32c } from './crc.js'
import type { Batch } from './scan.js'
import { RecordReader, varint } from './varint.js'

/** Headers keep their order, and a key may come twice. */
export type RecordHeaders = readonly (readonly [key: string, value: Buffer | null])[]

export interface NewRecord {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers?: RecordHeaders
}

export interface DecodedRecord {
  readonly offset: bigint
  /** Milliseconds since the epoch. */
  readonly timestamp: bigint
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
}

export interface BatchOptions {
  /** Of every record, milliseconds since the epoch. */
  readonly timestamp: bigint
  /** Without a producer id the batch is not idempotent. */
  readonly producerId?: bigint
  readonly producerEpoch?: number
  readonly baseSequence?: number
}

/** One uncompressed v2 batch, ready for Produce: base offset 0, inner offsets contiguous. `records` must not be empty. */
export function encodeBatch(records: readonly NewRecord[], options: BatchOptions): Buffer {
  const body = records.map(encodeRecord)
  const size = body.reduce<number>((sum, part) => sum + part.length, At.records)
  const header = Buffer.alloc(At.records)
  header.writeInt32BE(size - PREFIX_SIZE, At.batchLength)
  header.writeInt32BE(-1, At.leaderEpoch)
  header.writeInt8(2, At.magic)
  header.writeInt32BE(records.length - 1, At.lastOffsetDelta)
  header.writeBigInt64BE(options.timestamp, At.baseTimestamp)
  header.writeBigInt64BE(options.timestamp, At.maxTimestamp)
  header.writeBigInt64BE(options.producerId ?? -1n, At.producerId)
  header.writeInt16BE(options.producerEpoch ?? -1, At.producerEpoch)
  header.writeInt32BE(options.baseSequence ?? -1, At.baseSequence)
  header.writeInt32BE(records.length, At.count)
  const batch = Buffer.concat([header, ...body], size)
  batch.writeUInt32BE(crc32c(batch.subarray(At.attributes)), At.crc)
  return batch
}

function encodeRecord(record: NewRecord, offsetDelta: number): Buffer {
  const headers = record.headers ?? []
  const body = Buffer.concat([
    Buffer.from([0]),
    varint(0),
    varint(offsetDelta),
    ...sized(record.key),
    ...sized(record.value),
    varint(headers.length),
    ...headers.flatMap(([key, value]) => [...sized(Buffer.from(key)), ...sized(value)]),
  ])
  return Buffer.concat([varint(body.length), body])
}

const sized = (bytes: Buffer | null): Buffer[] => (bytes === null ? [varint(-1)] : [varint(bytes.length), bytes])

/**
 * The records of a v2 batch, with their own offsets. Keys and values are views into the batch, or into its decompressed
 * form. @throws {CorruptBatchError} for another magic, a codec other than none and gzip, or records that don't add up.
 */
export function* decodeRecords(batch: Batch): Generator<DecodedRecord, void, undefined> {
  const { header } = batch
  if (header.magic !== 2) throw new CorruptBatchError(header.baseOffset, `records of magic ${header.magic} can't be read here`)
  const reader = new RecordReader(recordBytes(batch))
  const appendTime = usesLogAppendTime(header) ? header.maxTimestamp : undefined
  for (let i = 0; i < header.count; i++) {
    try {
      yield decodeRecord(reader, header.baseOffset, header.baseTimestamp, appendTime)
    } catch (error) {
      throw error instanceof RangeError ? new CorruptBatchError(header.baseOffset, error.message) : error
    }
  }
}

function recordBytes({ header, bytes }: Batch): Buffer {
  const body = bytes.subarray(At.records)
  const compression = compressionOf(header)
  if (compression === 'none') return body
  if (compression === 'gzip') return gunzipSync(body)
  throw new CorruptBatchError(header.baseOffset, `its codec ${header.attributes & Bit.compression} (${compression}) can't be read here`)
}

function decodeRecord(reader: RecordReader, baseOffset: bigint, baseTimestamp: bigint, appendTime: bigint | undefined): DecodedRecord {
  const end = reader.varint() + reader.position
  reader.int8()
  const timestamp = baseTimestamp + BigInt(reader.varint())
  const offset = baseOffset + BigInt(reader.varint())
  const key = reader.view(reader.varint())
  const value = reader.view(reader.varint())
  const headers = Array.from({ length: reader.varint() }, () => {
    const name = reader.view(reader.varint())
    return [name === null ? '' : name.toString('utf8'), reader.view(reader.varint())] as const
  })
  if (reader.position !== end) throw new RangeError('a record is not as long as it says')
  return { offset, timestamp: appendTime ?? timestamp, key, value, headers }
}

import { assembleBatch } from './assemble.js'
import { CorruptBatchError } from './batch.js'
import { openRecords } from './open-records.js'
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
  const { timestamp, ...producer } = options
  return assembleBatch(body, { ...producer, compression: 'none', count: records.length, baseTimestamp: timestamp, maxTimestamp: timestamp })
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
 * The records of a batch of any magic and codec, with their own offsets. Keys and values are views into the batch, or into its
 * opened form. Magic 0 and 1 have no headers, magic 0 no timestamp (−1).
 * @throws {CorruptBatchError} for a codec that can't be opened, naming it, or records that don't add up.
 */
export function* decodeRecords(batch: Batch): Generator<DecodedRecord, void, undefined> {
  for (const { offset, timestamp, content } of openRecords(batch)) {
    try {
      yield { offset, timestamp, ...decodeContent(new RecordReader(content), content.length) }
    } catch (error) {
      throw error instanceof RangeError ? new CorruptBatchError(batch.header.baseOffset, error.message) : error
    }
  }
}

function decodeContent(reader: RecordReader, end: number): Pick<DecodedRecord, 'key' | 'value' | 'headers'> {
  const key = reader.view(reader.varint())
  const value = reader.view(reader.varint())
  const headers: [string, Buffer | null][] = []
  for (let left = reader.varint(); left > 0; left--) {
    const name = reader.view(reader.varint())
    headers.push([name === null ? '' : name.toString('utf8'), reader.view(reader.varint())])
  }
  if (reader.position !== end) throw new RangeError('a record is not as long as it says')
  return { key, value, headers }
}

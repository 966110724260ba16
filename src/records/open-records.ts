import { At, type BatchHeader, CorruptBatchError, compressionOf, usesLogAppendTime } from './batch.js'
import { decompress } from './codecs.js'
import { openOldRecords } from './old-format.js'
import type { Batch } from './scan.js'
import { RecordReader } from './varint.js'

/** A record as far as re-encoding must open it. */
export interface OpenRecord {
  readonly offset: bigint
  /** Milliseconds since the epoch as consumers see it: the append time where the topic says so, −1 for magic 0. */
  readonly timestamp: bigint
  /** Key, value and headers as `DefaultRecord` (v2) has them, from the key's length to the end: a view where the batch is v2. */
  readonly content: Buffer
}

/**
 * The records that are in a batch of any magic and codec, with their own offsets, ascending.
 * @throws {CorruptBatchError} for a codec that can't be opened (naming it), and for records that don't add up. What is in
 *   their content is not looked at.
 */
export function* openRecords(batch: Batch): Generator<OpenRecord, void, undefined> {
  const { header } = batch
  let least = header.magic < 2 ? 0n : header.baseOffset
  const last = header.baseOffset + BigInt(header.lastOffsetDelta)
  try {
    for (const record of header.magic < 2 ? openOldRecords(batch.bytes, opening(header)) : openNewRecords(batch)) {
      if (record.offset < least || record.offset > last) throw new RangeError(`it holds a record of offset ${record.offset} out of order`)
      yield record
      least = record.offset + 1n
    }
  } catch (error) {
    throw error instanceof RangeError ? new CorruptBatchError(header.baseOffset, error.message) : error
  }
}

/** Opens what is compressed in a batch; failures name the codec. */
const opening = (header: BatchHeader) => (bytes: Buffer) => {
  const codec = compressionOf(header)
  try {
    return decompress(codec, bytes, header.magic)
  } catch (error) {
    const name = codec === 'unknown' ? `${header.attributes & 7} (unknown)` : codec
    throw new CorruptBatchError(header.baseOffset, `its codec ${name} can't be opened: ${(error as Error).message}`)
  }
}

function* openNewRecords({ header, bytes }: Batch): Generator<OpenRecord, void, undefined> {
  const records = opening(header)(bytes.subarray(At.records))
  const reader = new RecordReader(records)
  const { baseOffset, baseTimestamp, count } = header
  const appendTime = usesLogAppendTime(header) ? header.maxTimestamp : undefined
  for (let i = 0; i < count; i++) {
    const size = reader.varint()
    const end = reader.position + size
    if (end > records.length) throw new RangeError('a record ends early')
    reader.int8() // attributes, of which no record has any
    const timestamp = BigInt.asIntN(64, baseTimestamp + reader.varlong())
    const offset = baseOffset + BigInt(reader.varint())
    if (reader.position > end) throw new RangeError('a record is not as long as it says')
    yield { offset, timestamp: appendTime ?? timestamp, content: reader.view(end - reader.position)! }
  }
  if (reader.position !== records.length) throw new RangeError(`it has more than the ${count} records it counts`)
}

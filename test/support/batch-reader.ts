import type { LogRecord, PlacedRecord } from './batch-writer.js'
import { castagnoli } from './batches.js'
import { unpack } from './codecs.js'

/** A v2 batch as a broker sees it, read without any code of `src/records`. */
export interface ReadBatch {
  readonly baseOffset: bigint
  readonly crcFits: boolean
  readonly attributes: number
  readonly lastOffsetDelta: number
  readonly maxTimestamp: bigint
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly baseSequence: number
  readonly count: number
  /** The records as the batch holds them. @throws Error where they are not as many or as long as it says */
  records(): PlacedRecord[]
}

/** @throws Error for bytes that are not exactly one batch, as far as its size tells */
export function readBatch(bytes: Buffer): ReadBatch {
  if (bytes.length < 61 || bytes.readInt32BE(8) + 12 !== bytes.length) throw new Error(`${bytes.length} bytes are not one batch`)
  const attributes = bytes.readInt16BE(21)
  const baseTimestamp = bytes.readBigInt64BE(27)
  const count = bytes.readInt32BE(57)
  return {
    baseOffset: bytes.readBigInt64BE(0),
    crcFits: bytes.readUInt32BE(17) === castagnoli(bytes.subarray(21)),
    attributes,
    lastOffsetDelta: bytes.readInt32BE(23),
    maxTimestamp: bytes.readBigInt64BE(35),
    producerId: bytes.readBigInt64BE(43),
    producerEpoch: bytes.readInt16BE(51),
    baseSequence: bytes.readInt32BE(53),
    count,
    records: () => readRecords(unpack(attributes & 7, bytes.subarray(61)), count, baseTimestamp),
  }
}

function readRecords(bytes: Buffer, count: number, baseTimestamp: bigint): PlacedRecord[] {
  const cursor = new Cursor(bytes)
  const records = Array.from({ length: count }, () => {
    const end = cursor.size() + cursor.at
    cursor.take(1)
    const timestamp = baseTimestamp + cursor.varint()
    const delta = cursor.size()
    const [key, value] = [cursor.sized(), cursor.sized()]
    const headers = Array.from({ length: cursor.size() }, () => [cursor.sized()!, cursor.sized()] as const)
    if (cursor.at !== end) throw new Error('a record is not as long as it says')
    return [delta, { timestamp, key, value, headers } satisfies LogRecord] as const
  })
  if (cursor.at !== bytes.length) throw new Error(`${bytes.length - cursor.at} bytes after the last record`)
  return records
}

class Cursor {
  at = 0
  constructor(private readonly bytes: Buffer) {}

  take(size: number): Buffer {
    if (size < 0 || this.at + size > this.bytes.length) throw new Error('a record ends early')
    this.at += size
    return Buffer.from(this.bytes.subarray(this.at - size, this.at))
  }

  varint(): bigint {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes[this.at++]
      if (byte === undefined) throw new Error('a record ends early')
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
  }

  size(): number {
    return Number(this.varint())
  }

  sized(): Buffer | null {
    const size = this.size()
    return size < 0 ? null : this.take(size)
  }
}

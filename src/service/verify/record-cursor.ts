import { At, CorruptBatchError, compressionOf, usesLogAppendTime } from '../../records/batch.js'
import { decompress } from '../../records/codecs.js'
import type { Batch } from '../../records/scan.js'
import { oldRecords } from './old-messages.js'

/** Milliseconds since the epoch: a number where that is exact, else a bigint, so that equal times are `===`. */
export type Timestamp = number | bigint

/** The records of one batch, one after the other: the cursor is itself the current record, so that a record costs no object. */
export interface RecordCursor {
  /** Counted from the origin given to {@link recordsOf}. */
  readonly offset: number
  /** As consumers see it: the append time where the batch has one, −1 for none. */
  readonly timestamp: Timestamp
  /** Key, value and headers as a v2 record has them, from the key's length on, lie here from `start` to `end`. */
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  /** Moves to the first or the next record. False at the end. Throws CorruptBatchError. */
  next(): boolean
}

/** The records of a batch of any codec and magic. Throws CorruptBatchError, also from `next`. */
export function recordsOf(batch: Batch, origin: bigint): RecordCursor {
  return batch.header.magic < 2 ? new OldRecords(batch, origin) : new Records(batch, origin)
}

export const exactly = (timestamp: bigint): Timestamp => {
  const near = Number(timestamp)
  return Number.isSafeInteger(near) ? near : timestamp
}

class Records implements RecordCursor {
  offset = 0
  timestamp: Timestamp = 0
  readonly bytes: Buffer
  start = 0
  end = 0
  private at: number
  private left: number
  private readonly baseOffset: bigint
  /** The same, from the origin on. */
  private readonly base: number
  private readonly appendTime: Timestamp | undefined
  private readonly baseTimestamp: bigint
  private readonly nearTimestamp: number

  constructor({ header, bytes }: Batch, origin: bigint) {
    const codec = compressionOf(header)
    if (codec === 'none') {
      this.bytes = bytes
      this.at = At.records
    } else {
      this.bytes = opened(header.baseOffset, codec, bytes.subarray(At.records))
      this.at = 0
    }
    this.left = header.count
    this.base = Number(header.baseOffset - origin)
    this.baseTimestamp = header.baseTimestamp
    this.nearTimestamp = Number(this.baseTimestamp)
    this.appendTime = usesLogAppendTime(header) ? exactly(header.maxTimestamp) : undefined
    this.baseOffset = header.baseOffset
  }

  next(): boolean {
    if (this.left === 0) {
      if (this.at !== this.bytes.length) throw this.corrupt('it holds more than it counts')
      return false
    }
    this.left--
    const size = this.varint()
    this.end = this.at + size
    if (size < 0 || this.end > this.bytes.length) throw this.corrupt('a record ends early')
    // The attributes, of which no record has any.
    this.at++
    const deltaAt = this.at
    const delta = this.varint()
    this.timestamp = this.appendTime ?? this.timeAfter(delta, deltaAt)
    this.offset = this.base + this.varint()
    this.start = this.at
    if (this.at > this.end) throw this.corrupt('a record is longer than it says')
    this.at = this.end
    return true
  }

  private timeAfter(delta: number, deltaAt: number): Timestamp {
    const near = this.nearTimestamp + delta
    if (Number.isSafeInteger(near) && Number.isSafeInteger(delta) && Number.isSafeInteger(this.nearTimestamp)) return near
    return exactly(BigInt.asIntN(64, this.baseTimestamp + exactVarint(this.bytes, deltaAt)))
  }

  private varint(): number {
    const { bytes } = this
    let byte = bytes[this.at++]
    if (byte !== undefined && byte < 0x80) return (byte >>> 1) ^ -(byte & 1)
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      if (byte === undefined || factor > 2 ** 63) throw this.corrupt('a record ends early')
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
      byte = bytes[this.at++]
    }
  }

  private corrupt(reason: string): CorruptBatchError {
    return new CorruptBatchError(this.baseOffset, reason)
  }
}

/** Messages of the formats before v2, which are few and far between. */
class OldRecords implements RecordCursor {
  offset = 0
  timestamp: Timestamp = 0
  bytes: Buffer = Buffer.alloc(0)
  readonly start = 0
  end = 0
  private readonly records: ReturnType<typeof oldRecords>

  constructor(
    batch: Batch,
    private readonly origin: bigint,
  ) {
    this.records = oldRecords(batch)
  }

  next(): boolean {
    const { done, value } = this.records.next()
    if (done === true || value === undefined) return false
    this.offset = Number(value.offset - this.origin)
    this.timestamp = exactly(value.timestamp)
    this.bytes = value.content
    this.end = value.content.length
    return true
  }
}

function opened(offset: bigint, codec: ReturnType<typeof compressionOf>, bytes: Buffer): Buffer {
  try {
    return decompress(codec, bytes, 2)
  } catch (error) {
    throw new CorruptBatchError(offset, `its records cannot be opened as ${codec}: ${(error as Error).message}`)
  }
}

/** A zigzag varint of up to 64 bits. */
function exactVarint(bytes: Buffer, at: number): bigint {
  let value = 0n
  for (let i = at, shift = 0n; ; i++, shift += 7n) {
    const byte = bytes[i]!
    value |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
  }
}

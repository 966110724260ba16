import { At, BatchHeader, Bit, compressionOf, PREFIX_SIZE } from './batch.js'
import { compress, decompress } from './codecs.js'
import { writeVarint, zigzag } from './varint.js'

/** Beyond it, appends cost next to nothing per batch. */
export const MERGED_BYTES = 512 * 1024

/** How many bytes of batches to merge into one: records may get longer by that, seldom to twice their size. */
export const mergedBytes = (maxMessageBytes: number): number => Math.min(MERGED_BYTES, Math.floor(maxMessageBytes / 2))

/** A plain batch above this is not worth opening: its request costs less than its bytes. */
const SMALL_PLAIN_BYTES = 16 * 1024
/** A compressed one has to be opened and written again. */
const SMALL_COMPRESSED_BYTES = 2 * 1024
/** A record's two deltas and its length may each get longer by some bytes. */
const GROWTH_PER_RECORD = 16

/** Beyond this a delta's zigzag form is no exact double. */
const LARGEST_DELTA = 2 ** 52

/** The largest batch of a codec (bits of the attributes) that is worth merging, in bytes. */
export const smallBytes = (codec: number): number => (codec === 0 ? SMALL_PLAIN_BYTES : SMALL_COMPRESSED_BYTES)

/**
 * What a batch may be merged with: batches of the same key, which is their codec. Undefined for one that goes alone: large,
 * of an old format, or whose records have not their own timestamps. Of several batches back to back the first one tells.
 */
export function mergeKeyOf(batches: Buffer): number | undefined {
  const attributes = batches[At.attributes + 1]!
  const codec = attributes & Bit.compression
  const size = PREFIX_SIZE + batches.readInt32BE(At.batchLength)
  return size <= smallBytes(codec) && batches[At.magic] === 2 && (attributes & Bit.logAppendTime) === 0 ? codec : undefined
}

/**
 * One batch with the records of several dense ones that follow each other: a broker takes one batch per request and
 * partition, so small ones would cost a request each. Of every record only length, timestamp delta and offset delta
 * are written anew (`DefaultRecord`); keys, values and headers are copied as they lie. Plain batches stay plain, compressed
 * ones are opened, and written again as one. The CRC is left to the patch that every batch gets.
 *
 * @param parts at least one, each of one or more batches back to back, all of one {@link mergeKeyOf}
 * @returns undefined if a record does not end where its batch says, times lie too far apart, or the codec can't be opened:
 *   then each goes alone
 */
export function mergeBatches(parts: readonly Buffer[]): Buffer | undefined {
  const codec = compressionOf(new BatchHeader(parts[0]!, 0))
  if (codec === 'none') return mergePlain(parts)
  try {
    const merged = mergePlain(
      parts.flatMap((part) => batchesOf(part).map((one) => withBody(one, decompress(codec, one.subarray(At.records), 2)))),
    )
    return merged && withBody(merged, compress(codec, merged.subarray(At.records)))
  } catch {
    return undefined
  }
}

function batchesOf(part: Buffer): Buffer[] {
  const batches: Buffer[] = []
  for (let at = 0; at < part.length; ) {
    const end = at + PREFIX_SIZE + part.readInt32BE(at + At.batchLength)
    batches.push(part.subarray(at, end))
    at = end
  }
  return batches
}

/** The batch's header, codec included, before other bytes. */
function withBody(batch: Buffer, body: Buffer): Buffer {
  const copy = Buffer.concat([batch.subarray(0, At.records), body])
  copy.writeInt32BE(copy.length - PREFIX_SIZE, At.batchLength)
  return copy
}

function mergePlain(parts: readonly Buffer[]): Buffer | undefined {
  const first = parts[0]!
  const baseTimestamp = int64(first, At.baseTimestamp)
  // Not the base: where the cleaner left a delete horizon, that stands in its place.
  let maxTimestamp = -1
  const records = parts.reduce((sum, part) => sum + countOf(part), 0)
  const target = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + part.length, records * GROWTH_PER_RECORD))
  first.copy(target, 0, 0, At.records)
  let at: number | undefined = At.records
  let offset = 0
  for (const part of parts) {
    const reader = new VarintReader(part)
    for (let batch = 0; batch < part.length; ) {
      const end = batch + PREFIX_SIZE + part.readInt32BE(batch + At.batchLength)
      const count = part.readInt32BE(batch + At.count)
      const shift = int64(part, batch + At.baseTimestamp) - baseTimestamp
      const latest = int64(part, batch + At.maxTimestamp)
      if (end > part.length || !Number.isSafeInteger(shift) || Number.isNaN(latest)) return undefined
      at = appendRecords(reader, batch + At.records, end, count, target, at, shift, offset)
      if (at === undefined) return undefined
      offset += count
      if (latest > maxTimestamp) maxTimestamp = latest
      batch = end
    }
  }
  target.writeInt32BE(at - PREFIX_SIZE, At.batchLength)
  target.writeInt32BE(records - 1, At.lastOffsetDelta)
  target.writeBigInt64BE(BigInt(maxTimestamp), At.maxTimestamp)
  target.writeInt32BE(records, At.count)
  return target.subarray(0, at)
}

function countOf(part: Buffer): number {
  let count = 0
  for (let at = 0; at < part.length; at += PREFIX_SIZE + part.readInt32BE(at + At.batchLength)) count += part.readInt32BE(at + At.count)
  return count
}

/** As a double; NaN for what a double can't hold exactly. */
function int64(bytes: Buffer, at: number): number {
  const value = bytes.readInt32BE(at) * 0x100000000 + bytes.readUInt32BE(at + 4)
  return Number.isSafeInteger(value) ? value : Number.NaN
}

/** Appends a batch's records with both deltas shifted; returns the end, or undefined for a record that can't be. */
function appendRecords(
  reader: VarintReader,
  start: number,
  batchEnd: number,
  count: number,
  target: Buffer,
  targetStart: number,
  timestampShift: number,
  offsetShift: number,
): number | undefined {
  const { bytes } = reader
  reader.at = start
  let at = targetStart
  for (let left = count; left > 0; left--) {
    const size = reader.next()
    const end = reader.at + size
    if (size < 3 || end > batchEnd) return undefined
    const attributes = bytes[reader.at++]!
    const timestampDelta = reader.next() + timestampShift
    const offsetDelta = reader.next() + offsetShift
    if (!(reader.at <= end) || !(Math.abs(timestampDelta) < LARGEST_DELTA)) return undefined
    at = writeVarint(target, at, 1 + varintSize(timestampDelta) + varintSize(offsetDelta) + end - reader.at)
    target[at++] = attributes
    at = writeVarint(target, at, timestampDelta)
    at = writeVarint(target, at, offsetDelta)
    at = copyBytes(bytes, reader.at, end, target, at)
    reader.at = end
  }
  return reader.at === batchEnd ? at : undefined
}

/** Zigzag varints that fit a double exactly; NaN for what does not, or ends early. */
class VarintReader {
  at = 0

  constructor(readonly bytes: Buffer) {}

  next(): number {
    const { bytes } = this
    let byte = bytes[this.at++]!
    if (byte < 0x80) return (byte >>> 1) ^ -(byte & 1)
    let value = byte & 0x7f
    for (let factor = 128; byte >= 0x80; factor *= 128) {
      byte = bytes[this.at++]!
      value += (byte & 0x7f) * factor
    }
    if (!Number.isSafeInteger(value)) return Number.NaN
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }
}

function varintSize(value: number): number {
  let size = 1
  for (let rest = zigzag(value); rest >= 128; rest /= 128) size++
  return size
}

/** A call into native code costs as much as some dozen bytes. */
const COPIED_IN_LOOP = 32

function copyBytes(source: Buffer, from: number, end: number, target: Buffer, at: number): number {
  if (end - from > COPIED_IN_LOOP) return at + source.copy(target, at, from, end)
  let to = at
  for (let i = from; i < end; i++) target[to++] = source[i]!
  return to
}

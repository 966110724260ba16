import { At, Bit, PREFIX_SIZE } from './batch.js'

/** Largest batch made by merging, in bytes: beyond it, appends cost next to nothing per batch. */
export const MERGED_BYTES = 512 * 1024
/** A batch above this is not worth opening. */
const SMALL_BYTES = 16 * 1024
/** A record's two deltas and its length may each get longer by some bytes. */
const GROWTH_PER_RECORD = 16

/** Whether a batch may become part of a merged one: small, format 2, uncompressed, with its records' own timestamps. */
export const isMergeable = (batch: Buffer): boolean =>
  batch.length <= SMALL_BYTES && batch[At.magic] === 2 && (batch[At.attributes + 1]! & (Bit.compression | Bit.logAppendTime)) === 0

/**
 * One batch with the records of several dense ones that follow each other: a broker takes one batch per request and
 * partition, so small ones would cost a request each. Of every record only length, timestamp delta and offset delta
 * are written anew (`DefaultRecord`); keys, values and headers are copied as they lie. The CRC is left to the patch
 * that every batch gets.
 *
 * @param batches at least one, all {@link isMergeable}
 * @returns undefined if a record does not end where its batch says, or times lie too far apart: then each goes alone
 */
export function mergeBatches(batches: readonly Buffer[]): Buffer | undefined {
  const first = batches[0]!
  const baseTimestamp = first.readBigInt64BE(At.baseTimestamp)
  const records = batches.reduce((sum, batch) => sum + batch.readInt32BE(At.count), 0)
  const target = Buffer.allocUnsafe(batches.reduce((sum, batch) => sum + batch.length, records * GROWTH_PER_RECORD))
  first.copy(target, 0, 0, At.records)
  let [at, offset, maxTimestamp] = [At.records as number, 0, baseTimestamp]
  for (const batch of batches) {
    const shift = Number(batch.readBigInt64BE(At.baseTimestamp) - baseTimestamp)
    if (!Number.isSafeInteger(shift)) return undefined
    const end = appendRecords(batch, target, at, shift, offset)
    if (end === undefined) return undefined
    at = end
    offset += batch.readInt32BE(At.count)
    const latest = batch.readBigInt64BE(At.maxTimestamp)
    if (latest > maxTimestamp) maxTimestamp = latest
  }
  target.writeInt32BE(at - PREFIX_SIZE, At.batchLength)
  target.writeInt32BE(records - 1, At.lastOffsetDelta)
  target.writeBigInt64BE(maxTimestamp, At.maxTimestamp)
  target.writeInt32BE(records, At.count)
  return target.subarray(0, at)
}

/** Appends a batch's records with both deltas shifted; returns the end, or undefined for a record that can't be. */
function appendRecords(source: Buffer, target: Buffer, start: number, timestampShift: number, offsetShift: number): number | undefined {
  const reader = new VarintReader(source, At.records)
  let at = start
  for (let left = source.readInt32BE(At.count); left > 0; left--) {
    const size = reader.next()
    const end = reader.at + size
    if (size < 3 || end > source.length) return undefined
    const attributes = source[reader.at++]!
    const timestampDelta = reader.next() + timestampShift
    const offsetDelta = reader.next() + offsetShift
    if (!(reader.at <= end) || !Number.isSafeInteger(timestampDelta)) return undefined
    at = writeVarint(target, at, 1 + varintSize(timestampDelta) + varintSize(offsetDelta) + end - reader.at)
    target[at++] = attributes
    at = writeVarint(target, at, timestampDelta)
    at = writeVarint(target, at, offsetDelta)
    at = copyBytes(source, reader.at, end, target, at)
    reader.at = end
  }
  return reader.at === source.length ? at : undefined
}

/** Zigzag varints that fit a double exactly; NaN for what does not, or ends early. */
class VarintReader {
  constructor(
    private readonly bytes: Buffer,
    public at: number,
  ) {}

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

const zigzag = (value: number) => (value < 0 ? -value * 2 - 1 : value * 2)

function varintSize(value: number): number {
  let size = 1
  for (let rest = zigzag(value); rest >= 128; rest /= 128) size++
  return size
}

function writeVarint(target: Buffer, start: number, value: number): number {
  let at = start
  let rest = zigzag(value)
  for (; rest >= 128; rest = Math.floor(rest / 128)) target[at++] = (rest % 128) | 0x80
  target[at++] = rest
  return at
}

/** A call into native code costs as much as some dozen bytes. */
const COPIED_IN_LOOP = 48

function copyBytes(source: Buffer, from: number, end: number, target: Buffer, at: number): number {
  if (end - from > COPIED_IN_LOOP) return at + source.copy(target, at, from, end)
  let to = at
  for (let i = from; i < end; i++) target[to++] = source[i]!
  return to
}

import { assembleBatch } from './assemble.js'
import { compress } from './codecs.js'
import type { ProducerStamp } from './patch.js'

/** More records than this in one batch are slower per offset, not faster. */
const MOST_RECORDS = 100_000

/**
 * A gzip batch of `count` records with null key and value: the cheapest way to move a log end, 1.4 bytes an offset at full
 * size. The batch may be kept as a template: copy it and call `patchForAppend` with the next sequence.
 * @param count 1 … 100,000
 * @param stamp `timestamp` in milliseconds is given to every record
 */
export function buildFiller(count: number, stamp: ProducerStamp & { readonly timestamp: bigint }): Buffer {
  if (!Number.isInteger(count) || count < 1 || count > MOST_RECORDS)
    throw new RangeError(`a filler has 1 … ${MOST_RECORDS} records, not ${count}`)
  const { timestamp, ...producer } = stamp
  const body = [compress('gzip', emptyRecords(count))]
  return assembleBatch(body, { ...producer, compression: 'gzip', count, baseTimestamp: timestamp, maxTimestamp: timestamp })
}

/** How many records a filler may have to fit into a topic's `max.message.bytes`; at least 1. */
export function fillerCountFor(maxMessageBytes: number): number {
  // A record takes 7 to 9 bytes plain and at most 2 compressed; 128 covers the batch's and gzip's own headers.
  return Math.max(1, Math.min(MOST_RECORDS, Math.floor((maxMessageBytes - 128) / 2)))
}

function emptyRecords(count: number): Buffer {
  const bytes = Buffer.allocUnsafe(count * 9)
  let at = 0
  for (let delta = 0; delta < count; delta++) {
    const zigzag = delta * 2
    const deltaSize = zigzag < 0x80 ? 1 : zigzag < 0x4000 ? 2 : 3
    bytes[at++] = (5 + deltaSize) * 2 // length
    bytes[at++] = 0 // attributes
    bytes[at++] = 0 // timestamp delta
    for (let rest = zigzag, i = 1; i <= deltaSize; i++, rest >>>= 7) bytes[at++] = (rest & 0x7f) | (i < deltaSize ? 0x80 : 0)
    bytes[at++] = 1 // key length −1
    bytes[at++] = 1 // value length −1
    bytes[at++] = 0 // headers
  }
  return bytes.subarray(0, at)
}

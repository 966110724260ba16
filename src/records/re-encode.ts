import { assembleBatch } from './assemble.js'
import type { Compression } from './batch.js'
import { compress } from './codecs.js'
import type { OpenRecord } from './open-records.js'
import { writeVarint, writeVarlong } from './varint.js'

/** Length, attributes and both deltas of a record take at most this much. */
const MOST_BEFORE_CONTENT = 5 + 1 + 10 + 5

export interface ReEncoding {
  readonly compression: Exclude<Compression, 'unknown'>
  readonly leaderEpoch: number
}

/** A re-encoded batch and how many records it has. */
export interface Piece {
  readonly bytes: Buffer
  readonly count: number
}

/**
 * Records as batches of at most `maxBytes`, by halving what is larger. A record that is larger by itself is left uncompressed if that
 * is smaller, as random bytes are, and may be larger all the same.
 * @param records at least one, with offsets that follow each other
 */
export function* reEncode(records: readonly OpenRecord[], encoding: ReEncoding, maxBytes: number): Generator<Piece, void, undefined> {
  const bytes = encode(records, encoding)
  if (bytes.length <= maxBytes) {
    yield { bytes, count: records.length }
    return
  }
  if (records.length === 1) {
    const plain = encode(records, { ...encoding, compression: 'none' })
    yield { bytes: plain.length < bytes.length ? plain : bytes, count: 1 }
    return
  }
  const half = Math.ceil(records.length / 2)
  yield* reEncode(records.slice(0, half), encoding, maxBytes)
  yield* reEncode(records.slice(half), encoding, maxBytes)
}

/** One v2 batch of no producer: key, value and headers as they lie, all else from the content (`DefaultRecordBatch`, `DefaultRecord`). */
function encode(records: readonly OpenRecord[], { compression, leaderEpoch }: ReEncoding): Buffer {
  const [first] = records as readonly [OpenRecord]
  const plain = Buffer.allocUnsafe(records.reduce((sum, { content }) => sum + MOST_BEFORE_CONTENT + content.length, 0))
  // Attributes (none) and deltas go here first: the length before them depends on theirs.
  const deltas = Buffer.alloc(MOST_BEFORE_CONTENT)
  let [at, maxTimestamp] = [0, first.timestamp]
  for (const [offsetDelta, { timestamp, content }] of records.entries()) {
    const size = writeVarint(deltas, writeVarlong(deltas, 1, BigInt.asIntN(64, timestamp - first.timestamp)), offsetDelta)
    at = writeVarint(plain, at, size + content.length)
    at += deltas.copy(plain, at, 0, size)
    at += content.copy(plain, at)
    if (timestamp > maxTimestamp) maxTimestamp = timestamp
  }
  return assembleBatch([compress(compression, plain.subarray(0, at))], {
    compression,
    count: records.length,
    baseTimestamp: first.timestamp,
    maxTimestamp,
    baseOffset: first.offset,
    leaderEpoch,
  })
}

/**
 * An independent writer of v2 batches and old messages for tests: written from Kafka's documentation, sharing no code with
 * `src/records`, bitwise CRC included, so that neither can hide the other's mistakes.
 */
export interface TestBatch {
  baseOffset?: bigint
  leaderEpoch?: number
  attributes?: number
  timestamp?: bigint
  producerId?: bigint
  producerEpoch?: number
  baseSequence?: number
  /** Offset deltas that still have a record; default 0 … records−1. */
  deltas?: number[]
  records?: number
  lastOffsetDelta?: number
  valueSize?: number
}

export function batch(options: TestBatch = {}): Buffer {
  const deltas = options.deltas ?? Array.from({ length: options.records ?? 1 }, (_, i) => i)
  const value = Buffer.alloc(options.valueSize ?? 10, 'v')
  const body = Buffer.concat(deltas.map((delta) => record(delta, Buffer.from(`k${delta}`), value)))
  return rawBatch({ ...options, lastOffsetDelta: options.lastOffsetDelta ?? deltas.at(-1) ?? 0 }, deltas.length, body)
}

/** The end of a transaction. `type` 1 commits, 0 aborts, others are the brokers' own. */
export function controlBatch(baseOffset: bigint, producerId: bigint, type: number): Buffer {
  const key = Buffer.from([0, 0, type >> 8, type & 0xff])
  return rawBatch({ baseOffset, producerId, producerEpoch: 0, attributes: 0x30 }, 1, record(0, key, Buffer.alloc(6)))
}

/** A message of magic 0 or 1. */
export function oldMessage(offset: bigint, magic: 0 | 1, value: Buffer = Buffer.from('old')): Buffer {
  const body = Buffer.concat([
    Buffer.from([magic, 0]),
    magic === 1 ? int64(1700000000000n) : Buffer.alloc(0),
    int32(-1),
    int32(value.length),
    value,
  ])
  return Buffer.concat([int64(offset), int32(body.length + 4), uint32(oldCrc(body)), body])
}

function rawBatch(options: TestBatch, count: number, body: Buffer): Buffer {
  const timestamp = int64(options.timestamp ?? 1700000000000n)
  const covered = Buffer.concat([
    int16(options.attributes ?? 0),
    int32(options.lastOffsetDelta ?? 0),
    timestamp,
    timestamp,
    int64(options.producerId ?? -1n),
    int16(options.producerEpoch ?? -1),
    int32(options.baseSequence ?? -1),
    int32(count),
    body,
  ])
  return Buffer.concat([
    int64(options.baseOffset ?? 0n),
    int32(covered.length + 9),
    int32(options.leaderEpoch ?? 3),
    Buffer.from([2]),
    uint32(castagnoli(covered)),
    covered,
  ])
}

function record(delta: number, key: Buffer, value: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from([0]), varint(0), varint(delta), varint(key.length), key, varint(value.length), value, varint(0)])
  return Buffer.concat([varint(body.length), body])
}

function varint(value: number): Buffer {
  const out: number[] = []
  let rest = ((value << 1) ^ (value >> 31)) >>> 0
  for (; rest >= 0x80; rest >>>= 7) out.push((rest & 0x7f) | 0x80)
  return Buffer.from([...out, rest])
}

/** CRC-32C bit by bit. */
export function castagnoli(bytes: Buffer): number {
  return bitwise(bytes, 0x82f63b78)
}

/** CRC-32 bit by bit, of magic 0 and 1. */
export const oldCrc = (bytes: Buffer): number => bitwise(bytes, 0xedb88320)

function bitwise(bytes: Buffer, polynomial: number): number {
  let crc = -1
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1
  }
  return ~crc >>> 0
}

const number = (size: number, write: (b: Buffer) => void) => {
  const bytes = Buffer.alloc(size)
  write(bytes)
  return bytes
}
export const int16 = (v: number) => number(2, (b) => b.writeInt16BE(v))
export const int32 = (v: number) => number(4, (b) => b.writeInt32BE(v))
export const uint32 = (v: number) => number(4, (b) => b.writeUInt32BE(v))
export const int64 = (v: bigint) => number(8, (b) => b.writeBigInt64BE(v))

import { createRequire } from 'node:module'
import { gunzipSync, gzipSync } from 'node:zlib'

/**
 * Compressed bytes in every form that Kafka clients write, framed here without `src/records`: only the compression itself
 * is the same library's.
 */
const require = createRequire(import.meta.url)
const snappy = require('snappy') as { compressSync(bytes: Buffer): Buffer; uncompressSync(bytes: Buffer): Buffer }
const lz4 = require('lz4-napi') as { compressSync(bytes: Buffer): Buffer; decompressFrameSync(bytes: Buffer): Buffer }
const zstd = require('@toondepauw/node-zstd') as typeof import('@toondepauw/node-zstd')

/**
 * `snappy` and `lz4` are cut into blocks as Java does it (much smaller ones, so that small data has several), `snappy-raw` is
 * librdkafka's and Go's, the `stored` ones hold their data uncompressed and do not say how long it is.
 */
export type Codec = 'none' | 'gzip' | 'snappy' | 'snappy-raw' | 'lz4' | 'lz4-stored' | 'zstd' | 'zstd-stored'

/** The codec's number in a batch's attributes. */
export const CODEC_BITS: Readonly<Record<Codec, number>> = {
  none: 0,
  gzip: 1,
  snappy: 2,
  'snappy-raw': 2,
  lz4: 3,
  'lz4-stored': 3,
  zstd: 4,
  'zstd-stored': 4,
}

/** Bytes per block of the codecs that have blocks. */
const BLOCK = 64

/** @param magic of the message format: LZ4 frames of format 0 have the header checksum that Kafka 0.8 got wrong */
export function pack(codec: Codec, bytes: Buffer, magic = 2): Buffer {
  switch (codec) {
    case 'none':
      return bytes
    case 'gzip':
      return gzipSync(bytes)
    case 'snappy':
      return snappyOfJava(bytes)
    case 'snappy-raw':
      return snappy.compressSync(bytes)
    case 'lz4':
    case 'lz4-stored':
      return lz4Frame(bytes, codec === 'lz4', magic === 0)
    case 'zstd':
      return new zstd.Encoder(3).encodeSync(bytes)
    case 'zstd-stored':
      return zstdStored(bytes)
  }
}

/** What a consumer makes of a batch's records; `bits` is the codec's number. */
export function unpack(bits: number, bytes: Buffer): Buffer {
  if (bits === 0) return bytes
  if (bits === 1) return gunzipSync(bytes)
  if (bits === 2) return bytes.subarray(0, 8).equals(JAVA_SNAPPY.subarray(0, 8)) ? unpackJavaSnappy(bytes) : snappy.uncompressSync(bytes)
  if (bits === 3) return lz4.decompressFrameSync(bytes)
  if (bits === 4) return new zstd.Decoder().decodeSync(bytes)
  throw new Error(`there is no codec ${bits}`)
}

/** xerial's stream: a magic, version 1, compatible with 1, then blocks after their lengths. */
const JAVA_SNAPPY = Buffer.from('82534e41505059000000000100000001', 'hex')

function snappyOfJava(bytes: Buffer): Buffer {
  const blocks = chunks(bytes).map((chunk) => snappy.compressSync(chunk))
  return Buffer.concat([JAVA_SNAPPY, ...blocks.flatMap((block) => [uint32be(block.length), block])])
}

function unpackJavaSnappy(bytes: Buffer): Buffer {
  const out: Buffer[] = []
  for (let at = JAVA_SNAPPY.length; at < bytes.length; at += 4 + bytes.readUInt32BE(at))
    out.push(snappy.uncompressSync(bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at))))
  return Buffer.concat(out)
}

/** LZ4 frame of version 1 with independent blocks of up to 64 kB and neither checksums nor a content size, as Java's. */
function lz4Frame(bytes: Buffer, compressed: boolean, broken: boolean): Buffer {
  const start = Buffer.from('04224d186040', 'hex')
  // The checksum is of flags and block size; Kafka's first version took the magic too.
  const checksum = (xxHash32(broken ? start : start.subarray(4)) >>> 8) & 0xff
  const blocks = chunks(bytes).flatMap((chunk) => {
    // One-shot blocks of this library begin with the size of what they hold.
    const block = compressed ? lz4.compressSync(chunk).subarray(4) : chunk
    return block.length < chunk.length ? [uint32le(block.length), block] : [uint32le(chunk.length + 0x80000000), chunk]
  })
  return Buffer.concat([start, Buffer.from([checksum]), ...blocks, uint32le(0)])
}

/** A zstd frame of raw blocks without content size, as streaming writers begin it: RFC 8878, 3.1.1. */
function zstdStored(bytes: Buffer): Buffer {
  const parts = chunks(bytes)
  const blocks = parts.flatMap((chunk, i) => {
    const header = uint32le((chunk.length << 3) | (i === parts.length - 1 ? 1 : 0))
    return [header.subarray(0, 3), chunk]
  })
  return Buffer.concat([Buffer.from('28b52ffd0058', 'hex'), ...blocks])
}

function chunks(bytes: Buffer): Buffer[] {
  const count = Math.max(1, Math.ceil(bytes.length / BLOCK))
  return Array.from({ length: count }, (_, i) => bytes.subarray(i * BLOCK, (i + 1) * BLOCK))
}

const [P1, P2, P3, P4, P5] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1] as const

/** xxHash32 with seed 0, of fewer than 16 bytes. */
function xxHash32(bytes: Buffer): number {
  const rotate = (value: number, by: number) => (value << by) | (value >>> (32 - by))
  let hash = (P5 + bytes.length) | 0
  let at = 0
  for (; at + 4 <= bytes.length; at += 4) hash = Math.imul(rotate((hash + Math.imul(bytes.readUInt32LE(at), P3)) | 0, 17), P4)
  for (; at < bytes.length; at++) hash = Math.imul(rotate((hash + Math.imul(bytes[at]!, P5)) | 0, 11), P1)
  hash = Math.imul(hash ^ (hash >>> 15), P2)
  hash = Math.imul(hash ^ (hash >>> 13), P3)
  return (hash ^ (hash >>> 16)) >>> 0
}

function uint32be(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function uint32le(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

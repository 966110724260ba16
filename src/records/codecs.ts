import { createRequire } from 'node:module'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Compression } from './batch.js'
import { withRightChecksum } from './lz4-frame.js'
import { openSnappy, writeSnappy } from './snappy-blocks.js'
import { zstdBound } from './zstd-frames.js'

/** Records that grow beyond this when opened would endanger the other partitions of the process. */
export const MAX_OPENED_BYTES = 512 << 20
/** The level that Kafka's clients use unless told otherwise. */
const ZSTD_LEVEL = 3

/** Without it snappy hands out memory of its own, whose bookkeeping costs more than the copy: 5 to 10 times as slow on blocks of 32 KiB. */
const COPIED = { copyOutputData: true }

interface Codec {
  /** @param magic of the batch, for some old formats are their own. */
  open(bytes: Buffer, magic: number): Buffer
  write(bytes: Buffer): Buffer
}

const require = createRequire(import.meta.url)
// Loaded when first needed: on a platform without one of these, only partitions that need it must fail.
const snappy = () => require('snappy') as typeof import('snappy')
const lz4 = () => require('lz4-napi') as typeof import('lz4-napi')
const zstd = () => require('@toondepauw/node-zstd') as typeof import('@toondepauw/node-zstd')

/** What each of Kafka's compression types (`CompressionType`) means. All formats that Kafka's clients write are opened. */
const CODECS: { readonly [codec in Exclude<Compression, 'unknown'>]: Codec } = {
  none: { open: (bytes) => bytes, write: (bytes) => bytes },
  gzip: { open: (bytes) => gunzipSync(bytes, { maxOutputLength: MAX_OPENED_BYTES }), write: (bytes) => gzipSync(bytes) },
  snappy: {
    open: (bytes) => openSnappy(bytes, MAX_OPENED_BYTES, (block) => snappy().uncompressSync(block, COPIED) as Buffer),
    write: (bytes) => writeSnappy(bytes, (block) => snappy().compressSync(block, COPIED)),
  },
  lz4: {
    // LZ4 can't shrink anything to less than a 255th, so what a broker stores is bound enough.
    open: (bytes, magic) => lz4().decompressFrameSync(magic === 0 ? withRightChecksum(bytes) : bytes),
    write: (bytes) => lz4().compressFrameSync(bytes),
  },
  zstd: {
    open: (bytes) => {
      if (zstdBound(bytes) > MAX_OPENED_BYTES) throw new RangeError(`more than ${MAX_OPENED_BYTES} bytes when opened`)
      return new (zstd().Decoder)().decodeSync(bytes)
    },
    write: (bytes) => new (zstd().Encoder)(ZSTD_LEVEL).encodeSync(bytes),
  },
}

/**
 * Opens the compressed part of a batch. The result may be `bytes` itself.
 * @param magic of the batch that holds them
 * @throws Error in the words of the codec's library; for a codec that Kafka does not have; for one whose library
 *   is missing on this platform; for more than {@link MAX_OPENED_BYTES}
 */
export const decompress = (compression: Compression, bytes: Buffer, magic: number): Buffer => codec(compression).open(bytes, magic)

/** Compresses records for a v2 batch, in a form that every Kafka client reads. @throws as {@link decompress} */
export const compress = (compression: Compression, bytes: Buffer): Buffer => codec(compression).write(bytes)

function codec(compression: Compression): Codec {
  if (compression === 'unknown') throw new RangeError('Kafka has no such codec')
  return CODECS[compression]
}

const FRAME_MAGIC = 0xfd2fb528
const SKIPPABLE = 0x184d2a50
/** No block holds more (RFC 8878, 3.1.1.2.4). */
const MAX_BLOCK_BYTES = 128 << 10
const RLE = 1
const CONTENT_SIZE_BYTES = [0, 2, 4, 8]
const DICTIONARY_BYTES = [0, 1, 2, 4]

/**
 * An upper bound of what zstd frames hold when opened, found from their headers without opening them: a few bytes may stand for gigabytes, and
 * the library would allocate them. What is no zstd ends the count: the library says why.
 */
export function zstdBound(bytes: Buffer): number {
  let bound = 0
  let at = 0
  while (at + 9 <= bytes.length) {
    const magic = bytes.readUInt32LE(at)
    if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) {
      at += 8 + bytes.readUInt32LE(at + 4)
      continue
    }
    if (magic !== FRAME_MAGIC) break
    const descriptor = bytes[at + 4]!
    const singleSegment = (descriptor & 0x20) !== 0
    const contentSize = CONTENT_SIZE_BYTES[descriptor >> 6]! || (singleSegment ? 1 : 0)
    at += 5 + (singleSegment ? 0 : 1) + DICTIONARY_BYTES[descriptor & 3]! + contentSize
    for (let last = false; !last && at + 3 <= bytes.length; ) {
      const block = bytes.readUIntLE(at, 3)
      last = (block & 1) !== 0
      const isRle = ((block >> 1) & 3) === RLE
      const size = block >> 3
      bound += isRle || ((block >> 1) & 3) === 0 ? size : MAX_BLOCK_BYTES
      at += 3 + (isRle ? 1 : size)
    }
    if ((descriptor & 4) !== 0) at += 4
  }
  return bound
}

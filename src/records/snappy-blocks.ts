/**
 * Snappy as Kafka's Java clients and brokers write it (snappy-java's `SnappyOutputStream`): a magic, two int32 versions, then blocks
 * of an int32 length and that many bytes of plain snappy. librdkafka and Go write one plain block, without any of it.
 */
const MAGIC = Buffer.from([0x82, ...Buffer.from('SNAPPY'), 0])
const HEADER = Buffer.concat([MAGIC, Buffer.from([0, 0, 0, 1, 0, 0, 0, 1])])
/** As large as Java writes them. */
const BLOCK_BYTES = 32 * 1024

/**
 * Opens either form; streams one behind the other too, as snappy-java does.
 * @param uncompress opens one plain block
 * @throws RangeError where lengths can't be, or above `limit` bytes
 */
export function openSnappy(bytes: Buffer, limit: number, uncompress: (block: Buffer) => Buffer): Buffer {
  const blocks = isFramed(bytes, 0) ? [...blocksOf(bytes)] : [bytes]
  let size = 0
  for (const block of blocks) size += openedSize(block)
  if (size > limit) throw new RangeError(`more than ${limit} bytes when opened`)
  return blocks.length === 1 ? uncompress(blocks[0]!) : Buffer.concat(blocks.map(uncompress), size)
}

const isFramed = (bytes: Buffer, at: number) =>
  bytes.length - at >= HEADER.length && bytes.compare(MAGIC, 0, MAGIC.length, at, at + MAGIC.length) === 0

function* blocksOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    if (isFramed(bytes, at)) {
      at += HEADER.length
      continue
    }
    const start = at + 4
    const end = start + (start <= bytes.length ? bytes.readUInt32BE(at) : 0)
    if (start > bytes.length || end > bytes.length) throw new RangeError('a snappy block ends early')
    yield bytes.subarray(start, end)
    at = end
  }
}

/** A block begins with its opened size, an unsigned varint. */
function openedSize(block: Buffer): number {
  let size = 0
  for (let at = 0, factor = 1; at < 5; at++, factor *= 128) {
    const byte = block[at]
    if (byte === undefined) break
    size += (byte & 0x7f) * factor
    if (byte < 0x80) return size
  }
  throw new RangeError('a snappy block has no size')
}

/** Writes Java's form. @param compress makes one plain block */
export function writeSnappy(bytes: Buffer, compress: (block: Buffer) => Buffer): Buffer {
  const parts: Buffer[] = [HEADER]
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
    const block = compress(bytes.subarray(at, at + BLOCK_BYTES))
    const length = Buffer.allocUnsafe(4)
    length.writeUInt32BE(block.length)
    parts.push(length, block)
  }
  return Buffer.concat(parts)
}

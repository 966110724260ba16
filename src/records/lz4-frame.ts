const FRAME_MAGIC = 0x184d2204
const HAS_CONTENT_SIZE = 1 << 3
const HAS_DICTIONARY = 1

/**
 * A copy of an LZ4 frame whose header checksum is what the LZ4 specification says. Kafka's clients of the time of magic 0 took the
 * checksum over the frame's magic too (KAFKA-3160), and brokers still write that for magic 0; libraries refuse it.
 * The frame is returned as it is where it can't be one: the library says why.
 */
export function withRightChecksum(frame: Buffer): Buffer {
  if (frame.length < 7 || frame.readUInt32LE(0) !== FRAME_MAGIC) return frame
  const flags = frame[4]!
  const end = 6 + ((flags & HAS_CONTENT_SIZE) !== 0 ? 8 : 0) + ((flags & HAS_DICTIONARY) !== 0 ? 4 : 0)
  if (frame.length <= end) return frame
  const right = Buffer.from(frame)
  right[end] = (xxh32OfFew(frame.subarray(4, end)) >>> 8) & 0xff
  return right
}

const [PRIME1, PRIME2, PRIME3, PRIME4, PRIME5] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1]

/** xxHash32 with seed 0 of fewer than 16 bytes, which a frame header always has: longer input needs a loop more. */
function xxh32OfFew(bytes: Buffer): number {
  let hash = (PRIME5 + bytes.length) | 0
  let at = 0
  for (; at + 4 <= bytes.length; at += 4) hash = Math.imul(rotate(hash + Math.imul(bytes.readUInt32LE(at), PRIME3), 17), PRIME4)
  for (; at < bytes.length; at++) hash = Math.imul(rotate(hash + Math.imul(bytes[at]!, PRIME5), 11), PRIME1)
  hash = Math.imul(hash ^ (hash >>> 15), PRIME2)
  hash = Math.imul(hash ^ (hash >>> 13), PRIME3)
  return (hash ^ (hash >>> 16)) >>> 0
}

const rotate = (value: number, bits: number) => (value << bits) | (value >>> (32 - bits))

import { At, Bit, PREFIX_SIZE } from './batch.js'
import { crc32c } from './crc.js'
import { smallBytes } from './merge.js'

/** Bits of the attributes under which a batch stays as it is; the codec is looked at by itself. */
const ALONE = Bit.logAppendTime | Bit.transactional | Bit.control | Bit.deleteHorizon

/** Small dense batches that follow each other in memory and by offset, and may become one batch. */
export interface SmallRun {
  /** Index of the first byte after the last batch. */
  readonly end: number
  readonly batches: number
  /** Records, and so offsets. */
  readonly count: number
  /** Of the source leader, the same for all. */
  readonly leaderEpoch: number
}

/**
 * The longest run of small batches from `at` on, of at most `mostBytes`, each with its CRC verified. All have format 2, one codec, the
 * source leader epoch of the first, no transaction and their records' own timestamps, and the first begins at offset
 * `baseOffset`. Undefined unless there are two: a batch alone is looked at like any other, whatever is wrong with it.
 *
 * One-record batches come by the hundred thousand a second: nothing is allocated for a batch here.
 */
export function smallRun(records: Buffer, at: number, baseOffset: bigint, mostBytes: number): SmallRun | undefined {
  // Offsets are compared as doubles, up to where these tell neighbours apart: a bigint for each would cost as much as all the rest.
  let expected = Number(baseOffset)
  if (records.length - at < At.records) return undefined
  const codec = records[at + At.attributes + 1]! & Bit.compression
  const leaderEpoch = records.readInt32BE(at + At.leaderEpoch)
  const most = Math.min(records.length, at + mostBytes)
  const largest = smallBytes(codec)
  let end = at
  let batches = 0
  let count = 0
  while (most - end >= At.records && expected <= Number.MAX_SAFE_INTEGER) {
    const size = PREFIX_SIZE + records.readInt32BE(end + At.batchLength)
    if (size > largest || size < At.records || size > most - end) break
    const attributes = records[end + At.attributes + 1]!
    if (records[end + At.magic] !== 2 || (attributes & ALONE) !== 0 || (attributes & Bit.compression) !== codec) break
    if (records.readInt32BE(end + At.leaderEpoch) !== leaderEpoch) break
    const high = records.readInt32BE(end)
    if (high * 0x100000000 + records.readUInt32BE(end + 4) !== expected) break
    const here = records.readInt32BE(end + At.count)
    if (here < 1 || records.readInt32BE(end + At.lastOffsetDelta) !== here - 1) break
    if (crc32c(records.subarray(end + At.attributes, end + size)) !== records.readUInt32BE(end + At.crc)) break
    end += size
    batches++
    count += here
    expected += here
  }
  return batches > 1 ? { end, batches, count, leaderEpoch } : undefined
}

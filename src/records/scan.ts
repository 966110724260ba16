import { At, type BatchHeader, CorruptBatchError, PREFIX_SIZE, readBatchHeader } from './batch.js'
import { crc32, crc32c } from './crc.js'

/** One whole batch in a fetched record set. */
export class Batch {
  constructor(
    readonly header: BatchHeader,
    private readonly records: Buffer,
    private readonly at: number,
  ) {}

  /** A fresh view of the whole batch, header included. Writing to it changes the fetched bytes. */
  get bytes(): Buffer {
    return this.records.subarray(this.at, this.at + this.header.size)
  }
}

/**
 * The batches of a record set as a fetch returned it, in order, each with its CRC verified. A partial last batch ends the
 * scan, for brokers cut responses at a byte limit: a set with bytes but no batch means the limit was smaller than the batch.
 * Cost is per batch; records are not looked at.
 * @throws {CorruptBatchError} at the first batch that can't be or whose CRC differs.
 */
export function* scanBatches(records: Buffer): Generator<Batch, void, undefined> {
  for (let at = 0, batch = batchAt(records, at); batch !== undefined; batch = batchAt(records, at)) {
    yield batch
    at += batch.header.size
  }
}

/**
 * The batch that begins at byte `at`, its CRC verified; undefined where none, or only a part of one, is left.
 * @throws {CorruptBatchError} for one that can't be or whose CRC differs.
 */
export function batchAt(records: Buffer, at: number): Batch | undefined {
  if (records.length - at <= At.magic) return undefined
  if (PREFIX_SIZE + records.readInt32BE(at + At.batchLength) > records.length - at) return undefined
  const header = readBatchHeader(records, at)
  verify(header, records, at)
  return new Batch(header, records, at)
}

function verify(header: BatchHeader, records: Buffer, at: number): void {
  const end = at + header.size
  const actual = header.magic < 2 ? crc32(records.subarray(at + At.magic, end)) : crc32c(records.subarray(at + At.attributes, end))
  if (actual === header.crc) return
  throw new CorruptBatchError(header.baseOffset, `its CRC says ${hex(header.crc)}, its bytes ${hex(actual)}`)
}

const hex = (crc: number) => crc.toString(16).padStart(8, '0')

/** Whether every offset of the batch still has its record: true as produced, false once compaction took some. */
export const isDense = ({ header }: Batch): boolean => header.lastOffsetDelta + 1 === header.count

/**
 * What a control batch says (`ControlRecordType`): the end of a transaction, or something else of the brokers' own.
 * Its only record is uncompressed: length, attributes, timestamp delta, offset delta, key length, then version and type in the key.
 */
export function controlTypeOf({ header, bytes }: Batch): 'commit' | 'abort' | 'other' {
  if (header.count === 0) return 'other'
  let at = skipVarint(bytes, At.records) + 1
  for (let field = 0; field < 3; field++) at = skipVarint(bytes, at)
  if (at + 4 > bytes.length) throw new CorruptBatchError(header.baseOffset, 'its control record ends early')
  const type = bytes.readInt16BE(at + 2)
  return type === 0 ? 'abort' : type === 1 ? 'commit' : 'other'
}

function skipVarint(bytes: Buffer, at: number): number {
  let end = at
  while (end < bytes.length && bytes[end]! >= 0x80) end++
  return end + 1
}

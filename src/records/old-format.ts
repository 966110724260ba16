import { Bit } from './batch.js'
import type { OpenRecord } from './open-records.js'
import { varint } from './varint.js'

/**
 * Messages of magic 0 and 1 (`LegacyRecord`), by byte:
 *
 *   0 offset int64 │ 8 size int32 │ 12 crc │ 16 magic int8 │ 17 attributes int8 │ 18 timestamp int64 (magic 1 only)
 *   then key and value, each an int32 length (−1: null) and its bytes
 *
 * A compressed batch is one such message (the wrapper) with a row of others in its value.
 */
interface OldMessage {
  readonly offset: bigint
  readonly magic: number
  readonly attributes: number
  readonly timestamp: bigint
  readonly key: Buffer | null
  readonly value: Buffer | null
}

const OFFSET_AND_SIZE = 12
const NO_HEADERS = varint(0)
const NULL = varint(-1)

/**
 * The records of one message or wrapper, as Kafka's `AbstractLegacyRecordBatch.DeepRecordsIterator` finds them: in a wrapper of
 * magic 1 the inner offsets count from a base and the wrapper has the last one's, in one of magic 0 they are absolute; a wrapper with
 * LogAppendTime gives its own time to all.
 *
 * @param open opens the wrapper's value
 * @throws RangeError where lengths can't be
 */
export function* openOldRecords(bytes: Buffer, open: (value: Buffer) => Buffer): Generator<OpenRecord, void, undefined> {
  const message = readMessage(bytes)
  if (!isCompressed(message)) {
    yield record(message.offset, message.timestamp, message)
    return
  }
  if (message.value === null) throw new RangeError('its compressed value is null')
  const inner = [...innerMessages(open(message.value))]
  const last = inner.at(-1)
  if (last === undefined) throw new RangeError('it is compressed and holds no message')
  const base = message.magic === 1 ? message.offset - last.offset : 0n
  const appendTime = message.magic === 1 && (message.attributes & Bit.logAppendTime) !== 0 ? message.timestamp : undefined
  for (const each of inner) {
    if (isCompressed(each)) throw new RangeError('a compressed message holds another one')
    yield record(base + each.offset, each.magic === 1 ? (appendTime ?? each.timestamp) : -1n, each)
  }
}

/** Messages up to the end, or to one that is cut off, which Kafka's reader leaves out too. */
function* innerMessages(bytes: Buffer): Generator<OldMessage> {
  for (let at = 0; at + OFFSET_AND_SIZE <= bytes.length; ) {
    const end = at + OFFSET_AND_SIZE + bytes.readInt32BE(at + 8)
    if (end > bytes.length || end <= at) return
    yield readMessage(bytes.subarray(at, end))
    at = end
  }
}

function readMessage(bytes: Buffer): OldMessage {
  const magic = bytes.readInt8(16)
  if (magic !== 0 && magic !== 1) throw new RangeError(`a message inside has magic ${magic}`)
  const [key, afterKey] = nullable(bytes, magic === 0 ? 18 : 26)
  const [value] = nullable(bytes, afterKey)
  const timestamp = magic === 0 ? -1n : bytes.readBigInt64BE(18)
  return { offset: bytes.readBigInt64BE(0), magic, attributes: bytes.readInt8(17), timestamp, key, value }
}

function nullable(bytes: Buffer, at: number): [content: Buffer | null, end: number] {
  const size = bytes.readInt32BE(at)
  const start = at + 4
  if (size < 0) return [null, start]
  if (start + size > bytes.length) throw new RangeError('a message ends early')
  return [bytes.subarray(start, start + size), start + size]
}

const isCompressed = ({ attributes }: OldMessage) => (attributes & Bit.compression) !== 0

const record = (offset: bigint, timestamp: bigint, { key, value }: OldMessage): OpenRecord => ({
  offset,
  timestamp,
  content: Buffer.concat([...sized(key), ...sized(value), NO_HEADERS]),
})

const sized = (bytes: Buffer | null): Buffer[] => (bytes === null ? [NULL] : [varint(bytes.length), bytes])

import { type BatchHeader, CorruptBatchError, compressionOf } from '../../records/batch.js'
import { decompress } from '../../records/codecs.js'
import type { Batch } from '../../records/scan.js'

/** A record of a format before v2. */
export interface OldRecord {
  readonly offset: bigint
  /** Milliseconds since the epoch as consumers see it, −1 in magic 0. */
  readonly timestamp: bigint
  /** Key, value and no headers, written as v2 would. */
  readonly content: Buffer
}

const CODEC = 0b111
const LOG_APPEND_TIME = 0b1000
/** Offset and size, then CRC, magic and attributes; magic 1 goes on with the timestamp. */
const KEY_AT = [18, 26] as const

/**
 * The records of a message of magic 0 or 1, which is one record or, compressed, a wrapper around a row of them. Read from Kafka's
 * message format documentation and KIP-31/32, apart from what the engine reads with: a mistake must not hide itself here.
 * Inner offsets are the records' own in magic 0; in magic 1 the last one stands for the wrapper's and the others for so many less.
 *
 * @throws {CorruptBatchError} where the messages can't be opened or don't add up.
 */
export function* oldRecords({ header, bytes }: Batch): Generator<OldRecord, void, undefined> {
  const outer = messageAt(header, bytes, 0)
  if ((outer.attributes & CODEC) === 0) {
    yield { offset: outer.offset, timestamp: outer.timestamp, content: contentOf(outer) }
    return
  }
  const inner = messagesIn(header, opened(header, outer.value))
  const last = inner.at(-1)
  if (last === undefined) throw wrong(header, 'a compressed message holds none')
  const shift = outer.magic === 0 ? 0n : outer.offset - last.offset
  const stamped = outer.magic === 1 && (outer.attributes & LOG_APPEND_TIME) !== 0
  let before = -1n
  for (const message of inner) {
    const offset = message.offset + shift
    if ((message.attributes & CODEC) !== 0) throw wrong(header, `the message of offset ${offset} is compressed twice`)
    if (offset <= before || offset > outer.offset) throw wrong(header, `the message of offset ${offset} is out of order`)
    before = offset
    yield { offset, timestamp: stamped && message.magic === 1 ? outer.timestamp : message.timestamp, content: contentOf(message) }
  }
}

interface Message {
  readonly offset: bigint
  readonly magic: 0 | 1
  readonly attributes: number
  readonly timestamp: bigint
  readonly key: Buffer | null
  readonly value: Buffer | null
}

function messageAt(header: BatchHeader, bytes: Buffer, at: number): Message {
  const magic = bytes[at + 16]
  if (magic !== 0 && magic !== 1) throw wrong(header, `a message of magic ${magic} is inside`)
  const end = at + 12 + bytes.readInt32BE(at + 8)
  let position = at + KEY_AT[magic]
  const next = (): Buffer | null => {
    if (position + 4 > end) throw wrong(header, 'a message ends early')
    const size = bytes.readInt32BE(position)
    const start = position + 4
    position = start + Math.max(0, size)
    if (position > end) throw wrong(header, 'a message ends early')
    return size < 0 ? null : bytes.subarray(start, position)
  }
  const [key, value] = [next(), next()]
  const timestamp = magic === 0 ? -1n : bytes.readBigInt64BE(at + 18)
  return { offset: bytes.readBigInt64BE(at), magic, attributes: bytes[at + 17]!, timestamp, key, value }
}

/** Consumers stop at a last message that is cut off, which brokers of old could store. */
function messagesIn(header: BatchHeader, bytes: Buffer): Message[] {
  const messages: Message[] = []
  for (let at = 0; bytes.length - at >= KEY_AT[0]; ) {
    const size = bytes.readInt32BE(at + 8)
    if (size < 14) throw wrong(header, `a message of ${size} bytes is inside`)
    if (at + 12 + size > bytes.length) break
    messages.push(messageAt(header, bytes, at))
    at += 12 + size
  }
  return messages
}

function opened(header: BatchHeader, value: Buffer | null): Buffer {
  if (value === null) throw wrong(header, 'a compressed message has no value')
  const codec = compressionOf(header)
  try {
    return decompress(codec, value, header.magic)
  } catch (error) {
    throw wrong(header, `its records cannot be opened as ${codec}: ${(error as Error).message}`)
  }
}

const wrong = ({ baseOffset }: BatchHeader, reason: string) => new CorruptBatchError(baseOffset, reason)

const contentOf = ({ key, value }: Message): Buffer => Buffer.concat([...sized(key), ...sized(value), NO_HEADERS])

const NO_HEADERS = Buffer.from([0])
const NULL = Buffer.from([1])

const sized = (bytes: Buffer | null): Buffer[] => (bytes === null ? [NULL] : [lengthOf(bytes), bytes])

/** A length as v2 writes it: doubled (zigzag), seven bits to the byte, the least first. */
function lengthOf({ length }: Buffer): Buffer {
  const groups: number[] = []
  for (let rest = length * 2; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...groups, rest])
    groups.push(128 + (rest % 128))
  }
}

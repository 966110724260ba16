import { castagnoli, int16, int32, int64, oldCrc, uint32 } from './batches.js'
import { CODEC_BITS, type Codec, pack } from './codecs.js'

/** A record of a log, whatever format it is stored in. */
export interface LogRecord {
  /** Milliseconds since the epoch; −1 for none. */
  readonly timestamp: bigint
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** In order; keys are bytes, for nothing makes other clients than Java's write UTF-8. */
  readonly headers: readonly (readonly [key: Buffer, value: Buffer | null])[]
}

/** A record and its distance from the batch's base offset. */
export type PlacedRecord = readonly [delta: number, record: LogRecord]

export interface WrittenBatch {
  readonly baseOffset: bigint
  readonly records: readonly PlacedRecord[]
  readonly lastOffsetDelta: number
  readonly codec?: Codec
  readonly leaderEpoch?: number
  readonly producerId?: bigint
  readonly producerEpoch?: number
  readonly baseSequence?: number
  readonly transactional?: boolean
  /** A commit or abort marker's batch; records come from {@link markerRecord}. */
  readonly control?: boolean
  /** What the broker stamped it with, under `message.timestamp.type=LogAppendTime`. */
  readonly appendTime?: bigint
  /** Where the cleaner left word of when tombstones may go, it stands in the place of the base timestamp (KIP-534). */
  readonly deleteHorizon?: bigint
  /** Overrides for batches that no producer should write. */
  readonly count?: number
  readonly attributes?: number
}

/**
 * A v2 batch (`DefaultRecordBatch`), written from Kafka's documentation without any code of `src/records`. Without records it
 * is what the cleaner leaves of a batch that it may not remove (`DefaultRecordBatch.writeEmptyHeader`).
 */
export function writeBatch(batch: WrittenBatch): Buffer {
  const { records, codec = 'none', appendTime, deleteHorizon } = batch
  const times = records.map(([, { timestamp }]) => timestamp)
  const baseTimestamp = deleteHorizon ?? times[0] ?? -1n
  const maxTimestamp = appendTime ?? latestOf(times)
  const body = Buffer.concat(records.map(([delta, record]) => writeRecord(record, record.timestamp - baseTimestamp, delta)))
  const flags =
    (records.length === 0 ? 0 : CODEC_BITS[codec]) |
    (appendTime === undefined ? 0 : 1 << 3) |
    (batch.transactional ? 1 << 4 : 0) |
    (batch.control ? 1 << 5 : 0) |
    (deleteHorizon === undefined ? 0 : 1 << 6)
  const covered = Buffer.concat([
    int16(batch.attributes ?? flags),
    int32(batch.lastOffsetDelta),
    int64(baseTimestamp),
    int64(maxTimestamp),
    int64(batch.producerId ?? -1n),
    int16(batch.producerEpoch ?? -1),
    int32(batch.baseSequence ?? -1),
    int32(batch.count ?? records.length),
    records.length === 0 ? body : pack(codec, body),
  ])
  return Buffer.concat([
    int64(batch.baseOffset),
    int32(covered.length + 9),
    int32(batch.leaderEpoch ?? -1),
    Buffer.from([2]),
    uint32(castagnoli(covered)),
    covered,
  ])
}

/** The latest of some times, −1 of none. */
export function latestOf(times: readonly bigint[]): bigint {
  let latest = -1n
  for (const time of times) if (time > latest) latest = time
  return latest
}

/** What a marker's batch holds: version and type in the key (`ControlRecordType`), the coordinator's epoch in the value. */
export const markerRecord = (commit: boolean, timestamp: bigint): LogRecord => ({
  timestamp,
  key: Buffer.from([0, 0, 0, commit ? 1 : 0]),
  value: Buffer.alloc(6),
  headers: [],
})

function writeRecord({ key, value, headers }: LogRecord, timestampDelta: bigint, offsetDelta: number): Buffer {
  const body = [Buffer.from([0]), varint(timestampDelta), varint(offsetDelta), ...sized(key), ...sized(value), varint(headers.length)]
  for (const [name, content] of headers) body.push(varint(name.length), name, ...sized(content))
  const bytes = Buffer.concat(body)
  return Buffer.concat([varint(bytes.length), bytes])
}

const sized = (bytes: Buffer | null): Buffer[] => (bytes === null ? [varint(-1)] : [varint(bytes.length), bytes])

/** Zigzag varint of up to 64 bits. */
function varint(value: number | bigint): Buffer {
  const out: number[] = []
  let rest = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n))
  for (; rest >= 0x80n; rest >>= 7n) out.push(Number(rest & 0x7fn) | 0x80)
  return Buffer.from([...out, Number(rest)])
}

/** Codecs older than format 2. */
export type OldCodec = Exclude<Codec, 'zstd' | 'zstd-stored'>

export interface OldMessages {
  readonly magic: 0 | 1
  /** With their offsets; old messages have no headers. */
  readonly records: readonly (readonly [offset: bigint, record: LogRecord])[]
  /** Messages with a codec go into a wrapper, one and all; without one each is by itself. */
  readonly codec: OldCodec
  /** Format 1 only. */
  readonly appendTime?: bigint
}

/**
 * Messages of format 0 or 1 (`LegacyRecord`). A wrapper has the offset of its last message; inside it, format 0 counts
 * absolutely, format 1 from its first message (KIP-31).
 */
export function writeOldMessages({ magic, records, codec, appendTime }: OldMessages): Buffer[] {
  if (codec === 'none') return records.map(([offset, record]) => oldMessage(magic, offset, record, 0, appendTime))
  const [first] = records[0]!
  const inner = records.map(([offset, record]) => oldMessage(magic, magic === 0 ? offset : offset - first, record, 0, undefined))
  const timestamp = latestOf(records.map(([, record]) => record.timestamp))
  const value = pack(codec, Buffer.concat(inner), magic)
  const wrapper = { timestamp, key: null, value, headers: [] }
  return [oldMessage(magic, records.at(-1)![0], wrapper, CODEC_BITS[codec], appendTime)]
}

function oldMessage(magic: 0 | 1, offset: bigint, record: LogRecord, codec: number, appendTime: bigint | undefined): Buffer {
  const body = Buffer.concat([
    Buffer.from([magic, codec | (appendTime === undefined ? 0 : 1 << 3)]),
    magic === 1 ? int64(appendTime ?? record.timestamp) : Buffer.alloc(0),
    ...oldSized(record.key),
    ...oldSized(record.value),
  ])
  return Buffer.concat([int64(offset), int32(body.length + 4), uint32(oldCrc(body)), body])
}

const oldSized = (bytes: Buffer | null): Buffer[] => (bytes === null ? [int32(-1)] : [int32(bytes.length), bytes])

import { type ReadBatch, readBatch } from './batch-reader.js'
import type { LogRecord, PlacedRecord } from './batch-writer.js'

/** An answer to Produce: Kafka's error code, and −1 where nothing was appended. */
export interface AppendAnswer {
  readonly errorCode: number
  readonly baseOffset: bigint
}

export interface ModelOptions {
  /** The first offset: a partition that was emptied with DeleteRecords starts above 0. */
  readonly logStartOffset?: bigint
  /** `max.message.bytes`. */
  readonly maxMessageBytes?: number
  /** `cleanup.policy` includes compact. */
  readonly compacted?: boolean
  /** Now plus `message.timestamp.after.max.ms`. */
  readonly latestTimestamp?: bigint
}

export interface Marker {
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly coordinatorEpoch: number
}

/** What consumers see at an offset: undefined is nothing. */
export type LogEntry = LogRecord | undefined

/** Kafka's error codes as they are on the wire. */
const UNKNOWN_SERVER_ERROR = -1
const NONE = 0
const CORRUPT_MESSAGE = 2
const MESSAGE_TOO_LARGE = 10
const INVALID_TIMESTAMP = 32
const OUT_OF_ORDER_SEQUENCE_NUMBER = 45
const INVALID_PRODUCER_EPOCH = 47
const TRANSACTION_COORDINATOR_FENCED = 52
const TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
const INVALID_RECORD = 87

const TRANSACTIONAL = 1 << 4
const CONTROL = 1 << 5
const REMEMBERED_BATCHES = 5
const SEQUENCES = 2 ** 31

/** Undefined where the records are not as many or as long as they should be. */
function recordsOf(batch: ReadBatch): PlacedRecord[] | undefined {
  try {
    return batch.records()
  } catch {
    return undefined
  }
}

/** What a leader remembers of a producer id (`ProducerStateEntry`). */
interface ProducerEntry {
  epoch: number
  coordinatorEpoch: number
  /** The last five batches of this epoch. */
  batches: { readonly first: number; readonly last: number; readonly baseOffset: bigint }[]
}

/**
 * A partition's leader and the rules by which it takes what clients send it: `ProduceRequest.validateRecords`,
 * `UnifiedLog.analyzeAndValidateRecords`, `LogValidator` and `ProducerAppendInfo`, in the order in which brokers look.
 * It shares no code with `src`; test/broker/model-broker.test.ts holds it against real brokers. In one thing it is stricter:
 * brokers look at the offsets of single records only where these are compressed (and then fail in a way of their own).
 */
export class ModelBroker {
  readonly logStartOffset: bigint
  /** One per offset from the log start on. */
  readonly entries: LogEntry[] = []
  private readonly producers = new Map<bigint, ProducerEntry>()

  constructor(private readonly options: ModelOptions = {}) {
    this.logStartOffset = options.logStartOffset ?? 0n
  }

  get logEndOffset(): bigint {
    return this.logStartOffset + BigInt(this.entries.length)
  }

  /** A Produce request with these bytes for the partition, without a transactional id. */
  append(bytes: Buffer): AppendAnswer {
    const refused = (errorCode: number) => ({ errorCode, baseOffset: -1n })
    if (bytes[16] !== 2) return refused(INVALID_RECORD)
    const batch = readBatch(bytes)
    if ((batch.attributes & TRANSACTIONAL) !== 0) return refused(TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if (batch.baseOffset !== 0n) return refused(INVALID_RECORD)
    if (bytes.length > (this.options.maxMessageBytes ?? 1_048_588)) return refused(MESSAGE_TOO_LARGE)
    if (!batch.crcFits) return refused(CORRUPT_MESSAGE)
    const { count, producerId } = batch
    if (count <= 0 || batch.lastOffsetDelta + 1 !== count) return refused(INVALID_RECORD)
    if ((batch.attributes & CONTROL) !== 0) return refused(INVALID_RECORD)
    if (producerId >= 0n && batch.baseSequence < 0) return refused(INVALID_RECORD)
    const records = recordsOf(batch)
    if (records === undefined) return refused(INVALID_RECORD)
    if (records.some(([delta], i) => delta !== i)) return refused(UNKNOWN_SERVER_ERROR)
    const latest = this.options.latestTimestamp
    if (latest !== undefined && records.some(([, { timestamp }]) => timestamp > latest)) return refused(INVALID_TIMESTAMP)
    if (this.options.compacted && records.some(([, { key }]) => key === null)) return refused(INVALID_RECORD)
    const baseOffset = this.logEndOffset
    if (producerId >= 0n) {
      const last = (batch.baseSequence + count - 1) % SEQUENCES
      const answer = this.takeSequence(producerId, batch.producerEpoch, { first: batch.baseSequence, last, baseOffset })
      if (answer !== undefined) return answer
    }
    this.entries.push(...records.map(([, record]) => record))
    return { errorCode: NONE, baseOffset }
  }

  /** `ProducerAppendInfo`: the answer if nothing is to be appended. */
  private takeSequence(producerId: bigint, epoch: number, batch: ProducerEntry['batches'][number]): AppendAnswer | undefined {
    const entry = this.producers.get(producerId)
    if (entry !== undefined) {
      const repeated = entry.batches.find(({ first, last }) => entry.epoch === epoch && first === batch.first && last === batch.last)
      if (repeated !== undefined) return { errorCode: NONE, baseOffset: repeated.baseOffset }
      if (epoch < entry.epoch) return { errorCode: INVALID_PRODUCER_EPOCH, baseOffset: -1n }
      const expected = epoch > entry.epoch ? 0 : ((entry.batches.at(-1)?.last ?? -1) + 1) % SEQUENCES
      if (batch.first !== expected) return { errorCode: OUT_OF_ORDER_SEQUENCE_NUMBER, baseOffset: -1n }
    }
    const known = this.entryOf(producerId, epoch)
    known.batches = [...known.batches, batch].slice(-REMEMBERED_BATCHES)
    return undefined
  }

  /** One entry of a WriteTxnMarkers request for the partition; its error code. */
  mark({ producerId, producerEpoch, coordinatorEpoch }: Marker): number {
    const entry = this.producers.get(producerId)
    if (entry !== undefined && producerEpoch < entry.epoch) return INVALID_PRODUCER_EPOCH
    if (entry !== undefined && coordinatorEpoch < entry.coordinatorEpoch) return TRANSACTION_COORDINATOR_FENCED
    this.entryOf(producerId, producerEpoch).coordinatorEpoch = coordinatorEpoch
    this.entries.push(undefined)
    return NONE
  }

  /** A new epoch forgets the batches of older ones. */
  private entryOf(producerId: bigint, epoch: number): ProducerEntry {
    const entry = this.producers.get(producerId) ?? { epoch, coordinatorEpoch: -1, batches: [] }
    if (entry.epoch !== epoch) Object.assign(entry, { epoch, batches: [] })
    this.producers.set(producerId, entry)
    return entry
  }

  /** As DescribeProducers tells it, by producer id. */
  describeProducers(): { producerId: bigint; producerEpoch: number; lastSequence: number; coordinatorEpoch: number }[] {
    return [...this.producers]
      .map(([producerId, { epoch, coordinatorEpoch, batches }]) => ({
        producerId,
        producerEpoch: epoch,
        lastSequence: batches.at(-1)?.last ?? -1,
        coordinatorEpoch,
      }))
      .sort((a, b) => Number(a.producerId - b.producerId))
  }
}

import { type LogRecord, markerRecord, type OldCodec, type PlacedRecord, writeBatch, writeOldMessages } from './batch-writer.js'
import type { Codec } from './codecs.js'
import type { LogEntry } from './model-broker.js'

/** Bytes by Latin-1 characters, or so many of them, which compress well or not at all. */
export type Bytes = string | { readonly size: number; readonly random?: boolean }

export interface RecordPlan {
  readonly timestamp: bigint
  readonly key: Bytes | null
  readonly value: Bytes | null
  readonly headers?: readonly (readonly [key: string, value: Bytes | null])[]
}

interface Cleaned {
  /** Which records compaction left, over and over; all if missing. */
  readonly kept?: readonly boolean[]
}

/** One thing that happened to a source log, in terms that read well in a counterexample. */
export type SourceEvent =
  | (Cleaned & {
      readonly kind: 'batch'
      readonly records: readonly RecordPlan[]
      /** The records so many times. */
      readonly times?: number
      readonly codec?: Codec
      readonly producer?: number
      /** Begins a transaction of the producer, if it has none: then it is part of that anyway. */
      readonly transactional?: boolean
      readonly appendTime?: bigint
      readonly deleteHorizon?: bigint
      /** Compaction left no trace of a batch without records. */
      readonly removed?: boolean
      /** A new leader. */
      readonly newEpoch?: boolean
    })
  | {
      readonly kind: 'end'
      readonly producer: number
      readonly commit: boolean
      readonly deleteHorizon?: bigint
      /** What compaction made of the marker, if it may: it stays while any batch of its transaction does. */
      readonly cleaned?: 'hollow' | 'removed'
    }
  | { readonly kind: 'hole'; readonly offsets: number }
  | (Cleaned & {
      readonly kind: 'old'
      readonly magic: 0 | 1
      readonly records: readonly RecordPlan[]
      readonly codec?: OldCodec
      readonly appendTime?: bigint
    })

interface Transaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
  readonly batches: StoredBatch[]
  end?: { readonly commit: boolean; readonly offset: bigint }
}

/** What a fetch finds: a v2 batch, an old message or a wrapper. */
interface StoredBatch {
  readonly firstOffset: bigint
  readonly lastOffset: bigint
  readonly leaderEpoch: number
  readonly bytes: Buffer
  readonly records: readonly (readonly [offset: bigint, record: LogRecord])[]
  readonly transaction?: Transaction
}

export interface FetchCut {
  /** Whole batches, at least 1. */
  readonly batches: number
  /** The answer ends inside a further batch, as brokers cut it at a size. */
  readonly torn?: boolean
  /** Aborted transactions are listed up to the log's end: brokers look them up by a bound that may lie above the bytes. */
  readonly generous?: boolean
}

export interface SourceFetch {
  /** Memory of its own. */
  readonly records: Buffer
  readonly abortedTransactions: { readonly producerId: bigint; readonly firstOffset: bigint }[]
}

/** A source partition's log as the events made it: its bytes, and what a read_committed consumer sees in it. */
export class SourceLog {
  readonly batches: StoredBatch[] = []
  private readonly transactions: Transaction[] = []
  private readonly open = new Map<number, Transaction>()
  private readonly sequences = new Map<number, number>()
  private next: bigint
  private leaderEpoch = 4

  constructor(
    readonly start: bigint,
    events: readonly SourceEvent[],
  ) {
    this.next = start
    for (const [index, event] of events.entries()) {
      const ends = events.slice(index).some((later) => later.kind === 'end' && 'producer' in event && later.producer === event.producer)
      this.add(event, ends)
    }
  }

  /** @param ends whether a transaction of the event's producer would be ended by a later one */
  private add(event: SourceEvent, ends: boolean): void {
    if (event.kind === 'hole') this.next += BigInt(event.offsets)
    else if (event.kind === 'end') this.end(event)
    else if (event.kind === 'old') this.addOld(event)
    else this.addBatch(event, ends)
  }

  private addBatch(event: SourceEvent & { kind: 'batch' }, ends: boolean): void {
    if (event.newEpoch) this.leaderEpoch++
    const { producer, codec, appendTime, removed } = event
    const all = Array.from({ length: event.times ?? 1 }, () => event.records.map(recordOf)).flat()
    const baseOffset = this.next
    this.next += BigInt(all.length)
    const transaction = producer === undefined ? undefined : this.transactionOf(producer, event.transactional === true, baseOffset)
    // The cleaner does not get to open transactions.
    const records = keptOf(all, transaction !== undefined && !ends ? [] : event.kept)
    const baseSequence = producer === undefined ? -1 : this.sequenceOf(producer, all.length)
    if (records.length === 0 && removed) return
    const bytes = writeBatch({
      baseOffset,
      records,
      codec,
      lastOffsetDelta: all.length - 1,
      leaderEpoch: this.leaderEpoch,
      producerId: producer === undefined ? -1n : producerIdOf(producer),
      producerEpoch: producer === undefined ? -1 : 0,
      baseSequence,
      transactional: transaction !== undefined,
      appendTime,
      deleteHorizon: records.length === 0 ? undefined : event.deleteHorizon,
    })
    const batch = {
      firstOffset: baseOffset,
      lastOffset: this.next - 1n,
      leaderEpoch: this.leaderEpoch,
      bytes,
      records: records.map(
        ([delta, record]) => [baseOffset + BigInt(delta), { ...record, timestamp: appendTime ?? record.timestamp }] as const,
      ),
      transaction,
    }
    transaction?.batches.push(batch)
    this.batches.push(batch)
  }

  private transactionOf(producer: number, begin: boolean, firstOffset: bigint): Transaction | undefined {
    if (this.open.has(producer) || !begin) return this.open.get(producer)
    const transaction = { producerId: producerIdOf(producer), firstOffset, batches: [] }
    this.open.set(producer, transaction)
    this.transactions.push(transaction)
    return transaction
  }

  private sequenceOf(producer: number, count: number): number {
    const sequence = this.sequences.get(producer) ?? 2 ** 31 - 5
    this.sequences.set(producer, (sequence + count) % 2 ** 31)
    return sequence
  }

  private end({ producer, commit, cleaned, deleteHorizon }: SourceEvent & { kind: 'end' }): void {
    const offset = this.next++
    const transaction = this.open.get(producer)
    this.open.delete(producer)
    if (transaction !== undefined) transaction.end = { commit, offset }
    const trace = transaction === undefined || transaction.batches.length === 0 ? cleaned : undefined
    if (trace === 'removed') return
    const bytes = writeBatch({
      baseOffset: offset,
      records: trace === 'hollow' ? [] : [[0, markerRecord(commit, 1_600_000_000_000n)]],
      lastOffsetDelta: 0,
      leaderEpoch: this.leaderEpoch,
      producerId: producerIdOf(producer),
      producerEpoch: 0,
      transactional: true,
      control: true,
      deleteHorizon: trace === 'hollow' ? undefined : deleteHorizon,
    })
    this.batches.push({ firstOffset: offset, lastOffset: offset, leaderEpoch: this.leaderEpoch, bytes, records: [] })
  }

  private addOld({ magic, records: plans, kept, codec = 'none', ...rest }: SourceEvent & { kind: 'old' }): void {
    const appendTime = magic === 1 ? rest.appendTime : undefined
    const baseOffset = this.next
    this.next += BigInt(plans.length)
    const records = keptOf(plans.map(recordOf), kept).map(([delta, { timestamp, key, value }]) => {
      const record = { timestamp: magic === 0 ? -1n : timestamp, key, value, headers: [] }
      return [baseOffset + BigInt(delta), record] as const
    })
    if (records.length === 0) return
    const seen = records.map(([offset, record]) => [offset, { ...record, timestamp: appendTime ?? record.timestamp }] as const)
    const parts = writeOldMessages({ magic, records, codec, appendTime })
    for (const [i, bytes] of parts.entries()) {
      const own = parts.length === 1 ? seen : [seen[i]!]
      this.batches.push({ firstOffset: own[0]![0], lastOffset: own.at(-1)![0], leaderEpoch: -1, bytes, records: own })
    }
  }

  /** Nothing from here on is fetched read_committed: the first offset of the first transaction still open. */
  get lastStableOffset(): bigint {
    let offset = this.next
    for (const { firstOffset } of this.open.values()) if (firstOffset < offset) offset = firstOffset
    return offset
  }

  /** Of the leader that took the batch with this offset. */
  leaderEpochAt(offset: bigint): number | undefined {
    return this.batches.find(({ firstOffset, lastOffset }) => firstOffset <= offset && offset <= lastOffset)?.leaderEpoch
  }

  /** Whether no committed transaction has records below the offset and its end at or above it. */
  isWholeAt(offset: bigint): boolean {
    return !this.transactions.some(
      ({ end, batches }) =>
        end?.commit === true && end.offset >= offset && batches.some(({ records }) => records.some(([at]) => at < offset)),
    )
  }

  private get stable(): StoredBatch[] {
    const bound = this.lastStableOffset
    return this.batches.filter(({ lastOffset }) => lastOffset < bound)
  }

  /** How far a copy can get: past the last batch below the last stable offset. */
  get stableEnd(): bigint {
    return (this.stable.at(-1)?.lastOffset ?? this.start - 1n) + 1n
  }

  /** What a consumer sees from `from` on, offset by offset up to the end of the stable log. */
  entries(from: bigint): LogEntry[] {
    const entries = new Array<LogEntry>(Number(this.stableEnd - from)).fill(undefined)
    for (const { records, transaction } of this.stable) {
      if (transaction?.end?.commit === false) continue
      for (const [offset, record] of records) if (offset >= from) entries[Number(offset - from)] = record
    }
    return entries
  }

  /** A read_committed Fetch: whole batches from the one that holds `offset`, or the next one, below the last stable offset. */
  fetch(offset: bigint, { batches: count, torn, generous }: FetchCut): SourceFetch {
    const found = this.stable.filter(({ lastOffset }) => lastOffset >= offset)
    const whole = found.slice(0, count)
    const partial = torn ? found.slice(count, count + 1).map(({ bytes }) => bytes.subarray(0, bytes.length >> 1)) : []
    const bound = generous ? this.next : (whole.at(-1)?.lastOffset ?? offset) + 1n
    const parts = [...whole.map(({ bytes }) => bytes), ...partial]
    const records = Buffer.alloc(parts.reduce((size, { length }) => size + length, 0))
    parts.reduce((at, part) => at + part.copy(records, at), 0)
    const abortedTransactions = this.aborted.filter(({ firstOffset, end }) => end!.offset >= offset && firstOffset < bound)
    return { records, abortedTransactions: abortedTransactions.map(({ producerId, firstOffset }) => ({ producerId, firstOffset })) }
  }

  /** In the order of their ends; compaction forgets those of which nothing is left. */
  private get aborted(): Transaction[] {
    return this.transactions
      .filter(({ end, batches }) => end?.commit === false && batches.length > 0)
      .sort((a, b) => Number(a.end!.offset - b.end!.offset))
  }
}

const producerIdOf = (producer: number) => 9_000n + BigInt(producer)

function keptOf(records: readonly LogRecord[], kept: readonly boolean[] = []): PlacedRecord[] {
  return records.map((record, delta) => [delta, record] as const).filter((_, i) => kept.length === 0 || kept[i % kept.length])
}

const recordOf = ({ timestamp, key, value, headers = [] }: RecordPlan): LogRecord => ({
  timestamp,
  key: bytesOf(key),
  value: bytesOf(value),
  headers: headers.map(([name, content]) => [Buffer.from(name, 'latin1'), bytesOf(content)] as const),
})

function bytesOf(plan: Bytes | null): Buffer | null {
  if (plan === null) return null
  if (typeof plan === 'string') return Buffer.from(plan, 'latin1')
  if (!plan.random) return Buffer.alloc(plan.size, 'abcdefghijklmnop')
  let state = plan.size
  return Buffer.from(
    Array.from({ length: plan.size }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return state >>> 24
    }),
  )
}

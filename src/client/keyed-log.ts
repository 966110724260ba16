import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { DescribeProducers } from '../protocol/api/describe-producers.js'
import { Produce } from '../protocol/api/produce.js'
import { Errors, errorOf, KafkaError, kafkaError } from '../protocol/errors.js'
import { encodeBatch } from '../records/record-codec.js'
import type { Cluster } from './cluster.js'
import { LogReader, type LogRecord } from './log-reader.js'
import type { TopicMetadata } from './metadata.js'

export type { LogRecord } from './log-reader.js'

/** A record to be appended; a null value is a tombstone. */
export interface KeyedRecord {
  readonly key: string
  readonly value: string | null
}

/** What {@link KeyedLog.compareAndAppend} builds on: a partition's content, and the sequence that proves it is current. */
export interface Snapshot {
  readonly partition: number
  readonly records: readonly LogRecord[]
  readonly sequence: number
}

/** Producer id of conditional appends: the bytes "kafka-mi", far above any id that a broker gives out. */
const PRODUCER_ID = 0x6b61666b612d6d69n
const PRODUCER_EPOCH = 0
const NONCE = 'nonce'
const MAX_SEQUENCE = 0x7fffffff
const READ_TIMEOUT_MS = 30_000
const ATTEMPTS = 8
const CAUGHT_UP_CHECK_MS = 10

export interface KeyedLogOptions {
  /** Of the connections that {@link KeyedLog.follow} polls on. */
  readonly clientId?: string
  readonly now?: () => number
}

/** A compacted topic as a log of keys and values. Knows nothing of what they mean. */
export class KeyedLog {
  private reader: LogReader | undefined

  constructor(
    private readonly cluster: Cluster,
    readonly topic: string,
    private readonly options: KeyedLogOptions = {},
  ) {}

  /**
   * Every record from the start to the end the leaders have now, in order within each partition; {@link follow} goes on
   * from there. Undefined if the topic does not exist. Throws KafkaError, ConnectionError.
   */
  load(): Promise<LogRecord[] | undefined> {
    return retrying(async () => {
      this.reader = await this.newReader()
      const partitions = this.reader?.metadata.partitions.map(({ partition }) => partition) ?? []
      return this.reader?.read(partitions, 'high watermark', READ_TIMEOUT_MS)
    })
  }

  /** {@link load} for one partition only, and nothing that {@link follow} goes on from. */
  loadPartition(partition: number): Promise<LogRecord[] | undefined> {
    return retrying(async () => (await this.newReader())?.read([partition], 'high watermark', READ_TIMEOUT_MS))
  }

  /**
   * Gives new records to `onRecords` as they come, until `signal` is aborted. What goes wrong with the cluster is told to
   * `failed` and tried again for ever; an error thrown by `onRecords` ends it.
   */
  async follow(onRecords: (records: LogRecord[]) => void, signal: AbortSignal, failed: (error: unknown) => void = () => {}): Promise<void> {
    let attempts = 0
    const deliver = (records: LogRecord[]) => {
      attempts = 0
      try {
        onRecords(records)
      } catch (cause) {
        throw new CallbackFailed('a callback failed', { cause })
      }
    }
    while (!signal.aborted) {
      try {
        const metadata = await this.metadata()
        if (metadata === undefined) throw this.missing()
        this.reader ??= this.readerOf(metadata)
        this.reader.metadata = metadata
        await this.reader.poll(deliver, signal)
      } catch (error) {
        if (error instanceof CallbackFailed) throw error.cause
        if (signal.aborted) return
        failed(error)
        await pause(attempts++, signal)
      }
    }
  }

  /**
   * Resolves once {@link follow} has read everything that these partitions hold now. Throws KafkaError, ConnectionError;
   * REQUEST_TIMED_OUT when that takes longer than `timeoutMs`, as while it cannot reach a leader.
   */
  async caughtUp(partitions: readonly number[], timeoutMs: number): Promise<void> {
    const until = Date.now() + timeoutMs
    const reader = await this.newReader()
    if (reader === undefined) throw this.missing()
    const ends = [...(await reader.ends(partitions))]
    while (ends.some(([partition, end]) => (this.reader?.position(partition) ?? 0n) < end)) {
      if (Date.now() > until) throw kafkaError(Errors.REQUEST_TIMED_OUT, `topic ${this.topic} could not be read to its end`)
      await sleep(CAUGHT_UP_CHECK_MS)
    }
  }

  /** Appends unconditionally: of one key the last write wins. Returns the first record's offset. Throws KafkaError. */
  async append(partition: number, records: readonly KeyedRecord[]): Promise<bigint> {
    const { errorCode, baseOffset, errorMessage } = await this.produce(
      partition,
      encodeBatch(records.map(encode), { timestamp: this.timestamp() }),
    )
    if (errorCode !== 0) throw kafkaError(errorCode, errorMessage)
    return baseOffset
  }

  /**
   * One partition up to its true log end, as the ground for {@link compareAndAppend}. Undefined if the topic does not exist.
   * The sequence is taken before reading: whatever is appended conditionally meanwhile makes it stale.
   */
  snapshot(partition: number): Promise<Snapshot | undefined> {
    return retrying(async () => {
      const reader = await this.newReader()
      if (reader === undefined) return undefined
      const sequence = await this.nextSequence(partition)
      return { partition, sequence, records: await reader.read([partition], 'log end', READ_TIMEOUT_MS) }
    })
  }

  /**
   * Appends the records in one batch, all or none, unless another conditional append came since the snapshot was taken:
   * then false, and nothing was appended. The lock is the broker's own sequence check, on one producer id that all share. A
   * rival that used the same sequence numbers makes the broker answer "duplicate", which looks like success: so the
   * record is read back and its nonce compared. Throws KafkaError.
   */
  async compareAndAppend(snapshot: Snapshot, records: readonly KeyedRecord[]): Promise<boolean> {
    const nonce = Buffer.from(randomUUID())
    const { partition, sequence } = snapshot
    const batch = encodeBatch(
      records.map((record) => ({ ...encode(record), headers: [[NONCE, nonce] as const] })),
      { timestamp: this.timestamp(), producerId: PRODUCER_ID, producerEpoch: PRODUCER_EPOCH, baseSequence: sequence },
    )
    const { errorCode, baseOffset, errorMessage } = await this.produce(partition, batch)
    if (errorCode === Errors.OUT_OF_ORDER_SEQUENCE_NUMBER || errorCode === Errors.DUPLICATE_SEQUENCE_NUMBER) return false
    if (errorCode !== 0) throw kafkaError(errorCode, errorMessage)
    return retrying(async () => {
      const record = await (await this.newReader())?.recordAt(partition, baseOffset)
      return record?.headers.some(([key, value]) => key === NONCE && value?.equals(nonce)) ?? false
    })
  }

  private async newReader(): Promise<LogReader | undefined> {
    const metadata = await this.metadata()
    return metadata && this.readerOf(metadata)
  }

  private readerOf(metadata: TopicMetadata): LogReader {
    return new LogReader(this.cluster, metadata, this.options.clientId ?? `${this.topic}-follower`)
  }

  private timestamp(): bigint {
    return BigInt((this.options.now ?? Date.now)())
  }

  private async metadata(): Promise<TopicMetadata | undefined> {
    for (let attempts = 0; ; attempts++) {
      const metadata = (await this.cluster.topics([this.topic])).get(this.topic)
      if (metadata === undefined || metadata.errorCode === Errors.UNKNOWN_TOPIC_OR_PARTITION) return undefined
      if (metadata.errorCode !== 0) throw kafkaError(metadata.errorCode, `topic ${this.topic}`)
      // A topic just created has no leaders for a moment.
      if (metadata.partitions.every(({ leader }) => leader >= 0) || attempts === ATTEMPTS) return metadata
      await pause(attempts)
    }
  }

  private async nextSequence(partition: number): Promise<number> {
    const topics = [{ name: this.topic, partitionIndexes: [partition] }]
    const answer = (await this.cluster.leader(this.topic, partition, DescribeProducers, { topics })).topics[0]?.partitions[0]
    if (answer === undefined) throw kafkaError(Errors.UNKNOWN_SERVER_ERROR)
    if (answer.errorCode !== 0) throw kafkaError(answer.errorCode, answer.errorMessage)
    const last = answer.activeProducers.find(({ producerId }) => producerId === PRODUCER_ID)?.lastSequence ?? -1
    return last === MAX_SEQUENCE ? 0 : last + 1
  }

  /** Sends one batch until the broker takes or refuses it. A conditional batch has a sequence, so sending it again is harmless. */
  private async produce(partition: number, batch: Buffer) {
    for (let attempts = 0; ; attempts++) {
      const topicId = (await this.metadata())?.topicId
      if (topicId === undefined) throw this.missing()
      const partitionData = [{ index: partition, records: [batch] }]
      const request = { acks: -1, timeoutMs: 10_000, topicData: [{ name: this.topic, topicId, partitionData }] }
      const answer = (await this.cluster.leader(this.topic, partition, Produce, request)).responses[0]?.partitionResponses[0]
      if (answer === undefined) throw kafkaError(Errors.UNKNOWN_SERVER_ERROR)
      if (!errorOf(answer.errorCode).retriable || attempts === ATTEMPTS) return answer
      await this.cluster.refresh([this.topic])
      await pause(attempts)
    }
  }

  private missing = () => kafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION, `topic ${this.topic} does not exist`)
}

/** Carries an error of the caller's own callback past the retry. */
class CallbackFailed extends Error {}

/** Leaders move: whatever Kafka calls retriable is tried again with fresh metadata. */
async function retrying<T>(action: () => Promise<T>): Promise<T> {
  for (let attempts = 0; ; attempts++) {
    try {
      return await action()
    } catch (error) {
      if (!(error instanceof KafkaError) || !error.retriable || attempts === ATTEMPTS) throw error
      await pause(attempts)
    }
  }
}

const encode = ({ key, value }: KeyedRecord) => ({ key: Buffer.from(key), value: value === null ? null : Buffer.from(value) })

/** Full jitter, 1 s at most. */
function pause(attempts: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, Math.random() * Math.min(1_000, 50 * 2 ** attempts))
    signal?.addEventListener('abort', done, { once: true })
  })
}

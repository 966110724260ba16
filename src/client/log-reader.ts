import { Fetch } from '../protocol/api/fetch.js'
import { ListOffsets } from '../protocol/api/list-offsets.js'
import { Errors, kafkaError } from '../protocol/errors.js'
import type { RequestOf, ResponseOf } from '../protocol/schema.js'
import { nextOffset } from '../records/batch.js'
import { type DecodedRecord, decodeRecords } from '../records/record-codec.js'
import { scanBatches } from '../records/scan.js'
import type { Cluster } from './cluster.js'
import type { TopicMetadata } from './metadata.js'

/** A record with text as key; records without a key are passed over. */
export interface LogRecord {
  readonly partition: number
  readonly offset: bigint
  readonly key: string
  /** Null is a tombstone. */
  readonly value: string | null
}

/** Whose log end is meant: what consumers may read, or all the leader has (and followers may not have yet). */
export type LogEnd = 'high watermark' | 'log end'

const PARTITION_BYTES = 16 * 1024 * 1024
const MAX_BYTES = 64 * 1024 * 1024
const LONG_POLL_MS = 5_000
const LATEST = -1n
const EARLIEST = -2n
const CONSUMER = -1
/** The replica id that a leader answers with its true log end. */
const DEBUG_REPLICA = -2

/** Reads one topic's partitions from their starts on, all partitions of a leader in one request. Remembers positions. */
export class LogReader {
  private readonly positions = new Map<number, bigint>()

  constructor(
    private readonly cluster: Cluster,
    /** As of now; leaders that move make every call throw, and need a new {@link metadata}. */
    public metadata: TopicMetadata,
    private readonly clientId: string,
  ) {}

  /** Reads to the ends the leaders have now. Throws KafkaError, ConnectionError; REQUEST_TIMED_OUT after `timeoutMs`. */
  async read(partitions: readonly number[], until: LogEnd, timeoutMs: number): Promise<LogRecord[]> {
    const deadline = Date.now() + timeoutMs
    const replicaId = until === 'log end' ? DEBUG_REPLICA : CONSUMER
    const perLeader = [...this.byLeader(partitions)].map(async ([brokerId, led]) => {
      const send = (request: RequestOf<typeof Fetch>) => this.cluster.broker(brokerId, Fetch, request)
      // Most logs are read by their first fetch; asking for the ends at the same time saves a round trip.
      const [ends, first] = await Promise.all([this.offsets(brokerId, led, LATEST, replicaId), this.fetch(brokerId, led, send, 0)])
      const found = [first]
      for (;;) {
        const behind = led.filter((partition) => this.position(partition) < (ends.get(partition) ?? 0n))
        if (behind.length === 0) return found.flat()
        if (Date.now() > deadline) throw kafkaError(Errors.REQUEST_TIMED_OUT, `topic ${this.metadata.name} could not be read to its end`)
        found.push(await this.fetch(brokerId, behind, send, 100))
      }
    })
    return (await Promise.all(perLeader)).flat()
  }

  /** Long-polls every leader, each on a connection of its own. Ends only by throwing or when `signal` is aborted. */
  async poll(deliver: (records: LogRecord[]) => void, signal: AbortSignal): Promise<void> {
    const partitions = this.metadata.partitions.map(({ partition }) => partition)
    const stop = new AbortController()
    const either = AbortSignal.any([signal, stop.signal])
    const polls = [...this.byLeader(partitions)].map(([brokerId, led]) => this.pollLeader(brokerId, led, deliver, either))
    try {
      await Promise.all(polls)
    } finally {
      stop.abort()
      await Promise.allSettled(polls)
    }
  }

  /** The one record at `offset`, or undefined if it isn't there. */
  async recordAt(partition: number, offset: bigint): Promise<DecodedRecord | undefined> {
    const response = await this.cluster.leader(this.metadata.name, partition, Fetch, this.fetchRequest([{ partition, offset }], 1_000))
    const answer = response.responses[0]?.partitions[0]
    const errorCode = response.errorCode || (answer?.errorCode ?? 0)
    if (errorCode !== 0) throw kafkaError(errorCode)
    for (const batch of scanBatches(answer?.records ?? Buffer.alloc(0))) {
      for (const record of decodeRecords(batch)) if (record.offset === offset) return record
    }
    return undefined
  }

  private async pollLeader(
    brokerId: number,
    partitions: readonly number[],
    deliver: (records: LogRecord[]) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const connection = await this.cluster.dedicated(brokerId, { clientId: this.clientId })
    const close = () => void connection.close()
    signal.addEventListener('abort', close, { once: true })
    try {
      while (!signal.aborted) {
        const records = await this.fetch(brokerId, partitions, (request) => connection.send(Fetch, request), LONG_POLL_MS)
        if (records.length > 0 && !signal.aborted) deliver(records)
      }
    } finally {
      signal.removeEventListener('abort', close)
      await connection.close()
    }
  }

  private async fetch(
    brokerId: number,
    partitions: readonly number[],
    send: (request: RequestOf<typeof Fetch>) => Promise<ResponseOf<typeof Fetch>>,
    maxWaitMs: number,
  ): Promise<LogRecord[]> {
    const positions = partitions.map((partition) => ({ partition, offset: this.position(partition) }))
    const response = await send(this.fetchRequest(positions, maxWaitMs))
    if (response.errorCode !== 0) throw kafkaError(response.errorCode)
    const answers = response.responses.flatMap((topic) => topic.partitions)
    const outside = answers.filter(({ errorCode }) => errorCode === Errors.OFFSET_OUT_OF_RANGE).map(({ partitionIndex }) => partitionIndex)
    if (outside.length > 0) {
      for (const [partition, start] of await this.offsets(brokerId, outside, EARLIEST, CONSUMER)) this.positions.set(partition, start)
    }
    return answers.flatMap(({ partitionIndex, errorCode, records }) => {
      if (errorCode === Errors.OFFSET_OUT_OF_RANGE) return []
      if (errorCode !== 0) throw this.partitionError(errorCode, partitionIndex)
      return this.decode(partitionIndex, records)
    })
  }

  private fetchRequest(positions: readonly { partition: number; offset: bigint }[], maxWaitMs: number): RequestOf<typeof Fetch> {
    const { name, topicId } = this.metadata
    const partitions = positions.map(({ partition, offset }) => ({ partition, fetchOffset: offset, partitionMaxBytes: PARTITION_BYTES }))
    return { maxWaitMs, minBytes: 1, maxBytes: MAX_BYTES, topics: [{ topic: name, topicId, partitions }] }
  }

  private decode(partition: number, bytes: Buffer): LogRecord[] {
    const records: LogRecord[] = []
    for (const batch of scanBatches(bytes)) {
      const position = this.position(partition)
      for (const { offset, key, value } of decodeRecords(batch)) {
        if (offset < position || key === null) continue
        records.push({ partition, offset, key: key.toString('utf8'), value: value === null ? null : value.toString('utf8') })
      }
      const next = nextOffset(batch.header)
      if (next > position) this.positions.set(partition, next)
    }
    return records
  }

  /** The ends that consumers may read to, as the leaders have them now. Throws KafkaError, ConnectionError. */
  async ends(partitions: readonly number[]): Promise<Map<number, bigint>> {
    const perLeader = [...this.byLeader(partitions)].map(([brokerId, led]) => this.offsets(brokerId, led, LATEST, CONSUMER))
    return new Map((await Promise.all(perLeader)).flatMap((ends) => [...ends]))
  }

  /** The offset of the next record to be read. */
  position(partition: number): bigint {
    return this.positions.get(partition) ?? 0n
  }

  private async offsets(
    brokerId: number,
    partitions: readonly number[],
    timestamp: bigint,
    replicaId: number,
  ): Promise<Map<number, bigint>> {
    const epochs = new Map(this.metadata.partitions.map(({ partition, leaderEpoch }) => [partition, leaderEpoch]))
    // With its epoch a broker that no longer leads refuses, also where it would answer a debug replica.
    const asked = partitions.map((partitionIndex) => ({
      partitionIndex,
      currentLeaderEpoch: epochs.get(partitionIndex) ?? -1,
      timestamp,
    }))
    const response = await this.cluster.broker(brokerId, ListOffsets, {
      replicaId,
      topics: [{ name: this.metadata.name, partitions: asked }],
    })
    const answers = response.topics.flatMap((topic) => topic.partitions)
    return new Map(
      answers.map(({ partitionIndex, errorCode, offset }) => {
        if (errorCode !== 0) throw this.partitionError(errorCode, partitionIndex)
        return [partitionIndex, offset]
      }),
    )
  }

  private byLeader(partitions: readonly number[]): Map<number, number[]> {
    const wanted = new Set(partitions)
    const leaders = new Map<number, number[]>()
    for (const { partition, leader } of this.metadata.partitions) {
      if (!wanted.has(partition)) continue
      if (leader < 0) throw this.partitionError(Errors.LEADER_NOT_AVAILABLE, partition)
      const led = leaders.get(leader)
      if (led === undefined) leaders.set(leader, [partition])
      else led.push(partition)
    }
    return leaders
  }

  private partitionError(code: number, partition: number) {
    return kafkaError(code, `partition ${partition} of topic ${this.metadata.name}`)
  }
}

import type { KafkaWorker } from './kafka-worker.js'

/** How Kafka's own clients reach a cluster. */
export interface ClusterAccess {
  /** `host:port`. */
  readonly bootstrap: string
  /** Java client settings: security and the like. */
  readonly properties?: Readonly<Record<string, string>>
}

/** The part of a request that says where to go; what else the object carries stays here. */
export function accessOf(cluster: ClusterAccess): { bootstrap: string; properties?: Readonly<Record<string, string>> } {
  return { bootstrap: cluster.bootstrap, properties: cluster.properties }
}

/** One record as Kafka's consumer saw it. Keys, values and header values: `-` is null, `x…` bytes in hex, `h<length>:<sha>` a digest. */
export interface ReadRecord {
  readonly offset: bigint
  readonly timestamp: bigint
  readonly timestampType: string
  readonly key: string
  readonly value: string
  /** `key=value` pairs in order, keys in hex too. */
  readonly headers: string
}

export interface ReadPartition {
  readonly partition: number
  readonly beginningOffset: bigint
  /** High watermark, or the last stable offset when read_committed. */
  readonly endOffset: bigint
  readonly count: number
  /** −1 when there is no record. */
  readonly firstOffset: bigint
  readonly lastOffset: bigint
  /** Over offset, timestamp, key, value and headers of all records in order. */
  readonly sha256: string
  /** Empty when only digests were asked for. */
  readonly records: ReadRecord[]
}

export interface ReadOptions {
  readonly topic: string
  readonly isolation?: 'read_uncommitted' | 'read_committed'
  /** hex: all bytes (default); hash: long ones as digests; none: no records, only the partitions' digests. */
  readonly content?: 'hex' | 'hash' | 'none'
  readonly partition?: number
  readonly from?: number
  readonly timeoutMs?: number
}

type Bounds = Record<'beginningOffset' | 'endOffset' | 'firstOffset' | 'lastOffset' | 'sha256', string> & {
  partition: number
  count: number
}

/** Reads a topic with Kafka's own consumer, up to the log end at the start of the reading. */
export async function readLog(worker: KafkaWorker, cluster: ClusterAccess, options: ReadOptions): Promise<ReadPartition[]> {
  const records = new Map<number, ReadRecord[]>()
  const result = await worker.request<Bounds[]>('read', { ...accessOf(cluster), ...options }, (line) => {
    const [partition, offset, timestamp, timestampType, key, value, headers] = line.split('\t') as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ]
    const list = records.get(Number(partition)) ?? []
    if (list.length === 0) records.set(Number(partition), list)
    list.push({ offset: BigInt(offset), timestamp: BigInt(timestamp), timestampType, key, value, headers })
  })
  return result.map((bounds) => ({
    ...bounds,
    beginningOffset: BigInt(bounds.beginningOffset),
    endOffset: BigInt(bounds.endOffset),
    firstOffset: BigInt(bounds.firstOffset),
    lastOffset: BigInt(bounds.lastOffset),
    records: records.get(bounds.partition) ?? [],
  }))
}

/**
 * Compares two clusters' logs of a topic: same partitions, and the same records at the same offsets with the same
 * timestamps, keys, values and headers. Control records are seen by neither consumer.
 *
 * @returns sentences about the first differences; none when the logs are equal.
 */
export async function logDifferences(worker: KafkaWorker, a: ClusterAccess, b: ClusterAccess, options: ReadOptions): Promise<string[]> {
  const digests = { ...options, content: 'none' as const }
  const [left, right] = await Promise.all([readLog(worker, a, digests), readLog(worker, b, digests)])
  const differences: string[] = []
  if (left.length !== right.length) differences.push(`${left.length} partitions against ${right.length}`)
  for (const ours of left) {
    const theirs = right.find((other) => other.partition === ours.partition)
    if (!theirs || (theirs.sha256 === ours.sha256 && theirs.count === ours.count)) continue
    const one = { ...options, partition: ours.partition, content: 'hash' as const }
    const [first, second] = await Promise.all([readLog(worker, a, one), readLog(worker, b, one)])
    differences.push(...recordDifferences(ours.partition, first[0]?.records ?? [], second[0]?.records ?? []))
  }
  return differences
}

/** The first differences between two lists of records that should be equal (the timestamp type is left out). */
export function recordDifferences(partition: number, left: readonly ReadRecord[], right: readonly ReadRecord[], most = 5): string[] {
  const differences: string[] = []
  const text = (record: ReadRecord | undefined) =>
    record ? `${record.offset} ${record.timestamp} ${record.key} ${record.value} ${record.headers}` : 'nothing'
  for (let index = 0; index < Math.max(left.length, right.length) && differences.length < most; index++) {
    const [ours, theirs] = [text(left[index]), text(right[index])]
    if (ours !== theirs) differences.push(`partition ${partition}, record ${index}: ${ours.slice(0, 300)} against ${theirs.slice(0, 300)}`)
  }
  return differences
}

export interface WriteOptions {
  readonly topic: string
  /** How many; record i goes to partition i modulo `partitions`. */
  readonly records?: number
  readonly partitions?: number
  readonly codec?: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'
  /** varied: null, empty and ordinary keys, values and headers (default); plain: random values alone; json: compressible text. */
  readonly style?: 'varied' | 'plain' | 'json'
  readonly valueBytes?: number
  readonly seed?: number
  /** Milliseconds of the first record, `timestampStep` more for each following one. Default: the time of writing. */
  readonly timestamp?: number
  readonly timestampStep?: number
  /** Writes within the transaction begun with this id. */
  readonly transactionalId?: string
}

export interface Written {
  readonly count: number
  readonly partitions: { partition: number; firstOffset: bigint; lastOffset: bigint }[]
}

type WrittenJson = { count: number; partitions: { partition: number; firstOffset: string; lastOffset: string }[] }

function written(result: WrittenJson): Written {
  const partitions = result.partitions.map(({ partition, firstOffset, lastOffset }) => ({
    partition,
    firstOffset: BigInt(firstOffset),
    lastOffset: BigInt(lastOffset),
  }))
  return { count: result.count, partitions }
}

/** Writes generated records with Kafka's own producer (acks=all); resolves when all are acknowledged. */
export async function writeLog(worker: KafkaWorker, cluster: ClusterAccess, options: WriteOptions): Promise<Written> {
  return written(await worker.request<WrittenJson>('write', { ...accessOf(cluster), ...options }))
}

/** A record spelled out, with bytes in hex. */
export interface SpelledRecord {
  readonly partition?: number
  readonly timestamp?: number
  readonly key: string | null
  readonly value: string | null
  readonly headers?: readonly (readonly [string, string | null])[]
}

/** Writes exactly these records. */
export async function writeRecords(
  worker: KafkaWorker,
  cluster: ClusterAccess,
  options: { readonly topic: string; readonly list: readonly SpelledRecord[]; readonly codec?: string; readonly transactionalId?: string },
): Promise<Written> {
  const list = options.list.map((record) => ({ ...record }))
  return written(await worker.request<WrittenJson>('writeRecords', { ...accessOf(cluster), ...options, list }))
}

/** Begins a transaction of this id (its producer lives in the worker); write with `transactionalId`, then end it. */
export async function beginTransaction(worker: KafkaWorker, cluster: ClusterAccess, transactionalId: string): Promise<void> {
  await worker.request('begin', { ...accessOf(cluster), transactionalId })
}

/** abandon leaves the transaction open on the broker until it times out (`transaction.timeout.ms` of the producer's properties). */
export async function endTransaction(worker: KafkaWorker, transactionalId: string, outcome: 'commit' | 'abort' | 'abandon'): Promise<void> {
  await worker.request('end', { transactionalId, outcome })
}

/** Writes many transactions of `records` records each; every `abortEvery`th is aborted. */
export async function writeTransactions(
  worker: KafkaWorker,
  cluster: ClusterAccess,
  options: WriteOptions & { readonly transactionalId: string; readonly transactions: number; readonly abortEvery?: number },
): Promise<Written> {
  return written(await worker.request<WrittenJson>('transactions', { ...accessOf(cluster), ...options }))
}

export interface SteadyWriter {
  /** Acknowledged records so far, when events were asked for. */
  readonly acknowledged: readonly { readonly partition: number; readonly offset: bigint; readonly counter: number }[]
  stop(): Promise<{ sent: number; acknowledged: number; failed: number }>
}

/** Writes at a steady rate until stopped, riding out broker restarts; resolves once it writes. */
export async function writeSteadily(
  worker: KafkaWorker,
  cluster: ClusterAccess,
  options: WriteOptions & { readonly recordsPerSecond: number; readonly events?: boolean },
): Promise<SteadyWriter> {
  const acknowledged: { partition: number; offset: bigint; counter: number }[] = []
  return new Promise((resolve, reject) => {
    const running = worker.start('rate', { ...accessOf(cluster), ...options }, (line) => {
      const [partition, offset, counter] = line.split('\t')
      if (partition === 'started') resolve({ acknowledged, stop })
      else acknowledged.push({ partition: Number(partition), offset: BigInt(offset!), counter: Number(counter) })
    })
    // A failure after the start is told by stop.
    running.result.catch(reject)
    const stop = async () => {
      await worker.request('stop', { of: running.id })
      return running.result as Promise<{ sent: number; acknowledged: number; failed: number }>
    }
  })
}

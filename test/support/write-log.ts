import { accessOf, type ClusterAccess } from './cluster-access.js'
import type { KafkaWorker } from './kafka-worker.js'

export interface WriteOptions {
  readonly topic: string
  /** How many; record i goes to partition i modulo `partitions`. */
  readonly records?: number
  readonly partitions?: number
  /** The first of them; default 0. */
  readonly partition?: number
  readonly codec?: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'
  /**
   * varied: null, empty and ordinary keys, values and headers (default); keyed: the same with `keys` different keys, none null, for
   * compacted topics; plain: random values alone; json: compressible text.
   */
  readonly style?: 'varied' | 'keyed' | 'plain' | 'json'
  /** Default 50. */
  readonly keys?: number
  /** false leaves them out, as old message formats must. */
  readonly headers?: boolean
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

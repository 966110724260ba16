import { accessOf, type ClusterAccess } from './cluster-access.js'
import type { KafkaWorker } from './kafka-worker.js'

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

const text = (record: ReadRecord | undefined) =>
  record ? `${record.offset} ${record.timestamp} ${record.key} ${record.value} ${record.headers}` : 'nothing'

/** As {@link recordDifferences}, where a record that one side alone has is no difference if either has a later one of its key. */
export function compactedDifferences(partition: number, left: readonly ReadRecord[], right: readonly ReadRecord[], most = 5): string[] {
  const [ours, theirs] = [left, right].map((records) => new Map(records.map((record) => [record.offset, record]))) as [
    Map<bigint, ReadRecord>,
    Map<bigint, ReadRecord>,
  ]
  const last = new Map<string, bigint>()
  for (const { key, offset } of [...left, ...right]) if (offset > (last.get(key) ?? -1n)) last.set(key, offset)
  const differences: string[] = []
  for (const { key, offset } of [...left, ...right.filter((record) => !ours.has(record.offset))]) {
    const [here, there] = [ours.get(offset), theirs.get(offset)]
    const superseded = key !== '-' && last.get(key)! > offset
    if (text(here) === text(there) || ((here === undefined || there === undefined) && superseded)) continue
    differences.push(`partition ${partition}: ${text(here).slice(0, 300)} against ${text(there).slice(0, 300)}`)
    if (differences.length === most) break
  }
  return differences
}

/** The first differences between two lists of records that should be equal (the timestamp type is left out). */
export function recordDifferences(partition: number, left: readonly ReadRecord[], right: readonly ReadRecord[], most = 5): string[] {
  const differences: string[] = []
  for (let index = 0; index < Math.max(left.length, right.length) && differences.length < most; index++) {
    const [ours, theirs] = [text(left[index]), text(right[index])]
    if (ours !== theirs) differences.push(`partition ${partition}, record ${index}: ${ours.slice(0, 300)} against ${theirs.slice(0, 300)}`)
  }
  return differences
}

import { createHash, type Hash } from 'node:crypto'
import type { Cluster } from '../client/cluster.js'
import { type FetchedFrom, fetchPartition } from '../client/fetch-partition.js'
import { policiesIn } from '../mirror/held.js'
import { AbortedRanges, type Batch, CorruptBatchError, isControl, lastOffset, nextOffset, scanBatches } from '../records/index.js'
import { type OpenRecord, openRecords } from '../records/open-records.js'
import { RecordReader } from '../records/varint.js'
import { PartitionFailure } from './errors.js'

/** Partitions that are compared at once: each has a fetched set of either side in memory. */
export const COMPARED_AT_ONCE = 8

export interface TailComparison {
  /** How far back from the destination's end the logs are compared. */
  readonly offsets: bigint
  /** Most bytes of one fetch. */
  readonly maxBytes: number
  /**
   * When a record may be missing on one side: `never`, where the same log is expected; `superseded`, where a side may have been
   * compacted by itself: the destination lacks only what a later record of the key replaced, keyless records and tombstones, while what
   * replaced a record on the source may come later than is compared; or `always`.
   */
  readonly missing: 'never' | 'superseded' | 'always'
}

/** For data that somebody else put there. */
const UNKNOWN_TAIL: TailComparison = { offsets: 1_000n, maxBytes: 1 << 20, missing: 'never' }
/** For data that is ours unless something else wrote too: whatever follows a foreign record is shifted, so few will do. */
export const OWN_TAIL: TailComparison = { offsets: 100n, maxBytes: 256 << 10, missing: 'always' }

/** How to compare data that somebody else put there, under these `cleanup.policy` of either side, now or formerly. */
export const unknownTail = (...policies: readonly (string | null | undefined)[]): TailComparison =>
  policies.some((policy) => policiesIn(policy).includes('compact')) ? { ...UNKNOWN_TAIL, missing: 'superseded' } : UNKNOWN_TAIL

/**
 * Compares the last records of the destination with the source's at the same offsets, before data that this mirror did
 * not copy is trusted. An offset where the source shows consumers nothing must show nothing on the destination either.
 *
 * @throws PartitionFailure naming the first offset that differs, or one that can't be read; KafkaError.
 */
export async function compareTails(
  source: Cluster,
  destination: Cluster,
  topic: string,
  partition: number,
  ids: { readonly source: string; readonly destination: string },
  from: bigint,
  end: bigint,
  how: TailComparison,
): Promise<void> {
  const start = end - from > how.offsets ? end - how.offsets : from
  const [there, here] = await Promise.all([
    contents(source, { topic, topicId: ids.source, partition }, start, end, how.maxBytes).catch(unreadable('source')),
    contents(destination, { topic, topicId: ids.destination, partition }, start, end, how.maxBytes).catch(unreadable('destination')),
  ])
  const excused = how.missing === 'superseded' ? supersededIn(there, here) : () => how.missing === 'always'
  for (const offset of [...new Set([...there.keys(), ...here.keys()])].sort((a, b) => (a < b ? -1 : 1))) {
    const [theirs, ours] = [there.get(offset), here.get(offset)]
    if (theirs?.digest === ours?.digest) continue
    if (theirs === undefined && (ours === INVISIBLE || how.missing !== 'never')) continue
    if (ours === undefined && theirs !== undefined && (theirs === INVISIBLE || excused(offset, theirs))) continue
    throw new PartitionFailure(
      ours === undefined || ours === INVISIBLE
        ? `${topic}-${partition}: the source has a record at offset ${offset}, the destination has none`
        : `${topic}-${partition}: the destination's record at offset ${offset} is not the source's: the topic holds data that was not mirrored from there`,
    )
  }
}

/** Bytes that can't be read today can't be read tomorrow. */
const unreadable = (side: string) => (error: unknown) => {
  throw error instanceof CorruptBatchError ? new PartitionFailure(`the ${side}'s log can't be compared: ${error.message}`) : error
}

/** What is left of a record: a log's last records can be large, and are held for many partitions at once. */
interface Content {
  /** Equal for equal timestamp, key, value and headers. */
  readonly digest: string
  /** Equal for equal keys; undefined without one. */
  readonly key: string | undefined
  readonly tombstone: boolean
}

type Contents = ReadonlyMap<bigint, Content>

/** What a control or an aborted record is on either side. A hole is nothing at all. */
const INVISIBLE: Content = { digest: 'invisible', key: undefined, tombstone: false }

/** Whether a cleaner may have taken this record: whatever supersedes it lies before the end of the log that lacks it. */
function supersededIn(...sides: readonly Contents[]): (offset: bigint, record: Content) => boolean {
  const latest = new Map<string, bigint>()
  for (const side of sides)
    for (const [offset, { key }] of side) if (key !== undefined && offset > (latest.get(key) ?? -1n)) latest.set(key, offset)
  return (offset, { key, tombstone }) => key === undefined || tombstone || latest.get(key)! > offset
}

/** offset → the record there, and {@link INVISIBLE} for offsets that are taken and show consumers nothing. */
async function contents(cluster: Cluster, log: FetchedFrom, from: bigint, end: bigint, maxBytes: number): Promise<Contents> {
  const seen = new Map<bigint, Content>()
  for (let position = from; position < end; ) {
    const answer = await fetchPartition(cluster, log, position, { committedOnly: true, maxBytes, maxWaitMs: 100 })
    let next = position
    const aborted = new AbortedRanges(answer.abortedTransactions ?? [])
    for (const batch of scanBatches(answer.records)) {
      next = nextOffset(batch.header)
      for (const [offset, content] of aborted.covers(batch) || isControl(batch.header) ? invisible(batch, from, end) : visible(batch))
        if (offset >= from && offset < end) seen.set(offset, content)
    }
    if (next === position) break
    position = next
  }
  return seen
}

/** Never opened, as copying does not open it either: what shows consumers nothing may hold anything. */
function* invisible({ header }: Batch, from: bigint, end: bigint): Generator<[bigint, Content]> {
  const last = lastOffset(header)
  for (let offset = header.baseOffset < from ? from : header.baseOffset; offset <= last && offset < end; offset++) yield [offset, INVISIBLE]
}

function* visible(batch: Batch): Generator<[bigint, Content]> {
  for (const record of openRecords(batch)) {
    try {
      yield [record.offset, contentOf(record)]
    } catch (error) {
      throw error instanceof RangeError ? new CorruptBatchError(batch.header.baseOffset, error.message) : error
    }
  }
}

/** Each part is told with its length, so that no two records are told alike. */
function contentOf({ timestamp, content }: OpenRecord): Content {
  const reader = new RecordReader(content)
  const [key, value] = [reader.view(reader.varint()), reader.view(reader.varint())]
  const hash = createHash('sha256').update(int64(timestamp))
  tell(hash, key)
  tell(hash, value)
  const headers = reader.varint()
  hash.update(int64(BigInt(headers)))
  for (let left = headers * 2; left > 0; left--) tell(hash, reader.view(reader.varint()))
  if (reader.position !== content.length) throw new RangeError('a record is not as long as it says')
  const keyDigest = key === null ? undefined : createHash('sha256').update(key).digest('base64')
  return { digest: hash.digest('base64'), key: keyDigest, tombstone: value === null }
}

function tell(hash: Hash, part: Buffer | null): void {
  hash.update(int64(part === null ? -1n : BigInt(part.length)))
  if (part !== null) hash.update(part)
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}

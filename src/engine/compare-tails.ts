import type { Cluster } from '../client/cluster.js'
import { Fetch } from '../protocol/api/fetch.js'
import { kafkaError } from '../protocol/errors.js'
import { AbortedRanges, CorruptBatchError, isControl, nextOffset, scanBatches } from '../records/index.js'
import { type DecodedRecord, decodeRecords } from '../records/record-codec.js'
import { PartitionFailure } from './errors.js'

export interface TailComparison {
  /** How far back from the destination's end the logs are compared. */
  readonly offsets: bigint
  /** Most bytes of one fetch. */
  readonly maxBytes: number
  /** Whether a record that only one side has is a difference. It is not where each side may have been compacted by itself. */
  readonly strict: boolean
}

/** For data that somebody else put there. */
export const UNKNOWN_TAIL: TailComparison = { offsets: 1_000n, maxBytes: 8 << 20, strict: true }
/** For data that is ours unless something else wrote too: whatever follows a foreign record is shifted, so few will do. */
export const OWN_TAIL: TailComparison = { offsets: 100n, maxBytes: 256 << 10, strict: false }

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
  how: TailComparison = UNKNOWN_TAIL,
): Promise<void> {
  const start = end - from > how.offsets ? end - how.offsets : from
  const [there, here] = await Promise.all([
    contents(source, topic, ids.source, partition, start, end, how.maxBytes).catch(unreadable('source')),
    contents(destination, topic, ids.destination, partition, start, end, how.maxBytes).catch(unreadable('destination')),
  ])
  for (const offset of [...new Set([...there.keys(), ...here.keys()])].sort((a, b) => (a < b ? -1 : 1))) {
    const [theirs, ours] = [there.get(offset), here.get(offset)]
    if (theirs === ours) continue
    const oneSided = theirs === undefined || ours === undefined
    if (oneSided && (!how.strict || (theirs ?? ours) === INVISIBLE)) continue
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

/** What a control or an aborted record is on either side. A hole is nothing at all. */
const INVISIBLE = 'invisible'

/** offset → a text that is equal for equal records, and for offsets that are taken and show consumers nothing. */
async function contents(
  cluster: Cluster,
  topic: string,
  topicId: string,
  partition: number,
  from: bigint,
  end: bigint,
  maxBytes: number,
): Promise<Map<bigint, string>> {
  const seen = new Map<bigint, string>()
  for (let position = from; position < end; ) {
    const response = await cluster.leader(topic, partition, Fetch, {
      maxWaitMs: 100,
      minBytes: 1,
      maxBytes,
      isolationLevel: 1,
      topics: [{ topic, topicId, partitions: [{ partition, fetchOffset: position, partitionMaxBytes: maxBytes }] }],
    })
    const answer = response.responses[0]?.partitions[0]
    if (answer === undefined) throw new Error(`the Fetch answer lacks ${topic}-${partition}`)
    if (answer.errorCode !== 0) throw kafkaError(answer.errorCode)
    let next = position
    const aborted = new AbortedRanges(answer.abortedTransactions ?? [])
    for (const batch of scanBatches(answer.records)) {
      next = nextOffset(batch.header)
      const invisible = aborted.covers(batch) || isControl(batch.header)
      for (const record of decodeRecords(batch)) {
        if (record.offset >= from && record.offset < end) seen.set(record.offset, invisible ? INVISIBLE : contentOf(record))
      }
    }
    if (next === position) break
    position = next
  }
  return seen
}

const contentOf = ({ timestamp, key, value, headers }: DecodedRecord): string =>
  JSON.stringify([String(timestamp), text(key), text(value), headers.map(([name, bytes]) => [name, text(bytes)])])

const text = (bytes: Buffer | null) => bytes?.toString('base64') ?? null

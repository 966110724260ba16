import type { Cluster } from '../../client/cluster.js'
import { type FetchedFrom, fetchPartition } from '../../client/fetch-partition.js'
import { failure } from '../../mirror/errors.js'
import { AbortedRanges, type Batch, type Compression, compressionOf, isControl, nextOffset, scanBatches } from '../../records/index.js'
import { type OpenRecord, openRecords } from '../../records/open-records.js'

const COMMITTED = { committedOnly: true, maxBytes: 4 << 20, maxWaitMs: 500 }
/** Without a step forward for this long there is an open transaction in the way. */
const PATIENCE_MS = 10_000

/** One partition's log on one cluster. */
export interface PartitionLog extends FetchedFrom {
  readonly cluster: Cluster
}

/** One batch as far as it was asked for. */
export interface LoggedBatch {
  readonly records: readonly OpenRecord[]
  /** Whether consumers see nothing of it: it is aborted, or a control batch. */
  readonly isHidden: boolean
  readonly compression: Compression
}

/** What consumers see of {@link loggedBatches}: committed records, control records left out. */
export async function* visibleBatches(log: PartitionLog, from: bigint, end: bigint): AsyncGenerator<LoggedBatch, void, undefined> {
  for await (const batch of loggedBatches(log, from, end)) if (!batch.isHidden) yield batch
}

/**
 * What a log holds from `from` up to before `end`, batch by batch: aborted records and control records too, marked as hidden.
 * The records are views of what was fetched. Throws KafkaError, ConnectionError, CorruptBatchError; MirrorError when a
 * transaction that is still open lies before `end`.
 */
export async function* loggedBatches(log: PartitionLog, from: bigint, end: bigint): AsyncGenerator<LoggedBatch, void, undefined> {
  let steppedAt = Date.now()
  for (let position = from; position < end; ) {
    const { records, abortedTransactions } = await fetchPartition(log.cluster, log, position, COMMITTED)
    const aborted = new AbortedRanges(abortedTransactions ?? [])
    let next = position
    for (const batch of scanBatches(records)) {
      const isHidden = aborted.covers(batch) || isControl(batch.header)
      if (nextOffset(batch.header) > next) next = nextOffset(batch.header)
      const records = within(batch, from, end)
      if (records.length > 0) yield { records, isHidden, compression: compressionOf(batch.header) }
    }
    if (next > position) steppedAt = Date.now()
    else if (Date.now() - steppedAt > PATIENCE_MS) throw stuck(log, position)
    position = next
  }
}

const within = (batch: Batch, from: bigint, end: bigint): OpenRecord[] =>
  [...openRecords(batch)].filter(({ offset }) => offset >= from && offset < end)

const stuck = ({ topic, partition }: PartitionLog, position: bigint) =>
  failure(
    'TIMEOUT',
    `${topic}-${partition} cannot be read beyond offset ${position}: a transaction is open there`,
    'Try again once it is over, or was given up by its coordinator.',
  )

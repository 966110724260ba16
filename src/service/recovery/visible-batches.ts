import type { Cluster } from '../../client/cluster.js'
import { failure } from '../../mirror/errors.js'
import { Fetch } from '../../protocol/api/fetch.js'
import { kafkaError } from '../../protocol/errors.js'
import { AbortedRanges, type Batch, type Compression, compressionOf, isControl, nextOffset, scanBatches } from '../../records/index.js'
import { type OpenRecord, openRecords } from '../../records/open-records.js'

const READ_COMMITTED = 1
const FETCH_BYTES = 4 << 20
const FETCH_WAIT_MS = 500
/** Without a step forward for this long there is an open transaction in the way. */
const PATIENCE_MS = 10_000

/** One partition's log on one cluster. */
export interface PartitionLog {
  readonly cluster: Cluster
  readonly topic: string
  /** All zeros where the cluster has none. */
  readonly topicId: string
  readonly partition: number
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
    const { records, abortedTransactions } = await fetch(log, position)
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

async function fetch({ cluster, topic, topicId, partition }: PartitionLog, position: bigint) {
  const response = await cluster.leader(topic, partition, Fetch, {
    maxWaitMs: FETCH_WAIT_MS,
    minBytes: 1,
    maxBytes: FETCH_BYTES,
    isolationLevel: READ_COMMITTED,
    topics: [{ topic, topicId, partitions: [{ partition, fetchOffset: position, partitionMaxBytes: FETCH_BYTES }] }],
  })
  if (response.errorCode !== 0) throw kafkaError(response.errorCode)
  const answer = response.responses[0]?.partitions[0]
  if (answer === undefined) throw new Error(`the Fetch answer lacks ${topic}-${partition}`)
  if (answer.errorCode !== 0) throw kafkaError(answer.errorCode, `${topic}-${partition} at offset ${position}`)
  return answer
}

const within = (batch: Batch, from: bigint, end: bigint): OpenRecord[] =>
  [...openRecords(batch)].filter(({ offset }) => offset >= from && offset < end)

const stuck = ({ topic, partition }: PartitionLog, position: bigint) =>
  failure(
    'TIMEOUT',
    `${topic}-${partition} cannot be read beyond offset ${position}: a transaction is open there`,
    'Try again once it is over, or was given up by its coordinator.',
  )

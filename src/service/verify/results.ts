import type { MirrorError } from '../../mirror/errors.js'
import { most } from '../../mirror/offsets.js'
import type { PartitionBounds } from './bounds.js'
import type { ComparedPartition } from './log-starts.js'
import type { PartitionVerifier } from './partition-verifier.js'
import type { VerifiedPartition } from './types.js'

/** What became of a partition that could be compared, up to where an error ended it. */
export function verifiedPartition(
  { job, range, book, pair }: ComparedPartition,
  verifier: PartitionVerifier,
  error: MirrorError | undefined,
): VerifiedPartition {
  const from = most(verifier.floor, range.from)
  return {
    topic: job.topic,
    partition: job.partition,
    result: book.count > 0 ? 'different' : error === undefined ? 'equal' : 'failed',
    from,
    to: most(range.to, from),
    offsets: BigInt(verifier.offsets),
    records: BigInt(verifier.records),
    bytes: BigInt(verifier.bytes),
    ...endsOf(job.bounds),
    lag: pair.removed ? undefined : lagOf(job.bounds),
    superseded: BigInt(job.compaction?.keys.superseded ?? 0),
    lost: job.lost,
    differenceCount: BigInt(book.count),
    differences: book.kept,
    error,
  }
}

/** A partition of which nothing could be compared. */
export function failedPartition(topic: string, partition: number, error: MirrorError): VerifiedPartition {
  return {
    topic,
    partition,
    result: 'failed',
    from: undefined,
    to: undefined,
    offsets: 0n,
    records: 0n,
    bytes: 0n,
    sourceStart: undefined,
    destinationStart: undefined,
    sourceEnd: undefined,
    destinationEnd: undefined,
    lag: undefined,
    superseded: 0n,
    lost: [],
    differenceCount: 0n,
    differences: [],
    error,
  }
}

const endsOf = ({ sourceStart, destinationStart, sourceEnd, destinationEnd }: PartitionBounds) => ({
  sourceStart,
  destinationStart,
  sourceEnd,
  destinationEnd,
})

const lagOf = ({ sourceEnd, destinationEnd }: PartitionBounds) => (sourceEnd > destinationEnd ? sourceEnd - destinationEnd : 0n)

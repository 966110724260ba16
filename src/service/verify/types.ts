import type { MirrorError } from '../../mirror/errors.js'
import type { RecordField } from './record-content.js'

export type { RecordField }

export interface VerifyMirrorOptions {
  /** Names or whole-name regexes; default every topic that is being mirrored. A removed topic is compared only when its name is given. */
  readonly topics?: readonly string[]
  /** The first offset to compare, of every partition. */
  readonly from?: bigint
  /** The first offset not to compare any more. */
  readonly to?: bigint
  /** Compare this many stretches of each partition, chosen by chance, and both its ends, instead of everything. */
  readonly sample?: number
  /** Repeats the choice of an earlier sample; default by chance. */
  readonly seed?: number
  /** Most differences of one partition that are kept and told; default 10. All are counted. */
  readonly maxDifferences?: number
  /** Most bytes of fetched records in memory; default 64 MiB. */
  readonly bufferBytes?: number
  /** Told as soon as a difference is found. */
  readonly onDifference?: (difference: LogDifference) => void
  /** Told often; do little. */
  readonly onProgress?: (progress: VerifyProgress) => void
  /** Ends it early: the call is rejected. */
  readonly signal?: AbortSignal
}

export interface VerifyProgress {
  readonly partitions: number
  readonly partitionsDone: number
  /** Offsets to compare, over all partitions. */
  readonly offsets: number
  readonly offsetsDone: number
  /** Fetched from both sides. */
  readonly bytes: number
  readonly differences: number
}

/**
 * `record`: the same offset holds another record. `missing`: a record is on the source only. `extra`: consumers of the destination
 * see a record where the source shows them none. `transactional`: data of a transaction lies on the destination, which may be
 * aborted or left open there. `start`, `end`: the destination's log begins or ends where it must not.
 */
export type DifferenceKind = 'record' | 'missing' | 'extra' | 'transactional' | 'start' | 'end'

export interface LogDifference {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly kind: DifferenceKind
  /** What differs, of kind `record`. */
  readonly fields: readonly RecordField[]
  /** For people, without the partition and the offset. */
  readonly message: string
}

export interface VerifiedPartition {
  readonly topic: string
  readonly partition: number
  /** `failed`: it could not be compared to the end, see `error`. A difference weighs more. */
  readonly result: 'equal' | 'different' | 'failed'
  /** The compared range, `to` not included; of a sample the range it was taken from. Undefined while nothing is known. */
  readonly from: bigint | undefined
  readonly to: bigint | undefined
  /** Offsets compared: less than the range for a sample, or when it failed on the way. */
  readonly offsets: bigint
  /** Records in them, of either side. */
  readonly records: bigint
  /** Fetched from both sides. */
  readonly bytes: bigint
  readonly sourceStart: bigint | undefined
  readonly destinationStart: bigint | undefined
  /** High watermark. */
  readonly sourceEnd: bigint | undefined
  readonly destinationEnd: bigint | undefined
  /** What the source has and the destination has not yet: not a difference. Undefined for a removed topic. */
  readonly lag: bigint | undefined
  /** Records one side has compacted away already: not a difference. */
  readonly superseded: bigint
  /** Ranges, both ends included, that the source no longer had when they were to be copied: recorded, not a difference. */
  readonly lost: readonly { readonly from: bigint; readonly to: bigint }[]
  readonly differenceCount: bigint
  /** The first ones by offset, as many as were asked for. */
  readonly differences: readonly LogDifference[]
  readonly error: MirrorError | undefined
}

export interface VerifyMirrorResult {
  readonly mirror: string
  /** True if no partition differs or failed. */
  readonly equal: boolean
  /** To repeat the sample with; undefined when everything was compared. */
  readonly seed: number | undefined
  /** Sorted by topic and partition number. */
  readonly partitions: readonly VerifiedPartition[]
  readonly warnings: readonly string[]
}

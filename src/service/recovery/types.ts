import type { PartitionState } from '../../mirror/partition-states.js'
import type { TopicResult } from '../types.js'

export interface RecoverMirrorOptions {
  /** Names or whole-name regexes over the mirror's topics; default all. Partitions of topics named literally are compared even if they did not fail. */
  readonly topics?: readonly string[]
  /** Partition numbers; default all. */
  readonly partitions?: readonly number[]
  /** `record`: go on without what the source no longer has. */
  readonly onGap?: 'record'
  /** `reseed`: copy topics whose data differs from the source's again from the start. */
  readonly onDivergence?: 'reseed'
  /** With `reseed`: throw away what differs instead of keeping it in `<topic>.diverged-<time>`. */
  readonly discardDiverged?: boolean
  /** Show what is wrong and what would be done, change nothing. */
  readonly dryRun?: boolean
  /** How long to wait for runners to let go of a topic before fencing; default is their session timeout plus 5 s. */
  readonly confirmationTimeoutMs?: number
}

export interface RecoveredPartition {
  readonly mirror: string
  readonly topic: string
  readonly partition: number
  readonly state: PartitionState
  /** What its runner last said. */
  readonly error: string | undefined
  /**
   * `gap`: the source no longer has what is to be copied next; `divergence`: the destination holds something else than the source;
   * `…-recreated`, `…-missing`: the topic on that side; `unfinished`: a reseed that was interrupted; `other`: a failure that both
   * logs do not explain; `unknown`: they could not be looked at.
   */
  readonly problem:
    | 'gap'
    | 'divergence'
    | 'source-recreated'
    | 'source-missing'
    | 'destination-recreated'
    | 'destination-missing'
    | 'unfinished'
    | 'other'
    | 'unknown'
  /** First offset that is to be copied: the destination's log end. */
  readonly wanted: bigint | undefined
  /** First offset the source can give. */
  readonly available: bigint | undefined
  /** The source's high watermark. */
  readonly sourceOffset: bigint | undefined
  /** Offsets the source no longer has, both ends included. */
  readonly lost: { readonly from: bigint; readonly to: bigint } | undefined
  /** First offset at which the destination differs from the source. */
  readonly differsFrom: bigint | undefined
  /** Offsets and visible records the destination has from there on. */
  readonly divergedOffsets: bigint | undefined
  readonly divergedRecords: number | undefined
  /** False where counting was given up: there are at least so many records. */
  readonly divergedRecordsComplete: boolean
  /** What is done (or would be, with `dryRun`). */
  readonly action: 'retry' | 'record-gap' | 'reseed' | 'none'
  /** The option without which the partition stays as it is. */
  readonly needs: 'on-gap' | 'on-divergence' | undefined
  /** One sentence about both. */
  readonly explanation: string
}

export interface RecoveredTopic {
  readonly partitions: readonly RecoveredPartition[]
  /** Where what differed was kept, and how many records; undefined when nothing was, and with `dryRun`. */
  readonly kept: { readonly topic: string; readonly records: number } | undefined
}

export interface RecoverMirrorResult {
  /** Only topics with something to recover. */
  readonly topics: readonly TopicResult<RecoveredTopic>[]
  readonly warnings: readonly string[]
}

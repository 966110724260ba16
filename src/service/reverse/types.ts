import type { TextMap, TopicResult } from '../types.js'

export interface ReverseMirrorOptions {
  /** Names or whole-name regexes over the topics of the mirror there; default all. */
  readonly topics?: readonly string[] | undefined
  /** `reseed`: keep what this cluster alone has in `<topic>.diverged-<time>`, make the topic anew and copy it from the start. */
  readonly onDivergence?: 'reseed' | undefined
  /** Show what would be done, change nothing. */
  readonly dryRun?: boolean
}

/** Client properties of the cluster that copied from this one. */
export type RemoteProperties = TextMap

export interface ReversedPartition {
  readonly partition: number
  /** Where the first mirror left: both logs are the same below. Undefined for a partition it never had. */
  readonly lastMirrored: bigint | undefined
  /** Log end here; undefined if this cluster has no such partition. */
  readonly destinationOffset: bigint | undefined
  /** High watermark there. Undefined if there is no such partition there. */
  readonly sourceOffset: bigint | undefined
  /** Offsets that the source no longer has and that were never here, both ends included. */
  readonly lost: { readonly from: bigint; readonly to: bigint } | undefined
  /** First offset at which this cluster holds something else, or more, than the other. */
  readonly differsFrom: bigint | undefined
  /** Offsets and visible records this cluster has from there on. */
  readonly divergedOffsets: bigint | undefined
  readonly divergedRecords: number | undefined
  /** False where counting was given up: there are at least so many records. */
  readonly divergedRecordsComplete: boolean
}

export interface ReversedTopic {
  /**
   * `created`, `taken-over` (it is empty here) , `continued`: only what this cluster lacks is copied; `reseeded`: copied from the start;
   * `unchanged`: it is mirrored this way already; `none` (with `dryRun` only): this cluster went on alone, see `needs`.
   */
  readonly how: 'created' | 'taken-over' | 'continued' | 'reseeded' | 'unchanged' | 'none'
  readonly needs: 'on-divergence' | undefined
  readonly partitions: readonly ReversedPartition[]
  /** Where what differed was kept, and how many records. */
  readonly kept: { readonly topic: string; readonly records: number } | undefined
}

export interface ReverseMirrorResult {
  readonly mirror: string
  /** The cluster that is the source from now on. */
  readonly sourceClusterId: string
  /** Whether the mirror was not here yet. */
  readonly created: boolean
  readonly topics: readonly TopicResult<ReversedTopic>[]
  readonly warnings: readonly string[]
}

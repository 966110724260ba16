import type { OpenTransaction } from '../engine/open-transactions.js'
import type { MirrorError } from '../mirror/errors.js'
import type { PartitionState } from '../mirror/partition-states.js'
import type { ThrottledReplica } from '../mirror/throttles.js'
import type { MirrorMetadata } from './metadata-view.js'

export type * from './reverse/types.js'
export type * from './verify/types.js'
export type { OpenTransaction, PartitionState, ThrottledReplica }

/**
 * Options and plain-data results of every use case. Names follow the Admin methods of KIP-1279. Offsets are `bigint`,
 * durations milliseconds, rates bytes per second. Nothing here prints; `warnings` are sentences for stderr.
 */

/** Pairs of text, as a plain object or a Map. */
export type TextMap = Readonly<Record<string, string>> | ReadonlyMap<string, string>

/** One topic's outcome: details, or the error that kept it from happening. One topic's error never stops the others. */
export type TopicResult<T = unknown> =
  | ({ readonly topic: string; readonly mirror: string; readonly ok: true } & T)
  | { readonly topic: string; readonly mirror: string; readonly ok: false; readonly error: MirrorError }

// ---- create

export interface CreateMirrorOptions {
  /** Do not reach the source now; its cluster id is pinned when it is first reached. */
  readonly offline?: boolean
  /** Check everything, write nothing. */
  readonly dryRun?: boolean
}

export interface CreateMirrorResult {
  readonly mirror: string
  /** The pinned source cluster; undefined with `offline`. */
  readonly sourceClusterId: string | undefined
  readonly warnings: readonly string[]
}

// ---- add

export interface AddTopicsToMirrorOptions {
  /**
   * Names or whole-name regexes → mirror: what matches is added now, and what matches later when it appears. They are kept in
   * `mirror.topics.include`, with `exclude` in `mirror.topics.exclude`. Topics that were removed before are not among them.
   */
  readonly discover?: TextMap
  /** Names or whole-name regexes left out of what the given patterns match. A topic given by name is never left out. */
  readonly exclude?: readonly string[]
  /** Replication factor of topics created on the destination; default is the broker's. */
  readonly replicationFactor?: number
  /** Topic → id in Kafka's base64url form; must be the source's. */
  readonly topicIds?: TextMap
  /** Where this host reaches the source, for this call only; must be the mirror's pinned cluster. */
  readonly remoteBootstrapServer?: string
  readonly dryRun?: boolean
}

export interface AddedTopic {
  readonly partitions: number
  /** Base64url, as Kafka's tools print it. */
  readonly sourceTopicId: string
  /** Undefined with `dryRun` while the topic does not exist. */
  readonly destinationTopicId: string | undefined
  /** `created`, `taken-over` (existed, empty) , `continued` (existed, with the source's data), `unchanged` (was mirrored already). */
  readonly how: 'created' | 'taken-over' | 'continued' | 'unchanged'
  /** Offsets below the source's log start that are filled before copying begins, over all partitions; undefined if none. */
  readonly fastForward: { readonly offsets: bigint; readonly seconds: number; readonly bytes: bigint } | undefined
}

export interface AddTopicsToMirrorResult {
  readonly topics: readonly TopicResult<AddedTopic>[]
  readonly warnings: readonly string[]
}

// ---- remove, delete

export interface RemoveTopicsFromMirrorOptions {
  /** Show what would be lost, change nothing. */
  readonly dryRun?: boolean
  /** How long to wait for the runner's confirmation before fencing; default is the runners' session timeout plus 5 s. */
  readonly confirmationTimeoutMs?: number | undefined
  /**
   * First wait, at most this long, until the writers have stopped and everything they wrote is on the destination. Nothing is
   * lost then: a topic that is written to in the last moment goes on being mirrored, and is a failure.
   */
  readonly drainMs?: number | undefined
  /** Told about a drain every second or so. */
  readonly onProgress?: (progress: DrainProgress) => void
}

export interface DrainProgress {
  readonly partitions: number
  /** Partitions that hold everything of a source that stands still. */
  readonly drained: number
  /** Offsets that the others lack, as far as both sides tell. */
  readonly lag: bigint
}

export interface RemovedPartition {
  readonly partition: number
  /** Destination log end: first offset the promoted topic will write itself. */
  readonly destinationOffset: bigint | undefined
  /** Source high watermark; undefined when nobody can say. */
  readonly sourceOffset: bigint | undefined
  /** Offsets the source has and the destination has not; undefined when nobody can say. */
  readonly lost: bigint | undefined
  /** When a runner saw the source's offset, milliseconds since the epoch; undefined where the source said so itself, or nobody did. */
  readonly sourceSeenAt: number | undefined
}

export interface RemovedTopic {
  /**
   * `confirmed`: the runner said it appends no more; `fenced`: this call fenced late writers itself;
   * `unfenced`: no runner is alive and the right to fence is missing; `dry-run`; `unchanged`: was removed already.
   */
  readonly how: 'confirmed' | 'fenced' | 'unfenced' | 'dry-run' | 'unchanged'
  readonly partitions: readonly RemovedPartition[]
}

export interface RemoveTopicsFromMirrorResult {
  readonly topics: readonly TopicResult<RemovedTopic>[]
  readonly warnings: readonly string[]
}

export interface DeleteMirrorResult {
  readonly mirror: string
  /** False when a topic could not be removed, or brokers failed to give its rights for a reason that passes (its error is in `topics`), or with `dryRun`: the mirror is still there. */
  readonly deleted: boolean
  readonly topics: readonly TopicResult<RemovedTopic>[]
  readonly warnings: readonly string[]
}

// ---- pause, resume

export interface PauseOptions {
  /** Names or whole-name regexes over the mirror's topics; default all. */
  readonly topics?: Iterable<string> | undefined
  readonly dryRun?: boolean
}

export interface PausedTopic {
  readonly partitions: number
  /** `changed`: was not as wanted before; with `dryRun` it would be changed. `unchanged`: it was already. */
  readonly how: 'changed' | 'unchanged'
}

export interface PauseResult {
  readonly mirror: string
  readonly topics: readonly TopicResult<PausedTopic>[]
  readonly warnings: readonly string[]
}

// ---- recover

export type * from './recovery/types.js'

// ---- alter

export interface AlterMirrorChanges {
  readonly set?: TextMap
  readonly delete?: readonly string[]
}

export interface AlterMirrorOptions {
  /** Do not try the new settings against the source. */
  readonly offline?: boolean
  readonly dryRun?: boolean
}

export interface AlterMirrorResult {
  readonly mirror: string
  /** Keys whose value really changes. */
  readonly changed: readonly string[]
  readonly warnings: readonly string[]
}

// ---- list

/** Nothing to choose yet; the KIP's ListMirrorsOptions. */
export type ListMirrorsOptions = Readonly<Record<string, never>>

export interface MirrorListing {
  readonly mirror: string
  /** Number of topics being mirrored (removed ones do not count). */
  readonly topics: number
  readonly sourceBootstrap: string
  readonly sourceClusterId: string | undefined
}

export interface ListMirrorsResult {
  readonly mirrors: readonly MirrorListing[]
  readonly warnings: readonly string[]
}

// ---- describe

export type { MirrorMetadata, ReadOnlyTopics, SyncState } from './metadata-view.js'

export interface DescribeMirrorsOptions {
  /** Names or whole-name regexes; default all. */
  readonly topics?: readonly string[]
  /** Only FAILED partitions. */
  readonly failed?: boolean
  /** Removed topics too. */
  readonly all?: boolean
  /** Longest wait for each cluster's offsets; default 3000. */
  readonly timeoutMs?: number
}

export interface MirrorPartition {
  readonly mirror: string
  readonly topic: string
  readonly partition: number
  /** The source's high watermark; undefined when nobody can say. */
  readonly sourceOffset: bigint | undefined
  /** The destination's log end. */
  readonly destinationOffset: bigint | undefined
  readonly lag: bigint | undefined
  readonly state: PartitionState
  /** When that state was entered, milliseconds since the epoch. */
  readonly since: number | undefined
  readonly lastStableOffset: bigint | undefined
  /** Client id of the runner that owns the partition. */
  readonly owner: string | undefined
  /** What keeps the partition from progressing, for FAILED and for what is being retried. */
  readonly error: string | undefined
  readonly retries: number
  readonly errorSince: number | undefined
  readonly fillMode: 'markers' | 'transactions' | undefined
  /** Settings held back until failover: key → value to be applied then, null for the broker's default. */
  readonly held: Readonly<Record<string, string | null>>
  /** Ranges of offsets the source no longer had and that were recorded as gaps, both ends included. */
  readonly lostRanges: readonly { readonly from: bigint; readonly to: bigint }[]
  /** How many offsets those are. */
  readonly lostOffsets: bigint
  /** The transaction on the source for whose end the partition waits: all below its first offset is copied. */
  readonly openTransaction: OpenTransaction | undefined
}

export interface MirrorDescription extends MirrorListing, MirrorMetadata {
  /** As set, secrets replaced by `[hidden]`. */
  readonly configs: Readonly<Record<string, string>>
}

export interface DescribeMirrorsResult {
  readonly mirrors: readonly MirrorDescription[]
  /** Sorted by mirror, topic, partition number. */
  readonly partitions: readonly MirrorPartition[]
  readonly warnings: readonly string[]
}

// ---- throttle

/**
 * `broker`, `topic`: kept in our own state on the destination, as brokers cannot. `source`: a client quota on the mirror's
 * source. `client`: a client quota on the very cluster this admin is connected to (the KIP's `--entity-type clients`).
 */
export type ThrottleTarget =
  | { readonly kind: 'broker'; readonly broker: number }
  | { readonly kind: 'topic'; readonly topic: string }
  | { readonly kind: 'source'; readonly mirror: string; readonly client: string }
  | { readonly kind: 'client'; readonly client: string }

/** A rate for brokers and clients (`50MB` or bytes per second), replicas for topics (`0:4,1:4` or `*`), null to clear. */
export type ThrottleValue = { readonly rate: string | number } | { readonly replicas: string | readonly ThrottledReplica[] | '*' } | null

export interface ThrottleOptions {
  readonly dryRun?: boolean
}

export interface ThrottleDescription {
  readonly target: ThrottleTarget
  /** Bytes per second; undefined for topics. */
  readonly rate: number | undefined
  readonly replicas: readonly ThrottledReplica[] | '*' | undefined
}

export interface DescribeThrottlesOptions {
  /** Only this target. */
  readonly target?: ThrottleTarget
  /** Also the client quotas on this mirror's source. */
  readonly mirror?: string
  /** Also the client quotas of the cluster this admin is connected to. */
  readonly clients?: boolean
}

export interface DescribeThrottlesResult {
  readonly throttles: readonly ThrottleDescription[]
  readonly warnings: readonly string[]
}

import type { PartitionState } from './partition-states.js'
import type { ThrottledReplica } from './throttles.js'

export interface MirrorSpec {
  /** Pinned at creation or, after an offline creation, when the source is first reached. */
  readonly sourceClusterId: string | undefined
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

export interface ConfigSpec {
  readonly value: string
}

/** The producer id that copies one partition, whoever owns it. */
export interface PartitionProducer {
  readonly id: bigint
  readonly epoch: number
}

export const DESIRED = ['ADDING', 'MIRRORING', 'STOPPING', 'STOPPED', 'PAUSED'] as const
/**
 * ADDING is on record before anything of the destination's topic is touched, so that none keeps settings of ours that no mirror names;
 * nothing is copied yet. `add` again goes on with it, `remove` undoes it.
 */
export type DesiredState = (typeof DESIRED)[number]

/**
 * A topic on its way to be copied again from the start. Each step is on record before it is begun, so that whoever comes
 * after an interruption knows where to go on; `desired` is STOPPING meanwhile, and runners let go as for a removal.
 */
export interface Reseed {
  /**
   * Tells this one from others; also part of the tail's name. Milliseconds since the epoch. That of `stopping`, or later where the
   * reseed began anew with what somebody else has put in the place of the copy that owners let go of.
   */
  readonly at: number
  /** Topic on the destination that keeps what differs; undefined where that is to be thrown away. */
  readonly tailTopic: string | undefined
  /** What is to be replaced, as it was found once runners had let go. */
  readonly old?: ReplacedTopic | undefined
  /** True once the tail is in its topic: the old one may go. */
  readonly kept: boolean
}

export interface ReplacedTopic {
  /** All zeros where the cluster has no topic ids. */
  readonly topicId: string
  readonly replicationFactor: number
  /** Settings of its own, held ones left out. */
  readonly settings: Readonly<Record<string, string>>
  /** Of whoever copies the tail: its sequence is the number of records copied. */
  readonly producer: PartitionProducer
  /** First offset that differs from the source, per partition; the log end where nothing does. */
  readonly differsFrom: readonly bigint[]
}

/** What is asked of a topic's owners while `desired` is STOPPING, and what came of it. */
export interface Stopping {
  /** Tells this request from others: owners repeat it in their answer. Milliseconds since the epoch. */
  readonly at: number
  /**
   * Per partition the log end at which it was let go, or null where nobody said so and it has to be fenced. On record before the
   * first fence, and for good: what a late owner says would count in the fence's marker, and what clients wrote since.
   */
  readonly logEnds?: readonly (bigint | null)[] | undefined
}

/** What a partition of the destination held already when its topic was added. */
export interface FoundLog {
  readonly logStartOffset: bigint
  readonly logEndOffset: bigint
}

export interface TopicSpec {
  readonly desired: DesiredState
  /** While STOPPING. Missing there, an older version asked, and no answer can be told from one to an earlier request. */
  readonly stopping?: Stopping | undefined
  /** Topic ids as hex text with hyphens; all zeros where a cluster has none. */
  readonly sourceTopicId: string
  readonly destinationTopicId: string
  readonly partitions: number
  /** One per partition, in order. */
  readonly producers: readonly PartitionProducer[]
  /**
   * Held key → real value to be applied at failover; null removes the override. While ADDING, of a topic that was there: every key that
   * the addition sets → the topic's own value, which undoes it.
   */
  readonly held: Readonly<Record<string, string | null>>
  /** The source's own settings that the destination has, in force or held; undefined before they were first compared. */
  readonly taken?: Readonly<Record<string, string>> | undefined
  /**
   * Ids of the clusters the source has the topic from, nearest first, as last seen; empty where it begins there, undefined where the
   * source's own mirrors could not be read.
   */
  readonly origins?: readonly string[] | undefined
  /**
   * By partition; undefined where the mirror began with nothing, as later partitions do. What lies there is what the source has, but
   * not this mirror's copy: it may be transactions' and begin elsewhere. Of a topic that is reseeded it ends where that has something else.
   */
  readonly found?: readonly FoundLog[] | undefined
  readonly addedAt: number
  readonly reseed?: Reseed | undefined
}

/** What an operator wishes for one partition that does not go on. */
export type RecoveryWish = {
  /** The topic's addition it is about: a wish for an earlier one means nothing. */
  readonly addedAt: number
  readonly at: number
} & (
  | { /** Try again now. */ readonly action: 'retry' }
  | {
      /** Go on without what the source no longer has: from the first offset wanted, up to the first one available. */
      readonly action: 'record-gap'
      readonly from: bigint
      readonly to: bigint
    }
)

export interface BrokerThrottle {
  /** Bytes per second. */
  readonly rate: number
}

export interface TopicThrottle {
  readonly replicas: readonly ThrottledReplica[] | '*'
}

export interface LeaderEpochStart {
  readonly epoch: number
  readonly startOffset: bigint
}

export interface PartitionStatus {
  readonly ownerEpoch: number
  /** `addedAt` of the topic's spec this status is about: one of an earlier addition says nothing about this one. */
  readonly addedAt: number
  /** The destination topic's id as the owner last aligned with it; differs from the spec's once it was rebuilt empty. */
  readonly destinationTopicId: string
  /** Client id of the owner. */
  readonly owner: string
  readonly state: PartitionState
  /** When the state was entered, milliseconds since the epoch. */
  readonly since: number
  readonly sourceLeaderEpochs: readonly LeaderEpochStart[]
  readonly fastForward?: { readonly target: bigint; readonly done: boolean } | undefined
  readonly fillMode: 'markers' | 'transactions'
  readonly error?: { readonly message: string; readonly retries: number; readonly at: number } | undefined
  /** Offsets the source no longer had, both ends included. */
  readonly lostRanges: readonly { readonly from: bigint; readonly to: bigint }[]
  /** Log end at which the owner let go, once STOPPED. */
  readonly stoppedAt?: bigint | undefined
  /** `at` of the request to stop that this is the answer to. */
  readonly answers?: number | undefined
  /**
   * The source's high watermark as the owner last saw it, put down when it stops being told (the source out of reach, copying
   * stopped), and when that was. It is for whoever has to know what a lost source had beyond; copying goes by the logs alone.
   */
  readonly sourceEnd?: { readonly offset: bigint; readonly at: number } | undefined
  /** The owner copies no more, but what it or an earlier owner sent may still land: whoever removes the topic has to fence it. */
  readonly needsFence?: boolean | undefined
  /** The owner is gone, and nothing of its own was under way any more. */
  readonly letGo?: boolean | undefined
}

export interface RemovalResult {
  readonly how: 'confirmed' | 'fenced' | 'unfenced'
  readonly at: number
  /** Destination log end per partition when the topic was let go, fence markers not counted. */
  readonly partitions: readonly { readonly partition: number; readonly logEndOffset: bigint }[]
}

export const SYNC_LOOPS = ['discovery', 'topics', 'configs', 'groups', 'acls'] as const
/** The slow loops of a mirror, which run on the owner of its shard. */
export type SyncLoopName = (typeof SYNC_LOOPS)[number]

/** A loop's name as a key has it, or undefined. */
export const syncLoopOf = (name: string): SyncLoopName | undefined => SYNC_LOOPS.find((loop) => loop === name)

/** One thing that a loop could not bring about, such as a topic or a group; the others are not held up by it. */
export interface SyncProblem {
  readonly item: string
  readonly message: string
}

/** What became of the last round of one loop. */
export interface SyncStatus {
  readonly ownerEpoch: number
  /** Client id of the runner. */
  readonly owner: string
  /** End of the last round, milliseconds since the epoch. */
  readonly at: number
  /** False if the round as a whole failed; `error` says why. Problems with single items leave it true. */
  readonly ok: boolean
  /** End of the last round that did not fail. */
  readonly lastSuccess?: number | undefined
  readonly error?: string | undefined
  /** Changes made on the destination in the last round. */
  readonly changes: number
  /** At most {@link MAX_SYNC_PROBLEMS}. */
  readonly problems: readonly SyncProblem[]
  /** How many problems there are beyond those. */
  readonly more: number
  /** What is as it should be and worth knowing, such as that a side has no authorizer. */
  readonly notes: readonly string[]
}

export const MAX_SYNC_PROBLEMS = 100

/** An access rule the mirror has to do with: `created` there by it, `withheld` until failover, or its own read-only `guard`. */
export interface AclRecord {
  readonly what: 'created' | 'withheld' | 'guard'
  /** Binding of the source's rule that is withheld and that this one, created, gives as much of as may be had before failover. */
  readonly standsFor?: string | undefined
  /**
   * Somebody is about to bring this about, and nobody knows yet whether it is done: to create the rule, or for a withheld one to
   * take it away. Written before the destination is asked.
   */
  readonly pending?: true | undefined
  /** Milliseconds since the epoch. */
  readonly at: number
}

export interface StateValues {
  readonly mirror: MirrorSpec
  readonly config: ConfigSpec
  readonly topic: TopicSpec
  readonly 'throttle/broker': BrokerThrottle
  readonly 'throttle/topic': TopicThrottle
  readonly status: PartitionStatus
  readonly result: RemovalResult
  readonly recovery: RecoveryWish
  readonly sync: SyncStatus
  readonly acl: AclRecord
}

export type StateKind = keyof StateValues

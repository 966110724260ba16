import type { Cluster } from '../client/cluster.js'
import type { TopicMetadata } from '../client/metadata.js'
import type { MirrorConfig } from '../mirror/config.js'
import type { MirrorState } from '../mirror/fold.js'
import type { SpecStore } from '../mirror/spec-store.js'
import type { SyncLoopName, SyncProblem, SyncStatus } from '../mirror/state.js'
import type { LogBounds } from './topics/log-bounds.js'

/** What the loops of one mirror work with. */
export interface SyncContext {
  readonly mirror: string
  readonly source: Cluster
  readonly destination: Cluster
  readonly store: SpecStore
  /** What adding a topic takes from rooms above this one. */
  readonly admission: TopicAdmission
  /** As the runner has read it; what is decided under the lock of {@link SpecStore} sees the latest. */
  state(): MirrorState
  config(): MirrorConfig
  /** Milliseconds since the epoch. */
  now(): number
  /** False once the mirror's shard is another runner's: nothing more is begun. */
  ownsShard(): boolean
}

/** What is there also while the source is out of reach. */
export type SyncFrame = Omit<SyncContext, 'source' | 'admission'> & {
  /** The rest, once the source is known to be the pinned cluster. Throws when it cannot be opened or reached, or is another. */
  connect(): Promise<SyncContext>
}

/** What decides whether a topic may be added, besides the state. */
export interface TopicAdmission {
  /** Throws MirrorError RIGHTS_MISSING. */
  checkRights(topic: string): Promise<void>
  /** Whether a topic the destination has already can become the copy. Throws MirrorError, KafkaError, ConnectionError. */
  checkExisting(there: TopicMetadata, here: TopicMetadata, sourceBounds: readonly LogBounds[]): Promise<ExistingTopic>
}

/** How an existing topic of the destination is taken in; a topic that is not there is created. */
export interface ExistingTopic {
  /** `taken-over`: it was empty; `continued`: it holds the beginning of what the source has. */
  readonly how: 'taken-over' | 'continued'
  readonly bounds: readonly LogBounds[]
}

/** What one round came to. */
export interface SyncReport {
  /** Changes made on the destination or in the state. */
  readonly changes: number
  /** What could not be brought about, item by item. */
  readonly problems: readonly SyncProblem[]
  readonly notes: readonly string[]
}

interface Loop<Context> {
  readonly name: SyncLoopName
  /** From the end of one round to the beginning of the next, in milliseconds. */
  intervalMs(config: MirrorConfig): number
  /** One round. A throw means that it failed as a whole; what is wrong with single items is in the report. */
  run(context: Context): Promise<SyncReport>
}

/** One slow loop: list both sides, plan, apply the difference. */
export type SyncLoop = Loop<SyncContext>

/** One that begins whether or not the source can be reached, and asks for it where it needs it. */
export type FrameLoop = Loop<SyncFrame>

/** A status as the loop's frame knows it; who writes it is added by whoever does. */
export type SyncOutcome = Omit<SyncStatus, 'ownerEpoch' | 'owner'>
export type WriteSyncStatus = (loop: SyncLoopName, outcome: SyncOutcome) => Promise<void>

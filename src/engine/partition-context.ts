import type { MirrorConfig } from '../mirror/config.js'
import type { TopicSpec } from '../mirror/state.js'
import type { DestinationLink } from './destination-link.js'
import type { Slots } from './slots.js'
import type { SourceLink } from './source-link.js'

/** Everything outside one partition that its life cycle needs. Values that may change are asked for each time. */
export interface PartitionContext {
  readonly mirror: string
  readonly topic: string
  readonly partition: number
  /** This runner's name in statuses. */
  readonly owner: string
  readonly destination: DestinationLink
  /** At most two partitions are fast-forwarded at once. */
  readonly fastForwardSlots: Slots
  /** Few partitions are compared at once. */
  readonly compareSlots: Slots
  source(): SourceLink
  spec(): TopicSpec
  config(): MirrorConfig
  /** The gap that the operator wants passed over in this partition, if there is such a wish. */
  recordGap(): { readonly from: bigint; readonly to: bigint } | undefined
  ownerEpoch(): number
  /** Takes a new owner epoch after an uncertain fill: a marker that may still be under way must be refused. */
  renewOwnerEpoch(): Promise<void>
  /** False once the group session has run out by our own clock. */
  mayAppend(): boolean
  /** True once the partition is no longer this runner's. */
  isReleased(): boolean
  /** The destination topic's `max.message.bytes`. */
  maxMessageBytes(): Promise<number>
  /** The limit is read anew when it is next asked for. */
  forgetMaxMessageBytes(): void
  /** Puts the held settings on a destination topic that was rebuilt by somebody. Throws LostPlace once it was failed over. */
  prepareDestination(): Promise<void>
  /** DeleteRecords on the destination, best effort where the topic's policy forbids it. */
  deleteRecords(before: bigint): Promise<void>
}

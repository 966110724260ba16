import { channel } from 'node:diagnostics_channel'
import type { PartitionState } from '../mirror/partition-states.js'

/** What the engine tells whoever listens (logs, tests). Rare by design: nothing is published per batch. */
export interface EngineEvent {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  /** A stable name, e.g. `partition-state`. */
  readonly event: string
  readonly message: string
  readonly mirror?: string
  readonly topic?: string
  readonly partition?: number
  readonly [detail: string]: unknown
}

export const ENGINE_CHANNEL = 'kafka-mirrors:event'

const events = channel(ENGINE_CHANNEL)

export function publish(event: EngineEvent): void {
  if (events.hasSubscribers) events.publish(event)
}

/** One partition as its owner sees it now. Counters run from the start of the process. */
export interface PartitionSnapshot {
  readonly mirror: string
  readonly topic: string
  readonly partition: number
  readonly state: PartitionState
  /** Bytes of source batches appended to the destination. */
  readonly bytes: number
  readonly records: number
  /** Batches that had to be opened and encoded anew. */
  readonly rewrittenBatches: number
  /** Offsets the source no longer had and that were recorded as gaps, since the topic was added. */
  readonly lostOffsets: bigint
  readonly retries: number
  readonly sourceHighWatermark: bigint | undefined
  readonly lastStableOffset: bigint | undefined
  readonly logEndOffset: bigint | undefined
  readonly error: string | undefined
  /** Milliseconds since the epoch: when the state was entered. */
  readonly since: number
  /** The transaction on the source for whose end the partition waits. */
  readonly openTransaction?: OpenTransaction | undefined
}

/** The oldest transaction that is open in a partition: nothing from its first offset on is stable. */
export interface OpenTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
  /** When its producer last wrote, milliseconds since the epoch by the record's timestamp: brokers do not tell when it began. */
  readonly lastWriteAt: number
}

export interface RunnerSnapshot {
  /** True while the group says this runner is a member and its session has not run out by its own clock. */
  readonly alive: boolean
  readonly memberId: string | undefined
  readonly ownedShards: number
  readonly bufferedBytes: number
  readonly partitions: readonly PartitionSnapshot[]
}

import type { StateRecord } from '../mirror/fold.js'

/** The state topic, which doubles as the group's subscription: its partitions are the shards. */
export interface StateLog {
  readonly topic: string
  /** Every record up to the end as of now; undefined if the topic does not exist. */
  load(): Promise<readonly StateRecord[] | undefined>
  /** Feeds what came after {@link load}, until `signal` aborts; passing errors are told and tried again. */
  follow(onRecords: (records: readonly StateRecord[]) => void, signal: AbortSignal, failed: (error: unknown) => void): Promise<void>
  /** Resolves once `follow` has given out all that these shards hold now. Throws when that takes longer than `timeoutMs`. */
  caughtUp(shards: readonly number[], timeoutMs: number): Promise<void>
  /** Appends with acks=all. */
  append(shard: number, records: readonly StateRecord[]): Promise<unknown>
}

import { channel } from 'node:diagnostics_channel'

/**
 * What the slow loops tell whoever listens (logs, metrics, tests): a `round` after each, and `ended` when this runner no
 * longer has a mirror's loops, since another one has or the mirror is gone.
 */
export type SyncEvent = SyncRound | SyncEnded

export interface SyncRound {
  readonly kind: 'round'
  readonly mirror: string
  /** Name of the loop, e.g. `configs`. */
  readonly loop: string
  /** End of the round, milliseconds since the epoch. */
  readonly at: number
  /** How long it took. */
  readonly milliseconds: number
  /** False when the round failed as a whole; then `error` says why. */
  readonly ok: boolean
  readonly error?: string | undefined
  /** Made in this round. */
  readonly changes: number
  /** Items that could not be synced; the others were. */
  readonly problems: readonly { readonly item: string; readonly message: string }[]
  /** How many there are beyond those. */
  readonly more: number
}

export interface SyncEnded {
  readonly kind: 'ended'
  readonly mirror: string
}

export const SYNC_CHANNEL = 'kafka-mirrors:sync'

const events = channel(SYNC_CHANNEL)

export function publishSync(event: SyncEvent): void {
  if (events.hasSubscribers) events.publish(event)
}

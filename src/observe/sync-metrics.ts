import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { SYNC_CHANNEL, SyncEvent, SyncRound } from '../sync/events.js'

/** The channel by name, as for the engine's: listening is not to load what is listened to. */
export const CHANNEL: typeof SYNC_CHANNEL = 'kafka-mirrors:sync'

const LABELS = ['mirror', 'sync'] as const

/**
 * Metrics of the slow loops, a series per mirror and loop: counters run from the start of the process, gauges end when
 * another runner takes the loops over. @returns what ends the listening.
 */
export function addSyncMetrics(registry: Registry): () => void {
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `kafka_mirrors_sync_${name}`, help, labelNames: [...LABELS], registers: [registry] })
  const counter = (name: string, help: string) =>
    new Counter({ name: `kafka_mirrors_sync_${name}_total`, help, labelNames: [...LABELS], registers: [registry] })
  const rounds = counter('rounds', 'Rounds of looking at both sides for what differs')
  const errors = counter('errors', 'Rounds that failed as a whole')
  const changes = counter('changes', 'Changes made on the destination')
  const problems = gauge('problems', 'Items such as topics and groups that could not be synced in the last round')
  const success = gauge('last_success_timestamp_seconds', 'End of the last round that did not fail, since the epoch in seconds')
  const seconds = gauge('last_round_seconds', 'How long the last round took')
  const loops = new Map<string, Set<string>>()

  const round = (event: SyncRound) => {
    const labels = { mirror: event.mirror, sync: event.loop }
    loops.set(event.mirror, (loops.get(event.mirror) ?? new Set()).add(event.loop))
    rounds.inc(labels)
    // A series that begins with its first error could not be seen to rise.
    errors.inc(labels, event.ok ? 0 : 1)
    changes.inc(labels, event.changes)
    problems.set(labels, event.problems.length + event.more)
    seconds.set(labels, event.milliseconds / 1_000)
    if (event.ok) success.set(labels, event.at / 1_000)
  }
  const ended = (mirror: string) => {
    for (const sync of loops.get(mirror) ?? []) for (const metric of [problems, success, seconds]) metric.remove({ mirror, sync })
    loops.delete(mirror)
  }
  const listener = (message: unknown) => {
    const event = message as SyncEvent
    if (event.kind === 'round') round(event)
    else ended(event.mirror)
  }
  subscribe(CHANNEL, listener)
  return () => void unsubscribe(CHANNEL, listener)
}

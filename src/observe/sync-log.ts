import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Logger } from 'pino'
import type { SyncEvent, SyncRound } from '../sync/events.js'
import { CHANNEL } from './sync-metrics.js'

/**
 * Writes to the log what is new about the slow loops: changes, and errors and problems that were not there the round before.
 * What stays wrong is not said again every few seconds. @returns what ends it.
 */
export function logSyncs(log: Logger): () => void {
  const last = new Map<string, SyncRound>()
  const listener = (message: unknown) => {
    const event = message as SyncEvent
    if (event.kind === 'ended') {
      for (const [key, { mirror }] of last) if (mirror === event.mirror) last.delete(key)
      return
    }
    const key = `${event.mirror}/${event.loop}`
    tell(log, event, last.get(key))
    last.set(key, event)
  }
  subscribe(CHANNEL, listener)
  return () => void unsubscribe(CHANNEL, listener)
}

function tell(log: Logger, round: SyncRound, before: SyncRound | undefined): void {
  const { mirror, loop, ok, error, changes, problems, milliseconds } = round
  const details = { event: 'sync', mirror, sync: loop }
  if (!ok) {
    const level = before?.error === error && before?.ok === false ? 'debug' : 'error'
    log[level](details, `the sync of ${loop} failed: ${error}`)
    return
  }
  if (before?.ok === false) log.info(details, `the sync of ${loop} works again`)
  const known = new Set(before?.problems.map(textOf))
  for (const text of problems.map(textOf)) if (!known.has(text)) log.warn(details, `${loop}: ${text}`)
  // Positions of groups move all the time.
  if (round.more > 0 && before?.more !== round.more) log.warn(details, `${loop}: ${round.more} more problems`)
  log[changes > 0 && loop !== 'groups' ? 'info' : 'debug'](
    { ...details, changes, problems: problems.length + round.more, milliseconds },
    `synced ${loop}`,
  )
}

const textOf = ({ item, message }: { readonly item: string; readonly message: string }) => `${item}: ${message}`

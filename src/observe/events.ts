import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Logger } from 'pino'
import type { ENGINE_CHANNEL, EngineEvent } from '../engine/events.js'

/** The engine's channel by name: loading the engine to listen to it would be the wrong way round. The type keeps the two equal. */
const CHANNEL: typeof ENGINE_CHANNEL = 'kafka-mirrors:event'

/** Writes every event of the engine to the log. @returns what ends it. */
export function logEvents(log: Logger): () => void {
  const listener = (message: unknown) => {
    const { level, message: sentence, ...details } = message as EngineEvent
    log[level](withoutBigint(details), sentence)
  }
  subscribe(CHANNEL, listener)
  return () => void unsubscribe(CHANNEL, listener)
}

/** int64 leave as decimal text, as everywhere else in our JSON. */
function withoutBigint(details: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(details).map(([key, value]) => [key, typeof value === 'bigint' ? value.toString() : value]))
}

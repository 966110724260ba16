import type { Cluster } from '../client/cluster.js'
import { KeyedLog } from '../client/keyed-log.js'
import { MirrorState } from '../mirror/fold.js'
import { STATE_TOPIC } from '../mirror/state-topic.js'

export interface WatchOptions {
  readonly timeoutMs: number
  /** Asked between records too: true gives up early. */
  givenUp?(): Promise<boolean>
}

const GIVEN_UP_EVERY_MS = 1_000

/**
 * Follows the state until `done` says so, or time is up, or it is given up. Returns the state as last seen.
 * Throws KafkaError, ConnectionError only if the state cannot be read at all.
 */
export async function watchState(destination: Cluster, done: (state: MirrorState) => boolean, options: WatchOptions): Promise<MirrorState> {
  const log = new KeyedLog(destination, STATE_TOPIC)
  const state = MirrorState.of((await log.load()) ?? [])
  if (done(state)) return state
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), options.timeoutMs)
  const asking = setInterval(() => {
    options.givenUp?.().then(
      (yes) => yes && stop.abort(),
      () => {},
    )
  }, GIVEN_UP_EVERY_MS)
  try {
    await log.follow((records) => {
      for (const record of records) state.apply(record)
      if (done(state)) stop.abort()
    }, stop.signal)
  } finally {
    clearTimeout(timer)
    clearInterval(asking)
  }
  return state
}

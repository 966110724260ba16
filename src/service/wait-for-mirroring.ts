import { failure } from '../mirror/errors.js'
import { about, DESTINATION } from '../mirror/failures.js'
import { isActive, type MirrorState } from '../mirror/fold.js'
import { mustExist } from '../mirror/spec-store.js'
import type { PartitionStatus } from '../mirror/state.js'
import type { ServiceContext } from './context.js'
import { partitionsOf, statusOf } from './partitions.js'
import { liveRunners } from './runners.js'
import { watchState } from './state-watch.js'

/** See {@link MirrorAdmin.waitForMirroring}. */
export async function waitForMirroring(
  { destination, store }: ServiceContext,
  name: string,
  topics: Iterable<string> | ReadonlyMap<string, readonly number[]>,
  timeoutMs: number,
): Promise<void> {
  const wanted: Wanted = topics instanceof Map ? topics : new Map([...(topics as Iterable<string>)].map((topic) => [topic, undefined]))
  mustExist(await store.read(), name)
  const done = (state: MirrorState) => {
    const late = laggards(state, name, wanted)
    return late.length === 0 || late.some(({ ended }) => ended !== undefined)
  }
  const state = await about(DESTINATION, undefined, () => watchState(destination, done, { timeoutMs }))
  const late = laggards(state, name, wanted)
  const [first, ...others] = late
  if (first === undefined) return
  const ended = late.find((one) => one.ended !== undefined)?.ended
  if (ended !== undefined) throw failure('UNKNOWN_TOPIC', ended)
  const runners = await liveRunners(destination).catch(() => undefined)
  throw failure(
    'TIMEOUT',
    `${first.what}${others.length === 0 ? '' : ` and ${others.length} more`} after ${timeoutMs / 1_000} s`,
    whatNow(
      name,
      runners,
      late.some(({ state }) => state === 'FAILED'),
      late.some(({ state }) => state === 'PAUSED'),
    ),
  )
}

/** What to do about partitions that do not mirror in time. */
export function whatNow(mirror: string, runners: number | undefined, isFailed: boolean, isPaused = false): string {
  if (runners === 0) return 'No runner is alive; start one with run.'
  if (isPaused && !isFailed) return `Let it go on: kafka-mirrors resume --mirror ${mirror}.`
  return isFailed ? `See what is wrong: kafka-mirrors recover --mirror ${mirror} --dry-run.` : 'It goes on; watch it with describe.'
}

/** See {@link MirrorAdmin.waitForPaused}. */
export async function waitForPaused(
  { destination, store }: ServiceContext,
  name: string,
  topics: Iterable<string>,
  timeoutMs: number,
): Promise<void> {
  const wanted: Wanted = new Map([...topics].map((topic) => [topic, undefined]))
  mustExist(await store.read(), name)
  const done = (state: MirrorState) => laggards(state, name, wanted, 'PAUSED').length === 0
  const givenUp = async () => (await liveRunners(destination)) === 0
  const state = await about(DESTINATION, undefined, async () => {
    // Nobody confirms where nobody copies.
    const timeout = (await liveRunners(destination).catch(() => undefined)) === 0 ? 0 : timeoutMs
    return watchState(destination, done, { timeoutMs: timeout, givenUp })
  })
  const [first, ...others] = laggards(state, name, wanted, 'PAUSED')
  if (first === undefined || (await liveRunners(destination).catch(() => undefined)) === 0) return
  throw failure('TIMEOUT', `${first.what}${others.length === 0 ? '' : ` and ${others.length} more`} after ${timeoutMs / 1_000} s`, LATER)
}

const LATER = 'It is paused once its runner has appended what it has read; watch it with describe.'

/** topic → partitions, undefined for all */
type Wanted = ReadonlyMap<string, readonly number[] | undefined>

export interface Laggard {
  /** A phrase about it. */
  readonly what: string
  /** Why no waiting will help: its topic is gone from the source. */
  readonly ended?: string | undefined
  readonly state?: PartitionStatus['state'] | undefined
}

/** Partitions that are not yet in the state wanted. Pure. */
export function laggards(state: MirrorState, name: string, wanted: Wanted, goal: 'MIRRORING' | 'PAUSED' = 'MIRRORING'): Laggard[] {
  return [...wanted].flatMap(([topic, partitions]) => {
    const spec = state.mirror(name)?.topics.get(topic)
    if (!isActive(spec)) return [{ what: `topic ${topic} is not in mirror ${name}` }]
    return (partitions ?? partitionsOf(spec)).flatMap((partition) => {
      const status = statusOf(state, name, topic, spec, partition)
      if (status?.state === goal) return []
      const reason = status?.error === undefined ? '' : ` (${status.error.message})`
      const what = `${topic}-${partition} of mirror ${name} is ${status?.state ?? 'not taken up'}${reason}`
      // An owner that was asked to stop says so without an error, and goes on once the topic is given back.
      const ended = goal === 'MIRRORING' && status?.state === 'STOPPED' ? status.error?.message : undefined
      return [{ what, state: status?.state, ended }]
    })
  })
}

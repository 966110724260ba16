import { about, DESTINATION } from '../mirror/failures.js'
import type { ActiveTopic, MirrorState } from '../mirror/fold.js'
import type { PartitionStatus, TopicSpec } from '../mirror/state.js'
import { DEFAULT_SESSION_TIMEOUT_MS } from '../mirror/state-topic.js'
import type { ServiceContext } from './context.js'
import { partitionsOf } from './partitions.js'
import { liveRunners } from './runners.js'
import { watchState } from './state-watch.js'

const MARGIN_MS = 5_000

/** A topic on its way out: the spec as it was written down for that. */
export interface Leaving {
  readonly topic: string
  readonly spec: ActiveTopic
}

/** Waits until the owners have answered, or nobody is left to, or time is up. Gives the state as last seen. */
export async function awaitConfirmation(
  { destination }: ServiceContext,
  name: string,
  leaving: readonly Leaving[],
  timeoutMs = DEFAULT_SESSION_TIMEOUT_MS + MARGIN_MS,
): Promise<MirrorState> {
  const nobody = async () => (await liveRunners(destination)) === 0
  return about(DESTINATION, undefined, async () => {
    const runners = await liveRunners(destination).catch(() => 1)
    const done = (state: MirrorState) =>
      runners === 0 ||
      leaving.every(({ topic, spec }) => !isAsked(spec) || partitionsOf(spec).every((one) => isOver(state.status(name, topic, one), spec)))
    return watchState(destination, done, { timeoutMs, givenUp: nobody })
  })
}

/** Whether a topic is still on its way out by the request that was written down, and not by another, nor gone already. */
export const isSameRequest = (now: TopicSpec | undefined, { addedAt, stopping }: ActiveTopic): now is ActiveTopic =>
  now?.desired === 'STOPPING' && now.addedAt === addedAt && now.stopping?.at === stopping?.at

/** Whether owners' answers count, see {@link Stopping}. */
const isAsked = ({ stopping }: ActiveTopic): boolean => stopping !== undefined && stopping.logEnds === undefined

/** What an owner said when it let go of an earlier addition, or before the topic was last given back, is no answer to this request. */
const isAnswer = (status: PartitionStatus | undefined, { addedAt, stopping }: ActiveTopic): status is PartitionStatus =>
  status !== undefined && stopping !== undefined && status.addedAt === addedAt && status.answers === stopping.at

/** Whether the owner has said all that it will. */
const isOver = (status: PartitionStatus | undefined, spec: ActiveTopic): boolean =>
  isAnswer(status, spec) && (status.state === 'STOPPED' || status.needsFence === true)

/** The log end at which the owner let go for this very request; undefined if it did not say so. */
export const confirmedEnd = (status: PartitionStatus | undefined, spec: ActiveTopic): bigint | undefined =>
  isAnswer(status, spec) && status.state === 'STOPPED' ? status.stoppedAt : undefined

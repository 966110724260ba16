import { type ActiveTopic, isAdded, type MirrorState } from '../../mirror/fold.js'
import type { TopicSpec } from '../../mirror/state.js'
import { idsDiffer } from '../../protocol/uuid.js'
import { pinnedTopics } from '../groups/topics.js'

/** A topic that the loops care for: mirrored or paused, and neither coming, nor leaving, nor being copied again from the start. */
export const isCaredFor = (spec: TopicSpec | undefined): spec is ActiveTopic =>
  isAdded(spec) && spec.desired !== 'STOPPING' && spec.reseed === undefined

/** Those of a mirror, by name; none of one that is gone. */
export const caredFor = (state: MirrorState, mirror: string): ReadonlyMap<string, ActiveTopic> =>
  new Map([...(state.mirror(mirror)?.topics ?? [])].filter((entry): entry is [string, ActiveTopic] => isCaredFor(entry[1])))

/** What the mirror knows the destination's topic by: more than one id once it was rebuilt empty. */
export function destinationIdsOf(state: MirrorState, mirror: string, topic: string): ReadonlySet<string> {
  const entry = state.mirror(mirror)
  return (entry && pinnedTopics(entry, [topic]).get(topic)?.destinationTopicIds) ?? new Set()
}

/** Brokers before 2.8 have no ids: such a one is any. */
export const isAnyOf = (id: string, known: ReadonlySet<string>): boolean => [...known].some((other) => !idsDiffer(id, other))

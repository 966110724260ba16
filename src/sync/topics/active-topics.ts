import { type ActiveTopic, isActive, type MirrorState } from '../../mirror/fold.js'
import type { TopicSpec } from '../../mirror/state.js'

/** A topic that the loops care for: mirrored or paused, and neither leaving nor being copied again from the start. */
export const isCaredFor = (spec: TopicSpec | undefined): spec is ActiveTopic =>
  isActive(spec) && spec.desired !== 'STOPPING' && spec.reseed === undefined

/** Those of a mirror, by name; none of one that is gone. */
export const caredFor = (state: MirrorState, mirror: string): ReadonlyMap<string, ActiveTopic> =>
  new Map([...(state.mirror(mirror)?.topics ?? [])].filter((entry): entry is [string, ActiveTopic] => isCaredFor(entry[1])))

import { isActive, type MirrorState } from '../../mirror/fold.js'
import type { Mirror } from '../../mirror/spec-store.js'
import { spelled } from '../../mirror/spelled.js'

const NAMED = 10

/** The mirrors a source is itself the destination of; unknown without the right to read them. */
export type SourceState = MirrorState | 'unknown'

/**
 * Ids of the clusters a source has a topic from, nearest first, up to where they come back to `own`; none where the topic begins
 * there, undefined where that is unknown. How far they reach is what runners of the clusters between have seen.
 */
export function originsOf(source: SourceState, topic: string, own: string): readonly string[] | undefined {
  if (source === 'unknown') return undefined
  const mirror = mirrorWith(source, topic)
  if (mirror === undefined) return []
  const { sourceClusterId } = mirror.spec
  if (sourceClusterId === undefined) return undefined
  const origins: string[] = []
  for (const id of [sourceClusterId, ...(mirror.topics.get(topic)?.origins ?? [])]) {
    if (origins.includes(id)) break
    origins.push(id)
    // A circle has no end.
    if (id === own) break
  }
  return origins
}

/** Whether the source has the topic from the cluster `own`, which is to copy it. */
export const isCircle = (source: SourceState, topic: string, own: string): boolean => originsOf(source, topic, own)?.includes(own) ?? false

/** Says which topics a pattern leaves alone because the source has them from here; nothing where there are none. */
export function notCopiedBack(topics: readonly string[]): string[] {
  if (topics.length === 0) return []
  return [`not copied back, since the source has them from this cluster: ${spelled(topics, NAMED)}`]
}

/** The mirror that copies the topic to the cluster whose state this is. */
export const mirrorWith = (state: MirrorState, topic: string): Mirror | undefined =>
  state.mirrors().find(({ topics }) => isActive(topics.get(topic)))

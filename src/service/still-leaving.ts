import { latestState, mustExist, type SpecStore } from '../mirror/spec-store.js'
import type { TopicSpec } from '../mirror/state.js'
import type { Leaving } from './confirmation.js'
import { removalOvertaken } from './log-ends.js'

/**
 * What has become of a removal whose log ends are on record: from there on it is not taken back, and there is no other one of this
 * addition. Undefined where the topic was added again, or copied again from the start.
 */
export const standingOf = (now: TopicSpec | undefined, { spec }: Leaving): 'STOPPING' | 'STOPPED' | undefined =>
  now?.addedAt === spec.addedAt && (now.desired === 'STOPPING' || now.desired === 'STOPPED') ? now.desired : undefined

/**
 * Those that are still to be given to their clients, as it is now: every step before may have taken long. One that is mirrored again
 * is a failure; one that another command has finished is nobody's business here any more. Never throws: what does not work is every
 * topic's failure.
 */
export async function stillLeaving<L extends Leaving>(
  store: SpecStore,
  name: string,
  leaving: readonly L[],
  failures: Map<string, Error>,
): Promise<readonly L[]> {
  if (leaving.length === 0) return []
  try {
    const { topics } = mustExist(await latestState(store), name)
    const standing = leaving.map((one) => ({ one, is: standingOf(topics.get(one.topic), one) }))
    for (const { one, is } of standing) if (is === undefined) failures.set(one.topic, removalOvertaken(name, one.topic))
    return standing.flatMap(({ one, is }) => (is === 'STOPPING' ? [one] : []))
  } catch (error) {
    for (const { topic } of leaving) failures.set(topic, error as Error)
    return []
  }
}

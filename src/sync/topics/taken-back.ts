import { setTimeout as sleep } from 'node:timers/promises'
import { type ActiveTopic, isActive } from '../../mirror/fold.js'
import { releaseSettings } from '../../mirror/held.js'
import { latestState } from '../../mirror/spec-store.js'
import type { TopicSpec } from '../../mirror/state.js'
import type { SyncContext } from '../types.js'
import { isCaredFor } from './active-topics.js'
import { applyTopicSettings } from './topic-settings.js'

/** A removal that is under way is waited for: it may have done its part for the topic already, or still has to. */
const REMOVED_WITHIN_MS = 60_000
const REMOVED_LOOK_MS = 500

/**
 * For whoever has just put settings on a mirrored topic, or one that is being added: a removal may have overtaken it, and what that took
 * off the topic, and was put on behind it, comes off again. Gives the topic if it is still this addition's, by the operators' word that
 * was read after the change: a removal that comes later undoes it by itself. `released` says what the topic gets, by
 * what is on record of it. Throws MirrorError, KafkaError, ConnectionError.
 */
export async function unlessTakenBack(
  { mirror, store, destination, now }: Pick<SyncContext, 'mirror' | 'store' | 'destination' | 'now'>,
  topic: string,
  spec: Pick<TopicSpec, 'addedAt' | 'held'>,
  released: (latest: TopicSpec | undefined) => TopicSpec['held'] = () => spec.held,
): Promise<ActiveTopic | undefined> {
  for (const until = now() + REMOVED_WITHIN_MS; ; await sleep(REMOVED_LOOK_MS)) {
    const state = await latestState(store)
    const latest = state.mirror(mirror)?.topics.get(topic)
    const same = latest?.addedAt === spec.addedAt
    if (same && isActive(latest) && (latest.desired === 'ADDING' || isCaredFor(latest))) return latest
    // Another addition, of this mirror or of another, holds the same; one that leaves lets go of it in the end.
    if (state.mirrorOf(topic) === undefined) await applyTopicSettings(destination, topic, releaseSettings(released(latest)))
    else if (same && now() < until) continue
    return undefined
  }
}

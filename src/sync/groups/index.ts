import type { SyncLoop } from '../types.js'
import { isDue } from './renewal.js'
import { syncGroups } from './sync-groups.js'
import { isSynced, pinnedTopics, unchangedTopics } from './topics.js'

export { type GroupSync, syncGroups } from './sync-groups.js'
export { type PinnedTopic, pinnedTopics, unchangedTopics } from './topics.js'

/** Rounds may take a while themselves: renewals are looked for this much longer than rounds are apart, milliseconds. */
const SLACK_MS = 5_000

/** Keeps positions of groups on the destination. See {@link syncGroups}. */
export const groupsLoop: SyncLoop = {
  name: 'groups',
  intervalMs: ({ groupSyncIntervalMs }) => groupSyncIntervalMs,
  async run(context) {
    const { source, destination } = context
    const entry = () => context.state().mirror(context.mirror)
    const before = entry()
    if (before === undefined) return { changes: 0, problems: [], notes: [] }
    const synced = [...before.topics].flatMap(([topic, spec]) => (isSynced(spec) ? [topic] : []))
    const { topics, problems } = await unchangedTopics(source, destination, pinnedTopics(before, synced))
    const { groupsInclude, groupsExclude, groupSyncIntervalMs } = context.config()
    const now = context.now()
    const report = await syncGroups({
      source,
      destination,
      topics,
      include: groupsInclude,
      exclude: groupsExclude,
      renew: (groupId) => isDue(groupId, now, 2 * groupSyncIntervalMs + SLACK_MS),
      mayWrite: (topic) => context.ownsShard() && isSynced(entry()?.topics.get(topic)),
    })
    return { ...report, problems: [...problems, ...report.problems] }
  },
}

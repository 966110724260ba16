import { caredFor, isCaredFor } from '../topics/active-topics.js'
import type { SyncLoop } from '../types.js'
import { isDue } from './renewal.js'
import { syncGroups } from './sync-groups.js'
import { pinnedTopics, unchangedTopics } from './topics.js'

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
    const pinned = before === undefined ? new Map() : pinnedTopics(before, caredFor(context.state(), context.mirror).keys())
    const { topics, problems } = await unchangedTopics(source, destination, pinned)
    const { groupsInclude, groupsExclude, groupSyncIntervalMs } = context.config()
    const now = context.now()
    const report = await syncGroups({
      source,
      destination,
      topics,
      include: groupsInclude,
      exclude: groupsExclude,
      renew: (groupId) => isDue(groupId, now, 2 * groupSyncIntervalMs + SLACK_MS),
      mayWrite: (topic) => context.ownsShard() && isCaredFor(entry()?.topics.get(topic)),
    })
    return { ...report, problems: [...problems, ...report.problems] }
  },
}

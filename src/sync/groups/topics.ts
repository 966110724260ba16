import type { Cluster } from '../../client/cluster.js'
import { isThere } from '../../client/metadata.js'
import type { MirrorEntry } from '../../mirror/fold.js'
import type { SyncProblem } from '../../mirror/state.js'
import { idsDiffer } from '../../protocol/uuid.js'

/** What a mirror knows a topic by on both sides. */
export interface PinnedTopic {
  readonly sourceTopicId: string
  /** The one it was added with, and the one its owner last aligned with: the same unless it was rebuilt empty. */
  readonly destinationTopicIds: ReadonlySet<string>
}

/** What the mirror knows these topics by; those it has not are left out. */
export function pinnedTopics(entry: MirrorEntry, topics: Iterable<string>): Map<string, PinnedTopic> {
  const pinned = new Map<string, PinnedTopic>()
  for (const topic of topics) {
    const spec = entry.topics.get(topic)
    if (spec === undefined) continue
    const aligned = [...(entry.statuses.get(topic)?.values() ?? [])].filter(({ addedAt }) => addedAt === spec.addedAt)
    const destinationTopicIds = new Set([spec.destinationTopicId, ...aligned.map((status) => status.destinationTopicId)])
    pinned.set(topic, { sourceTopicId: spec.sourceTopicId, destinationTopicIds })
  }
  return pinned
}

/**
 * Those of the topics that still are what they were: positions in a topic that was made again under the same name say
 * nothing about the copy of the old one. One that is missing on a side is left out without a word.
 *
 * @throws ConnectionError
 */
export async function unchangedTopics(
  source: Cluster,
  destination: Cluster,
  pinned: ReadonlyMap<string, PinnedTopic>,
): Promise<{ readonly topics: ReadonlySet<string>; readonly problems: readonly SyncProblem[] }> {
  const names = [...pinned.keys()]
  if (names.length === 0) return { topics: new Set(), problems: [] }
  const [there, here] = await Promise.all([source.topics(names), destination.topics(names)])
  const topics = new Set<string>()
  const problems: SyncProblem[] = []
  for (const [topic, { sourceTopicId, destinationTopicIds }] of pinned) {
    const [from, to] = [there.get(topic), here.get(topic)]
    if (!isThere(from) || !isThere(to)) continue
    const known = (id: string) => !idsDiffer(to.topicId, id)
    const remade = idsDiffer(from.topicId, sourceTopicId) ? 'source' : [...destinationTopicIds].some(known) ? undefined : 'destination'
    if (remade === undefined) topics.add(topic)
    else problems.push({ item: topic, message: `positions in it wait, since the ${remade} topic was deleted and made again` })
  }
  return { topics, problems }
}

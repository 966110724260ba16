import type { MirrorConfig } from '../../mirror/config.js'
import type { MirrorState } from '../../mirror/fold.js'
import { type Selection, selectTopics } from '../../mirror/selection.js'
import type { SyncProblem, TopicSpec } from '../../mirror/state.js'
import { CLUSTER_OWN_TOPICS } from '../../mirror/state-topic.js'

export interface FoundTopic {
  readonly name: string
  /** As the source's brokers mark their own. What only looks so is a topic as any other. */
  readonly internal: boolean
}

export interface DiscoveryPlan {
  /** To be added, sorted. */
  readonly add: readonly string[]
  readonly problems: readonly SyncProblem[]
  readonly notes: readonly string[]
}

type Filters = Pick<MirrorConfig, 'topicsInclude' | 'topicsExclude'>

/** Which topics of the source the mirror does not know yet and should have. Pure. */
export function planDiscovery(state: MirrorState, mirror: string, filters: Filters, found: Iterable<FoundTopic>): DiscoveryPlan {
  const known: ReadonlyMap<string, TopicSpec> = state.mirror(mirror)?.topics ?? new Map()
  const { topics, missing } = selectFound(filters, found)
  const add: string[] = []
  const problems: SyncProblem[] = []
  for (const topic of topics) {
    // One that was removed is known too: it comes back by name only. An addition that was interrupted is finished.
    const spec = known.get(topic)
    if (spec !== undefined && spec.desired !== 'ADDING') continue
    const owner = state.mirrorOf(topic)
    if (owner === undefined || owner === mirror) add.push(topic)
    else problems.push({ item: topic, message: `topic ${topic} is already mirrored by mirror ${owner}; leave it out of one of the two` })
  }
  const absent = missing.filter((topic) => !known.has(topic))
  const notes = absent.map((topic) => `topic ${topic} of mirror.topics.include is not on the source`)
  return { add, problems, notes }
}

/** Topics that the lists mean: names whatever is excluded, and never those that belong to the cluster. */
export function selectFound({ topicsInclude, topicsExclude }: Filters, found: Iterable<FoundTopic>): Selection {
  const ordinary = [...found].filter(({ name, internal }) => !internal && !CLUSTER_OWN_TOPICS.has(name)).map(({ name }) => name)
  return selectTopics(topicsInclude, topicsExclude, ordinary)
}

/** Whether the mirror, as it is now, still wants a topic that was found: settings and topics may have changed since. */
export const isStillWanted = (state: MirrorState, mirror: string, filters: Filters, topic: string): boolean =>
  planDiscovery(state, mirror, filters, [{ name: topic, internal: false }]).add.length > 0

import { describeConfigs, type Result } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'
import { batchesOf, inPool } from '../../client/many.js'
import { isThere } from '../../client/metadata.js'
import { DESTINATION, type Place, sourceOf, toMirrorError } from '../../mirror/failures.js'
import type { ActiveTopic } from '../../mirror/fold.js'
import type { TopicConfigs } from '../../mirror/held.js'
import { put } from '../../mirror/spec-store.js'
import type { SyncProblem } from '../../mirror/state.js'
import { idsDiffer } from '../../protocol/uuid.js'
import type { SyncContext, SyncLoop } from '../types.js'
import { caredFor, destinationIdsOf, isAnyOf, isCaredFor } from './active-topics.js'
import { type ConfigSides, planConfigs, sameValues, takenAfter } from './config-plan.js'
import { unlessTakenBack } from './taken-back.js'
import { type AppliedSettings, applyTopicSettings, refusalWarnings, topicConfigsOf } from './topic-settings.js'

const TOPICS_PER_REQUEST = 100
const TOPICS_AT_ONCE = 8

/** Keeps topics' settings as the source has them, and the held ones of them in the spec. Sends nothing where nothing differs. */
export const configs: SyncLoop = {
  name: 'configs',
  intervalMs: (config) => config.metadataRefreshIntervalMs,
  async run(context) {
    const { mirror, source, destination } = context
    const topics = caredFor(context.state(), mirror)
    const problems: SyncProblem[] = []
    const names = await stillTheirs(context, topics)
    const [there, here] = await Promise.all([readMany(source, names), readMany(destination, names)])
    const compared = names.flatMap((topic): Compared[] => {
      const [theirs, ours] = [there.get(topic)!, here.get(topic)!]
      if (theirs.ok && ours.ok) {
        const sides = { source: theirs.value, destination: ours.value, exclude: context.config().topicPropertiesExclude }
        return [{ topic, spec: topics.get(topic)!, sides }]
      }
      problems.push(...unreadable(topic, theirs, sourceOf(mirror)), ...unreadable(topic, ours, DESTINATION))
      return []
    })
    const outcomes = await inPool(TOPICS_AT_ONCE, compared, (one) => applyOne(context, one))
    const remembered = await remember(context, outcomes)
    return {
      changes: outcomes.reduce((sum, { changes }) => sum + changes, remembered),
      problems: [...problems, ...outcomes.flatMap((outcome) => outcome.problems)],
      notes: [],
    }
  },
}

interface Compared {
  readonly topic: string
  readonly spec: ActiveTopic
  readonly sides: ConfigSides
}

interface Outcome extends Compared {
  readonly changes: number
  readonly problems: readonly SyncProblem[]
  /** Keys the destination does not have as the source does; undefined if that is not known. */
  readonly refused: ReadonlySet<string> | undefined
}

/** Topics that both sides have, and as they were added: of others the settings mean nothing, and another loop tells of them. */
async function stillTheirs(context: SyncContext, topics: ReadonlyMap<string, ActiveTopic>): Promise<string[]> {
  if (topics.size === 0) return []
  const names = [...topics.keys()]
  const [there, here] = await Promise.all([context.source.topics(names), context.destination.topics(names)])
  return names.filter((topic) => {
    const [theirs, ours] = [there.get(topic), here.get(topic)]
    if (!isThere(theirs) || !isThere(ours) || idsDiffer(theirs.topicId, topics.get(topic)!.sourceTopicId)) return false
    return isAnyOf(ours.topicId, destinationIdsOf(context.state(), context.mirror, topic))
  })
}

async function readMany(cluster: Cluster, topics: readonly string[]): Promise<Map<string, Result<TopicConfigs>>> {
  const found = new Map<string, Result<TopicConfigs>>()
  for (const part of batchesOf(topics, TOPICS_PER_REQUEST)) {
    const results = await describeConfigs(
      cluster,
      part.map((name) => ({ type: 'topic' as const, name })),
    )
    for (const [i, result] of results.entries()) found.set(part[i]!, result.ok ? { ok: true, value: topicConfigsOf(result.value) } : result)
  }
  return found
}

const unreadable = (topic: string, result: Result<unknown>, place: Place): SyncProblem[] =>
  result.ok ? [] : [{ item: topic, message: toMirrorError(result.error, place, `settings of topic ${topic} cannot be read`).message }]

async function applyOne(context: SyncContext, { topic, spec, sides }: Compared): Promise<Outcome> {
  const { changes, unknown } = planConfigs(spec, sides)
  const problems = unknown.map((key) => ({ item: topic, message: `topic ${topic}: the destination has no setting ${key}` }))
  const outcome = { topic, spec, sides, problems, changes: 0 }
  // Settings that come off at a failover must not be put on behind it.
  const now = context.state().mirror(context.mirror)?.topics.get(topic)
  if (!context.ownsShard() || !isCaredFor(now) || now.addedAt !== spec.addedAt) return { ...outcome, refused: undefined }
  if (changes.size === 0) return { ...outcome, refused: new Set() }
  let applied: AppliedSettings
  try {
    applied = await applyTopicSettings(context.destination, topic, changes)
  } catch (cause) {
    const { message } = toMirrorError(cause, DESTINATION, `settings of topic ${topic} could not be changed on the destination`)
    return { ...outcome, problems: [...problems, { item: topic, message }], refused: undefined }
  }
  if (!applied.exists || (await unlessTakenBack(context, topic, spec)) === undefined) return { ...outcome, refused: undefined }
  const refusals = refusalWarnings(topic, applied).map((message) => ({ item: topic, message }))
  const refused = new Set(applied.refused.map(({ key }) => key))
  return { ...outcome, problems: [...problems, ...refusals], refused, changes: changes.size - refused.size }
}

/** Keeps what was taken and what is held in the spec, for all topics in one record set. Gives how many topics that changed. */
async function remember({ mirror, store }: SyncContext, outcomes: readonly Outcome[]): Promise<number> {
  const changed = outcomes.filter(({ spec, sides, refused }) => refused !== undefined && differs(spec, updated(spec, sides, refused)))
  if (changed.length === 0) return 0
  return store.update((state) => {
    const topics = state.mirror(mirror)?.topics
    const records = changed.flatMap(({ topic, spec, sides, refused }) => {
      const now = topics?.get(topic)
      if (!isCaredFor(now) || now.addedAt !== spec.addedAt) return []
      const next = { ...now, ...updated(now, sides, refused!) }
      return differs(now, next) ? [put({ kind: 'topic', mirror, topic }, next)] : []
    })
    return { records, result: records.length }
  })
}

type Remembered = Pick<ActiveTopic, 'held' | 'taken'>

const updated = (spec: Remembered, sides: ConfigSides, refused: ReadonlySet<string>): Remembered => ({
  held: planConfigs(spec, sides).held,
  taken: takenAfter(spec, sides, refused),
})

const differs = (a: Remembered, b: Remembered): boolean => !sameValues(a.held, b.held) || !sameValues(a.taken, b.taken)

import type { Cluster } from '../client/cluster.js'
import { inPool } from '../client/many.js'
import { mirrorConfigOf } from '../mirror/config.js'
import type { MirrorConfigKey } from '../mirror/config-definitions.js'
import { failure, usageError } from '../mirror/errors.js'
import { about, DESTINATION, sourceOf, toMirrorError } from '../mirror/failures.js'
import { isLiteral, parsePattern } from '../mirror/filters.js'
import { checkName } from '../mirror/names.js'
import { selectTopics } from '../mirror/selection.js'
import { type Mirror, mustExist, put } from '../mirror/spec-store.js'
import { NO_UUID } from '../protocol/schema.js'
import { uuidToBase64 } from '../protocol/uuid.js'
import { type Addition, additionOf, planTopic } from '../sync/topics/add-plan.js'
import { addPlanned, unlessCreatedMeanwhile } from '../sync/topics/add-topic.js'
import { selectFound } from '../sync/topics/discovery-plan.js'
import { isCircle, notCopiedBack } from '../sync/topics/origins.js'
import { byName, entriesOf, type ServiceContext } from './context.js'
import { checkedClusterId, withSource } from './source-connection.js'
import { topicAdmission } from './topic-admission.js'
import type { AddedTopic, AddTopicsToMirrorOptions, AddTopicsToMirrorResult, TextMap, TopicResult } from './types.js'

const TOPICS_AT_ONCE = 8

/** See {@link MirrorAdmin.addTopicsToMirror}. */
export async function addTopicsToMirror(
  context: ServiceContext,
  topicToMirror: TextMap,
  options: AddTopicsToMirrorOptions,
): Promise<AddTopicsToMirrorResult> {
  const selectors = checkedSelectors(topicToMirror, options)
  const state = await context.store.read()
  const mirrors = [...selectors.keys()].map((name) => mustExist(state, name))
  await checkReplicationFactor(context, options.replicationFactor)
  const results: TopicResult<AddedTopic>[] = []
  const warnings: string[] = []
  for (const mirror of mirrors) {
    const wanted = selectors.get(mirror.name)!
    const bootstrapServers = options.remoteBootstrapServer
    const added = await withSource({ mirror: mirror.name, configs: mirror.configs, bootstrapServers }, async (source) => {
      const request = await begin(context, mirror, source, options, warnings)
      const topics = await addAll(request, wanted)
      // Last, or a runner would find the same topics meanwhile, and create them as it thinks fit.
      if (wanted.discover.length > 0 && !options.dryRun) await keepPatterns(context, mirror.name, wanted.discover, options.exclude ?? [])
      return topics
    })
    results.push(...added.sort(byName))
  }
  return { topics: results, warnings }
}

/** What is to be added to one mirror: names and patterns of now, and those to be kept. */
interface Selectors {
  readonly now: string[]
  readonly discover: string[]
}

/** Mirror → selectors. Throws MirrorError (usage) for what cannot be a topic, a mirror, a regex, an id or a factor. */
function checkedSelectors(topicToMirror: TextMap, options: AddTopicsToMirrorOptions): Map<string, Selectors> {
  const selectors = new Map<string, Selectors>()
  for (const [kind, map] of [['now', topicToMirror] as const, ['discover', options.discover ?? {}] as const]) {
    for (const [selector, mirror] of entriesOf(map)) {
      checkName('mirror', mirror)
      if (isLiteral(selector)) checkName('topic', selector)
      else parsePattern(selector)
      const known = selectors.get(mirror) ?? { now: [], discover: [] }
      known[kind].push(selector)
      selectors.set(mirror, known)
    }
  }
  for (const pattern of options.exclude ?? []) parsePattern(pattern)
  for (const [topic, id] of entriesOf(options.topicIds ?? {})) {
    if (!/^[A-Za-z0-9_-]{22}$/.test(id))
      throw usageError(
        'INVALID_REQUEST',
        `'${id}' is not a topic id (for topic ${topic})`,
        'A topic id has 22 characters, as kafka-topics --describe shows it.',
      )
  }
  const factor = options.replicationFactor
  if (factor !== undefined && (!Number.isInteger(factor) || factor < 1 || factor > 32_767)) {
    throw usageError('REPLICATION_FACTOR', `'${factor}' is not a replication factor`)
  }
  if (selectors.size === 0) throw usageError('INVALID_REQUEST', 'no topic is named', 'Name topics or patterns to add.')
  return selectors
}

async function checkReplicationFactor({ destination }: ServiceContext, factor: number | undefined): Promise<void> {
  if (factor === undefined) return
  const brokers = (await about(DESTINATION, undefined, () => destination.brokers())).length
  if (factor <= brokers) return
  throw failure('REPLICATION_FACTOR', `replication factor ${factor} is larger than the destination's ${brokers} broker(s)`)
}

/** What one call adds to one mirror. */
interface Request {
  readonly context: ServiceContext
  readonly mirror: Mirror
  readonly addition: Addition
  readonly options: AddTopicsToMirrorOptions
  readonly warnings: string[]
}

async function begin(
  context: ServiceContext,
  mirror: Mirror,
  source: Cluster,
  options: AddTopicsToMirrorOptions,
  warnings: string[],
): Promise<Request> {
  const { destination } = context
  const sourceClusterId = await checkedClusterId(source, mirror.name, mirror.spec.sourceClusterId)
  const destinationClusterId = await about(DESTINATION, undefined, () => destination.clusterId())
  if (sourceClusterId === destinationClusterId) {
    throw failure('SAME_CLUSTER', `source and destination of mirror ${mirror.name} are the same cluster (${sourceClusterId})`)
  }
  const admission = topicAdmission(source, destination)
  const addition = await additionOf({ mirror: mirror.name, source, destination, admission, sourceClusterId, destinationClusterId })
  return { context, mirror, addition, options, warnings }
}

async function addAll(request: Request, wanted: Selectors): Promise<TopicResult<AddedTopic>[]> {
  const { mirror, options, addition } = request
  const config = mirrorConfigOf(mirror.configs)
  const exclude = [...(options.exclude ?? []), ...config.topicsExclude]
  const topics = [...addition.sourceTopics.values()]
  // Patterns never mean a cluster's own topics, whatever is excluded; a name does, and is then told why not.
  const ordinary = topics.filter(({ name, internal }) => !internal || wanted.now.includes(name)).map(({ name }) => name)
  const selection = selectTopics(wanted.now, exclude, ordinary)
  const discovered = discoveredNow(request, { topicsInclude: wanted.discover, topicsExclude: exclude })
  const failed = [
    ...selection.missing.map((topic) => ({
      topic,
      error: failure('UNKNOWN_TOPIC', `there is no topic ${topic} on the source of mirror ${mirror.name}`, SEE),
    })),
    ...selection.unmatched.map((topic) => ({
      topic,
      error: failure('UNKNOWN_TOPIC', `no topic on the source of mirror ${mirror.name} matches ${topic}`, SEE),
    })),
  ].map(({ topic, error }): TopicResult<AddedTopic> => ({ topic, mirror: mirror.name, ok: false, error }))
  const selected = [...new Set([...selection.topics, ...discovered])]
  return [...failed, ...(await inPool(TOPICS_AT_ONCE, selected, (topic) => addOne(request, topic)))]
}

/** What patterns that are kept match now, as a runner would find it: not what was removed before or comes from here, which is said. */
function discoveredNow({ mirror, addition, warnings }: Request, filters: Parameters<typeof selectFound>[0]): readonly string[] {
  const found = selectFound(filters, addition.sourceTopics.values()).topics
  const removed = found.filter((topic) => mirror.topics.get(topic)?.desired === 'STOPPED')
  if (removed.length > 0)
    warnings.push(
      `removed from mirror ${mirror.name} before, and not added again by a pattern: ${removed.join(', ')}; name them to --topic`,
    )
  const own = found.filter((topic) => !removed.includes(topic) && isCircle(addition.sourceState, topic, addition.destinationClusterId))
  warnings.push(...notCopiedBack(own))
  return found.filter((topic) => !removed.includes(topic) && !own.includes(topic))
}

/** Adds to the mirror's own lists, which are what runners discover by. */
async function keepPatterns(
  { store }: ServiceContext,
  name: string,
  include: readonly string[],
  exclude: readonly string[],
): Promise<void> {
  await store.update((state) => {
    const { configs } = mustExist(state, name)
    const { topicsInclude, topicsExclude } = mirrorConfigOf(configs)
    const longer = (key: MirrorConfigKey, list: readonly string[], more: readonly string[]) => {
      const news = more.filter((entry) => !list.includes(entry))
      return news.length === 0 ? [] : [put({ kind: 'config', mirror: name, key }, { value: [...list, ...news].join(',') })]
    }
    const records = [...longer('mirror.topics.include', topicsInclude, include), ...longer('mirror.topics.exclude', topicsExclude, exclude)]
    return { records, result: undefined }
  })
}

const SEE = 'Names are case-sensitive; topics without the right to DESCRIBE are not seen.'

/** One topic from check to record. Never throws: one topic's error is no other's. */
async function addOne(request: Request, topic: string): Promise<TopicResult<AddedTopic>> {
  const mirror = request.mirror.name
  try {
    return { topic, mirror, ok: true, ...(await unlessCreatedMeanwhile(() => planAndAdd(request, topic))) }
  } catch (error) {
    return { topic, mirror, ok: false, error: toMirrorError(error, DESTINATION, `topic ${topic} could not be added`) }
  }
}

/** Of a topic that is there already, and yet not copied. */
export const pausedWarning = (mirror: string, topic: string) =>
  `topic ${topic} of mirror ${mirror} is paused; kafka-mirrors resume lets it go on`

async function planAndAdd({ mirror, context, addition, options, warnings }: Request, topic: string): Promise<AddedTopic> {
  const wantedId = entriesOf(options.topicIds ?? {}).get(topic)
  const plan = await about(sourceOf(mirror.name), `topic ${topic} could not be added`, async () =>
    planTopic(addition, await context.store.read(), topic, wantedId),
  )
  if (plan.how === 'unchanged' && mirror.topics.get(topic)?.desired === 'PAUSED') warnings.push(pausedWarning(mirror.name, topic))
  let topicId = plan.here?.topicId
  if (!options.dryRun && plan.how !== 'unchanged') {
    const added = await addPlanned(addition, plan, context.store, {
      replicationFactor: options.replicationFactor,
      excludedSettings: mirrorConfigOf(mirror.configs).topicPropertiesExclude,
      now: () => context.now(),
    })
    topicId = added.topicId
    warnings.push(...added.warnings)
  }
  return {
    partitions: plan.there.partitions.length,
    sourceTopicId: shown(plan.there.topicId) ?? '',
    destinationTopicId: shown(topicId),
    how: plan.how,
    fastForward: plan.fastForward,
  }
}

const shown = (topicId: string | undefined) => (topicId === undefined || topicId === NO_UUID ? undefined : uuidToBase64(topicId))

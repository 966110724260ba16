import type { Cluster } from '../client/cluster.js'
import { KeyedLog } from '../client/keyed-log.js'
import { mirrorConfigOf } from '../mirror/config.js'
import { failure, MirrorError, usageError } from '../mirror/errors.js'
import { isLiteral, parsePattern } from '../mirror/filters.js'
import { isActive, MirrorState } from '../mirror/fold.js'
import { checkName } from '../mirror/names.js'
import { selectTopics } from '../mirror/selection.js'
import type { TopicSpec } from '../mirror/state.js'
import { STATE_TOPIC } from '../mirror/state-topic.js'
import { Errors, KafkaError } from '../protocol/errors.js'
import { NO_UUID } from '../protocol/schema.js'
import { uuidToBase64 } from '../protocol/uuid.js'
import { checkNotTaken } from './add-checks.js'
import { type Addition, type Plan, planTopic } from './add-plan.js'
import { byName, entriesOf, inPool, type ServiceContext } from './context.js'
import { prepareTopic } from './destination-topic.js'
import { about, DESTINATION, sourceOf, toMirrorError } from './failures.js'
import { checkedClusterId, withSource } from './source-connection.js'
import { type Mirror, mustExist, put } from './state-store.js'
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
    const bootstrapServers = options.remoteBootstrapServer
    const added = await withSource({ mirror: mirror.name, configs: mirror.configs, bootstrapServers }, async (source) => {
      const addition = await begin(context, mirror, source, options, warnings)
      return addAll(addition, selectors.get(mirror.name)!)
    })
    results.push(...added.sort(byName))
  }
  return { topics: results, warnings }
}

/** Mirror → selectors. Throws MirrorError (usage) for what cannot be a topic, a mirror, a regex, an id or a factor. */
function checkedSelectors(topicToMirror: TextMap, options: AddTopicsToMirrorOptions): Map<string, string[]> {
  const selectors = new Map<string, string[]>()
  for (const [selector, mirror] of entriesOf(topicToMirror)) {
    checkName('mirror', mirror)
    if (isLiteral(selector)) checkName('topic', selector)
    else parsePattern(selector)
    selectors.set(mirror, [...(selectors.get(mirror) ?? []), selector])
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

async function begin(
  context: ServiceContext,
  mirror: Mirror,
  source: Cluster,
  options: AddTopicsToMirrorOptions,
  warnings: string[],
): Promise<Addition> {
  const sourceClusterId = await checkedClusterId(source, mirror.name, mirror.spec.sourceClusterId)
  const destinationClusterId = await about(DESTINATION, undefined, () => context.destination.clusterId())
  if (sourceClusterId === destinationClusterId) {
    throw failure('SAME_CLUSTER', `source and destination of mirror ${mirror.name} are the same cluster (${sourceClusterId})`)
  }
  const sourceTopics = await source.topics()
  const sourceState = sourceTopics.has(STATE_TOPIC) ? await sourceMirrors(source) : undefined
  return { context, mirror, source, sourceClusterId, sourceTopics, sourceState, destinationClusterId, options, warnings }
}

/** The mirrors the source itself is the destination of; unknown without the right to read them. */
async function sourceMirrors(source: Cluster): Promise<MirrorState | undefined> {
  const records = await new KeyedLog(source, STATE_TOPIC).load().catch(() => undefined)
  return records && MirrorState.of(records)
}

async function addAll(addition: Addition, selectors: readonly string[]): Promise<TopicResult<AddedTopic>[]> {
  const { mirror, options, sourceTopics } = addition
  const exclude = [...(options.exclude ?? []), ...mirrorConfigOf(mirror.configs).topicsExclude]
  // Patterns never mean a cluster's own topics, whatever is excluded; a name does, and is then told why not.
  const ordinary = [...sourceTopics.values()].filter(({ name, internal }) => !internal || selectors.includes(name)).map(({ name }) => name)
  const selection = selectTopics(selectors, exclude, ordinary)
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
  return [...failed, ...(await inPool(TOPICS_AT_ONCE, selection.topics, (topic) => addOne(addition, topic)))]
}

const SEE = 'Names are case-sensitive; topics without the right to DESCRIBE are not seen.'

/** One topic from check to record. Never throws: one topic's error is no other's. */
async function addOne(addition: Addition, topic: string): Promise<TopicResult<AddedTopic>> {
  const { mirror } = addition
  for (let attempt = 1; ; attempt++) {
    try {
      return { topic, mirror: mirror.name, ok: true, ...(await planAndAdd(addition, topic)) }
    } catch (error) {
      // Somebody else created it since we looked: look again, at the mirrors too.
      if (isExisting(error) && attempt < ATTEMPTS) continue
      return { topic, mirror: mirror.name, ok: false, error: toMirrorError(error, DESTINATION, `topic ${topic} could not be added`) }
    }
  }
}

async function planAndAdd(addition: Addition, topic: string): Promise<AddedTopic> {
  const { mirror, context, options } = addition
  const plan = await about(sourceOf(mirror.name), `topic ${topic} could not be added`, () => planTopic(addition, topic))
  const topicId = options.dryRun || plan.how === 'unchanged' ? plan.here?.topicId : await addPlanned(context, addition, plan)
  return {
    partitions: plan.there.partitions.length,
    sourceTopicId: shown(plan.there.topicId) ?? '',
    destinationTopicId: shown(topicId),
    how: plan.how,
    fastForward: plan.fastForward,
  }
}

const ATTEMPTS = 3

const isExisting = (error: unknown): boolean =>
  error instanceof MirrorError && error.cause instanceof KafkaError && error.cause.code === Errors.TOPIC_ALREADY_EXISTS

const shown = (topicId: string | undefined) => (topicId === undefined || topicId === NO_UUID ? undefined : uuidToBase64(topicId))

/** Prepares the destination's topic, then records the addition, which makes runners begin. Gives the destination's topic id. */
async function addPlanned(context: ServiceContext, addition: Addition, plan: Plan): Promise<string> {
  const { mirror, source, options } = addition
  const { there } = plan
  const prepared = await prepareTopic({
    source,
    destination: context.destination,
    there,
    here: plan.here,
    replicationFactor: options.replicationFactor,
    excludedSettings: mirrorConfigOf(mirror.configs).topicPropertiesExclude,
  })
  addition.warnings.push(...prepared.warnings)
  await context.store.update((state) => {
    const now = mustExist(state, mirror.name)
    checkNotTaken(state, mirror.name, there.name)
    const before = now.topics.get(there.name)
    if (isActive(before)) return { records: [], result: undefined }
    const spec: TopicSpec = {
      desired: 'MIRRORING',
      sourceTopicId: there.topicId,
      destinationTopicId: prepared.topicId,
      partitions: there.partitions.length,
      producers: prepared.producers,
      held: prepared.held,
      // It tells this addition from earlier ones, so it must differ from them whatever the clock says.
      addedAt: Math.max(context.now(), (before?.addedAt ?? 0) + 1),
    }
    const pinned =
      now.spec.sourceClusterId === undefined
        ? [put({ kind: 'mirror', mirror: mirror.name }, { ...now.spec, sourceClusterId: addition.sourceClusterId })]
        : []
    return { records: [...pinned, put({ kind: 'topic', mirror: mirror.name, topic: there.name }, spec)], result: undefined }
  })
  return prepared.topicId
}

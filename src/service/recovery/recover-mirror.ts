import { describeConfigs } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'
import { inPool } from '../../client/many.js'
import { mirrorConfigOf } from '../../mirror/config.js'
import { failure, usageError } from '../../mirror/errors.js'
import { DESTINATION, sourceOf, toMirrorError } from '../../mirror/failures.js'
import { isLiteral, parsePattern } from '../../mirror/filters.js'
import { type ActiveTopic, isActive, isAdded, type MirrorState } from '../../mirror/fold.js'
import { checkName } from '../../mirror/names.js'
import { selectTopics } from '../../mirror/selection.js'
import { type Mirror, mustExist, put } from '../../mirror/spec-store.js'
import type { RecoveryWish } from '../../mirror/state.js'
import { coming } from '../conflicts.js'
import { byName, type ServiceContext, within } from '../context.js'
import { partitionsOf } from '../partitions.js'
import { missingCreateRight, missingTopicRights, refuseMissingRights } from '../rights.js'
import { liveRunners } from '../runners.js'
import { checkedClusterId, openSource } from '../source-connection.js'
import type { RecoveredPartition, RecoveredTopic, RecoverMirrorOptions, RecoverMirrorResult, TopicResult } from '../types.js'
import { diagnose } from './diagnose.js'
import { droppedWarning } from './dropped.js'
import { examine, type PartitionFacts } from './examine.js'
import { reseedTopic } from './reseed.js'
import { tailTopicOf } from './reseed-state.js'

const SOURCE_WITHIN_MS = 10_000
const TOPICS_AT_ONCE = 4

/** See {@link MirrorAdmin.recoverMirror}. */
export async function recoverMirror(context: ServiceContext, name: string, options: RecoverMirrorOptions): Promise<RecoverMirrorResult> {
  checkOptions(name, options)
  const state = await context.store.read()
  const mirror = mustExist(state, name)
  const topics = selected(mirror, options)
  checkPartitions(mirror, topics, options.partitions)
  const { cluster: source } = openedSource(mirror)
  try {
    const unseen = await whyUnseen(source, mirror)
    const work: Work = { context, mirror, state, source, unseen, options, warnings: [] }
    const results = await inPool(TOPICS_AT_ONCE, topics, (topic) => recoverTopic(work, topic))
    const found = results.filter((result) => !result.ok || result.partitions.length > 0)
    if (unseen !== undefined) work.warnings.push(`the logs of mirror ${name} cannot be compared: ${unseen}`)
    if (!options.dryRun && found.length > 0 && (await liveRunners(context.destination).catch(() => 1)) === 0)
      work.warnings.push('no runner is alive: what is to be tried or copied again waits until one is started with run')
    return { topics: found.sort(byName), warnings: work.warnings }
  } finally {
    await source.close()
  }
}

interface Work {
  readonly context: ServiceContext
  readonly mirror: Mirror
  readonly state: MirrorState
  readonly source: Cluster
  /** Why the source cannot be looked at, if it cannot. */
  readonly unseen: string | undefined
  readonly options: RecoverMirrorOptions
  readonly warnings: string[]
}

function checkOptions(name: string, { topics = [], partitions, onDivergence, discardDiverged }: RecoverMirrorOptions): void {
  checkName('mirror', name)
  for (const selector of topics) isLiteral(selector) ? checkName('topic', selector) : parsePattern(selector)
  if (onDivergence !== undefined && partitions !== undefined)
    throw usageError('INVALID_REQUEST', 'a topic is copied again as a whole', 'Leave the partitions out.')
  if (discardDiverged && onDivergence === undefined)
    throw usageError('INVALID_REQUEST', 'nothing is thrown away unless the topic is copied again', 'Add --on-divergence reseed.')
}

/** Nothing has gone wrong yet with a topic that is still being added; whoever names it is told so. */
function selected(mirror: Mirror, { topics }: RecoverMirrorOptions): string[] {
  const those = (chosen: typeof isActive) => [...mirror.topics].filter(([, spec]) => chosen(spec)).map(([topic]) => topic)
  if (topics === undefined || topics.length === 0) return those(isAdded).sort()
  const { topics: found, missing, unmatched } = selectTopics([...topics], [], those(isActive))
  const [unknown] = [...missing, ...unmatched]
  if (unknown === undefined) return [...found]
  throw failure('TOPIC_NOT_MIRRORED', `mirror ${mirror.name} has no topic ${unknown}`, 'See what it has with describe.')
}

/** Throws MirrorError for a partition that none of the topics has. */
export function checkPartitions(mirror: Mirror, topics: readonly string[], partitions: readonly number[] = []): void {
  const unknown = partitions.find((partition) => topics.every((topic) => partition >= (mirror.topics.get(topic)?.partitions ?? 0)))
  if (unknown === undefined) return
  const what =
    topics.length === 1
      ? `topic ${topics[0]} of mirror ${mirror.name} has no partition ${unknown}`
      : `no topic of mirror ${mirror.name} has a partition ${unknown}`
  throw failure('TOPIC_NOT_MIRRORED', what, 'See what it has with describe.')
}

function openedSource(mirror: Mirror) {
  try {
    return openSource({ mirror: mirror.name, configs: mirror.configs })
  } catch (error) {
    throw toMirrorError(error, sourceOf(mirror.name))
  }
}

async function whyUnseen(source: Cluster, mirror: Mirror): Promise<string | undefined> {
  let why: string | undefined
  await within(SOURCE_WITHIN_MS, checkedClusterId(source, mirror.name, mirror.spec.sourceClusterId), (error) => {
    why = toMirrorError(error, sourceOf(mirror.name)).message
  })
  return why
}

/** One topic from look to deed. Never throws: one topic's error is no other's. */
async function recoverTopic(work: Work, topic: string): Promise<TopicResult<RecoveredTopic>> {
  const base = { topic, mirror: work.mirror.name }
  if (!isAdded(work.mirror.topics.get(topic))) return { ...base, ok: false, error: coming(work.mirror.name, topic) }
  try {
    const partitions = await diagnosed(work, topic)
    const kept = work.options.dryRun ? undefined : await act(work, topic, partitions)
    return { ...base, ok: true, partitions: partitions.map(({ partition }) => partition), kept }
  } catch (error) {
    return { ...base, ok: false, error: toMirrorError(error, DESTINATION, `topic ${topic} could not be recovered`) }
  }
}

interface Diagnosed {
  readonly facts: PartitionFacts
  readonly partition: RecoveredPartition
}

async function diagnosed(work: Work, topic: string): Promise<Diagnosed[]> {
  const { mirror, options, source, context, unseen } = work
  const spec = mirror.topics.get(topic) as ActiveTopic
  const partitions = partitionsOf(spec).filter((partition) => options.partitions?.includes(partition) ?? true)
  const statusOf = (partition: number) => {
    const status = mirror.statuses.get(topic)?.get(partition)
    return status?.addedAt === spec.addedAt ? status : undefined
  }
  const isNamed = options.topics?.includes(topic) ?? false
  const isSuspect = (partition: number) => isNamed || statusOf(partition)?.state === 'FAILED'
  const looked =
    unseen === undefined && spec.reseed === undefined
      ? await examine({ source, destination: context.destination, topic, spec, partitions, isSuspect, statusOf })
      : undefined
  const allowed = { onGap: options.onGap !== undefined, onDivergence: options.onDivergence !== undefined }
  const found = partitions.flatMap((partition) => {
    const status = statusOf(partition)
    // Nothing is known of a source out of reach, so there is nothing to say about partitions that are well.
    if (looked === undefined && spec.reseed === undefined && status?.state !== 'FAILED') return []
    const facts: PartitionFacts = {
      mirror: mirror.name,
      topic,
      partition,
      spec,
      status,
      onGap: mirrorConfigOf(mirror.configs).onGap,
      wish: work.state.recovery(mirror.name, topic, partition, spec.addedAt),
      ...(looked?.get(partition) ?? { source: undefined, destination: undefined, differsFrom: undefined, tail: undefined, unseen }),
    }
    const verdict = diagnose(facts, allowed)
    return verdict === undefined ? [] : [{ facts, partition: verdict }]
  })
  const isReseeded = found.some(({ partition }) => partition.action === 'reseed')
  const dropped = isReseeded && looked !== undefined ? droppedWarning(topic, looked) : undefined
  if (dropped !== undefined) work.warnings.push(dropped)
  return found
}

async function act(work: Work, topic: string, found: readonly Diagnosed[]): Promise<RecoveredTopic['kept']> {
  if (found.some(({ partition }) => partition.action === 'reseed')) return reseed(work, topic)
  await writeWishes(work, topic, found)
  return undefined
}

/** Runners try again as soon as they read it, and take the wish for what it is. */
async function writeWishes({ context, mirror }: Work, topic: string, found: readonly Diagnosed[]): Promise<void> {
  const at = context.now()
  await context.store.update((state) => {
    const spec = mustExist(state, mirror.name).topics.get(topic)
    const records = found.flatMap(({ facts, partition }) => {
      if (!isActive(spec) || spec.addedAt !== facts.spec.addedAt) return []
      const wish = wishFor(partition, facts, spec.addedAt, at)
      return [put({ kind: 'recovery', mirror: mirror.name, topic, partition: partition.partition }, wish)]
    })
    return { records, result: undefined }
  })
}

function wishFor({ action, lost }: RecoveredPartition, { wish }: PartitionFacts, addedAt: number, at: number): RecoveryWish {
  if (action === 'record-gap') return { action, from: lost!.from, to: lost!.to + 1n, addedAt, at }
  // A gap that is to be recorded stays so.
  return wish?.action === 'record-gap' ? { ...wish, at } : { action: 'retry', addedAt, at }
}

async function reseed(work: Work, topic: string): Promise<RecoveredTopic['kept']> {
  const { context, mirror, source, options, warnings, unseen } = work
  if (unseen !== undefined) throw failure('SOURCE_UNREACHABLE', unseen)
  await checkRights(work, topic)
  const { discardDiverged: discard = false, confirmationTimeoutMs } = options
  const { addedAt } = mirror.topics.get(topic)!
  const done = await reseedTopic({
    context,
    mirror: mirror.name,
    topic,
    addedAt,
    source,
    warnings,
    options: { discard, confirmationTimeoutMs },
  })
  return done.tailTopic === undefined ? undefined : { topic: done.tailTopic, records: done.keptRecords }
}

/** Before anything is stopped: what would only be found out half way. */
async function checkRights({ context, mirror, source, options }: Work, topic: string): Promise<void> {
  const spec = mirror.topics.get(topic)!
  refuseMissingRights(await missingTopicRights(source, context.destination, topic))
  await checkDeletable(context, topic)
  if (spec.reseed !== undefined || options.discardDiverged) return
  const tailTopic = tailTopicOf(topic, context.now())
  checkName('topic', tailTopic)
  refuseMissingRights(await missingCreateRight(context.destination, tailTopic))
}

/** Brokers may be told to keep every topic. Without the right to read their settings it shows when the time has come. */
export async function checkDeletable({ destination }: ServiceContext, topic: string): Promise<void> {
  const [broker] = await destination.brokers()
  const [settings] = await describeConfigs(destination, [{ type: 'broker', name: String(broker?.id) }]).catch(() => [])
  if (!settings?.ok || settings.value.find(({ name }) => name === 'delete.topic.enable')?.value !== 'false') return
  throw failure('KAFKA', `topic ${topic} cannot be created anew: the destination deletes no topics (delete.topic.enable=false)`)
}

import { listOffsets } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'
import { inPool } from '../../client/many.js'
import { clientPropertiesOf, mirrorConfigOf } from '../../mirror/config.js'
import { failure, usageError } from '../../mirror/errors.js'
import { about, DESTINATION, sourceOf, toMirrorError } from '../../mirror/failures.js'
import { isLiteral, parsePattern } from '../../mirror/filters.js'
import { isActive, isAdded } from '../../mirror/fold.js'
import { checkName } from '../../mirror/names.js'
import { selectTopics } from '../../mirror/selection.js'
import type { Mirror } from '../../mirror/spec-store.js'
import { checkNoLoop, checkNotTaken } from '../../sync/topics/add-checks.js'
import { type Addition, additionOf, planTopic } from '../../sync/topics/add-plan.js'
import { addPlanned, unlessCreatedMeanwhile } from '../../sync/topics/add-topic.js'
import { logBounds } from '../../sync/topics/log-bounds.js'
import { pausedWarning } from '../add-topics.js'
import { byName, entriesOf, type ServiceContext } from '../context.js'
import { createMirror, stateIfReadable } from '../create-mirror.js'
import { withSource } from '../source-connection.js'
import { topicAdmission } from '../topic-admission.js'
import type { TopicResult } from '../types.js'
import { examineTopic, type Findings } from './examine.js'
import { readFirstMirror, resultOf } from './first-mirror.js'
import { leftBehindWarning } from './left-behind.js'
import { divergedError, gapSentence } from './refusal.js'
import { finishReseed, reseedHere } from './reseed-here.js'
import type { RemoteProperties, ReversedTopic, ReverseMirrorOptions, ReverseMirrorResult } from './types.js'

const TOPICS_AT_ONCE = 4

/** See {@link MirrorAdmin.reverseMirror}. */
export async function reverseMirror(
  context: ServiceContext,
  name: string,
  remote: RemoteProperties,
  options: ReverseMirrorOptions,
): Promise<ReverseMirrorResult> {
  checkName('mirror', name)
  for (const selector of options.topics ?? []) isLiteral(selector) ? checkName('topic', selector) : parsePattern(selector)
  const properties = clientPropertiesOf(entriesOf(remote))
  if (!properties.get('bootstrap.servers')?.trim())
    throw usageError('INVALID_CONFIG', 'the cluster to copy back from is not named', 'It needs bootstrap.servers, like localhost:9094.')
  return withSource({ mirror: name, configs: properties }, async (source) => {
    const { destination } = context
    const destinationClusterId = await about(DESTINATION, undefined, () => destination.clusterId())
    const sourceClusterId = await source.clusterId()
    if (sourceClusterId === destinationClusterId)
      throw failure('SAME_CLUSTER', `both sides are the same cluster (${sourceClusterId})`, 'Name the cluster that copied from this one.')
    const first = await readFirstMirror(source, name, destinationClusterId)
    const before = (await stateIfReadable(context))?.mirror(name)
    if (before !== undefined) refuseOtherSource(before, sourceClusterId)
    const configs = new Map([...properties, ...[...first.configs].filter(([key]) => isCopied(key))])
    const { dryRun } = options
    const created = before === undefined ? await createMirror(context, name, configs, { dryRun: dryRun === true }) : undefined
    const warnings = [...(created?.warnings ?? [])]
    const admission = topicAdmission(source, destination)
    const addition = await additionOf({ mirror: name, source, destination, admission, sourceClusterId, destinationClusterId })
    const bootstrap = properties.get('bootstrap.servers')!
    const work: Work = { context, first, addition, configs: before?.configs ?? configs, bootstrap, options, warnings }
    const topics = await reverseAll(work)
    if (options.topics === undefined) warnings.push(...(await leftBehind(context, first, addition)))
    return { mirror: name, sourceClusterId, created: before === undefined, topics: topics.sort(byName), warnings }
  })
}

/** Never throws: what was done by now has to be told. */
async function leftBehind({ store }: ServiceContext, first: Mirror, addition: Addition): Promise<string[]> {
  try {
    return leftBehindWarning(first, await store.read(), addition)
  } catch (error) {
    return [`topics that the other cluster has beside these could not be looked for: ${(error as Error).message}`]
  }
}

/** Patterns would take topics in that nobody has examined, also such as live on here: only what was reversed is copied back, others are named. */
const isCopied = (key: string) => key.startsWith('mirror.') && key !== 'mirror.topics.include' && key !== 'mirror.topics.exclude'

interface Work {
  readonly context: ServiceContext
  /** The mirror as the other cluster has it. */
  readonly first: Mirror
  readonly addition: Addition
  /** Of the mirror on this cluster. */
  readonly configs: ReadonlyMap<string, string>
  /** How the other cluster is named. */
  readonly bootstrap: string
  readonly options: ReverseMirrorOptions
  readonly warnings: string[]
}

/** A mirror that was reversed before, and goes this way again, is taken as it is. */
function refuseOtherSource({ name, spec }: Mirror, sourceClusterId: string): void {
  if (spec.sourceClusterId === undefined || spec.sourceClusterId === sourceClusterId) return
  throw failure(
    'MIRROR_EXISTS',
    `mirror ${name} is on this cluster already and copies from another cluster (${spec.sourceClusterId})`,
    'Delete it, or copy back with create and add under another name.',
  )
}

async function reverseAll(work: Work): Promise<TopicResult<ReversedTopic>[]> {
  const { first, options, addition } = work
  const mirror = first.name
  const known = [...first.topics.keys()]
  const { topics, missing, unmatched } = selectTopics(options.topics ?? known, [], known)
  const unknown = [...missing, ...unmatched].map((topic): TopicResult<ReversedTopic> => {
    const error = failure('TOPIC_NOT_MIRRORED', `mirror ${mirror} on ${addition.source.name} never had a topic ${topic}`)
    return { topic, mirror, ok: false, error }
  })
  const reversed = await inPool(TOPICS_AT_ONCE, topics, async (topic): Promise<TopicResult<ReversedTopic>> => {
    try {
      return { topic, mirror, ok: true, ...(await unlessCreatedMeanwhile(() => reverseTopic(work, topic))) }
    } catch (error) {
      return { topic, mirror, ok: false, error: toMirrorError(error, sourceOf(mirror), `topic ${topic} could not be reversed`) }
    }
  })
  return [...unknown, ...reversed]
}

async function reverseTopic(work: Work, topic: string): Promise<ReversedTopic> {
  const { context, first, addition, options, configs, warnings } = work
  const { source, destination, mirror } = addition
  const state = await context.store.read()
  const spec = state.mirror(mirror)?.topics.get(topic)
  const begun = isActive(spec) && spec.reseed !== undefined ? spec : undefined
  if (begun === undefined) checkNotTaken(state, mirror, topic)
  if (begun === undefined && isAdded(spec)) {
    if (spec.desired === 'PAUSED') warnings.push(pausedWarning(mirror, topic))
    return { how: 'unchanged', needs: undefined, partitions: [], kept: undefined }
  }
  const result = resultOf(first, topic, source, work.bootstrap)
  checkNoLoop(addition.sourceState, addition.destinationClusterId, topic)
  if (begun !== undefined) {
    if (options.onDivergence === undefined && !options.dryRun) throw unfinished(topic)
    if (options.dryRun) return { how: 'reseeded', needs: undefined, partitions: [], kept: undefined }
    const kept = await finishReseed(context, { mirror, topic, source, addedAt: begun.addedAt }, warnings)
    return { how: 'reseeded', needs: undefined, partitions: [], kept }
  }
  const { onGap, topicPropertiesExclude } = mirrorConfigOf(configs)
  const findings = await examineTopic({ source, destination, topic, result, recordsGaps: onGap === 'record' })
  const { partitions } = findings
  const gap = gapSentence(topic, source.name, partitions)
  if (gap !== undefined && (options.dryRun || onGap === 'record')) warnings.push(gap)
  if (partitions.some(({ differsFrom }) => differsFrom !== undefined)) {
    if (options.onDivergence === undefined && !options.dryRun) throw divergedError(topic, source.name, partitions)
    if (options.onDivergence === undefined) return { how: 'none', needs: 'on-divergence', partitions, kept: undefined }
    if (findings.dropped !== undefined) warnings.push(findings.dropped)
    const kept = options.dryRun ? undefined : await reseedHere(context, addition, findings, topicPropertiesExclude, warnings)
    return { how: 'reseeded', needs: undefined, partitions, kept }
  }
  const plan = await planTopic({ ...addition, admission: admissionOf(addition, findings) }, state, topic)
  if (!options.dryRun) {
    const added = await addPlanned(addition, plan, context.store, {
      excludedSettings: topicPropertiesExclude,
      now: () => context.now(),
    })
    warnings.push(...added.warnings)
  }
  return { how: plan.how, needs: undefined, partitions, kept: undefined }
}

const unfinished = (topic: string) =>
  failure(
    'CONFLICT',
    `copying topic ${topic} again was begun and is not finished`,
    'Run reverse again with --on-divergence reseed to finish it.',
  )

/** What this cluster holds was compared already: it must only be what it was. */
function admissionOf({ admission, destination }: Addition, { ends }: Findings): Addition['admission'] {
  return {
    checkRights: (topic) => admission.checkRights(topic),
    checkExisting: async (_, here) => {
      const bounds = await logBounds(destination, here.name, here.partitions.length)
      await refuseMoving(destination, here.name, ends)
      return { how: ends.every((end) => end === 0n) ? 'taken-over' : 'continued', bounds }
    },
  }
}

/** A writer that was forgotten. */
async function refuseMoving(destination: Cluster, topic: string, ends: readonly bigint[]): Promise<void> {
  const queries = ends.flatMap((_, partition) => (['latest', 'lastStable'] as const).map((at) => ({ topic, partition, at })))
  const now = await listOffsets(destination, queries)
  for (const [i, answer] of now.entries()) {
    if (!answer.ok) throw answer.error
    if (answer.value.offset === ends[queries[i]!.partition]) continue
    throw failure(
      'CONFLICT',
      `partition ${queries[i]!.partition} of topic ${topic} is written to on this cluster`,
      'Stop its writers here, they belong on the other cluster now; then run reverse again.',
    )
  }
}

import { listOffsets } from '../client/admin.js'
import { failure, MirrorError, usageError } from '../mirror/errors.js'
import { isLiteral, parsePattern } from '../mirror/filters.js'
import { type ActiveTopic, isActive, type MirrorState } from '../mirror/fold.js'
import { releaseSettings } from '../mirror/held.js'
import { checkName } from '../mirror/names.js'
import { selectTopics } from '../mirror/selection.js'
import type { PartitionStatus, RemovalResult } from '../mirror/state.js'
import { DEFAULT_SESSION_TIMEOUT_MS } from '../mirror/state-topic.js'
import { byName, type ServiceContext, within } from './context.js'
import { about, DESTINATION, toMirrorError } from './failures.js'
import { type Fence, fencePartition } from './fence.js'
import { liveRunners } from './runners.js'
import { withSource } from './source-connection.js'
import { type Mirror, mustExist, put } from './state-store.js'
import { watchState } from './state-watch.js'
import { applyTopicSettings, refusalWarnings } from './topic-settings.js'
import type { RemovedPartition, RemovedTopic, RemoveTopicsFromMirrorOptions, RemoveTopicsFromMirrorResult, TopicResult } from './types.js'

const MARGIN_MS = 5_000
const OFFSETS_WITHIN_MS = 3_000

/** A topic on its way out: the spec as it was when the removal was written down. */
interface Leaving {
  readonly topic: string
  readonly spec: ActiveTopic
}

/** See {@link MirrorAdmin.removeTopicsFromMirror}. */
export async function removeTopicsFromMirror(
  context: ServiceContext,
  name: string,
  selectors: Iterable<string>,
  options: RemoveTopicsFromMirrorOptions,
): Promise<RemoveTopicsFromMirrorResult> {
  checkName('mirror', name)
  const wanted = [...new Set(selectors)]
  for (const selector of wanted) isLiteral(selector) ? checkName('topic', selector) : parsePattern(selector)
  if (wanted.length === 0) throw usageError('INVALID_REQUEST', 'no topic is named', 'Name topics or patterns to remove.')
  const mirror = mustExist(await context.store.read(), name)
  const active = [...mirror.topics].filter(([, spec]) => isActive(spec)).map(([topic]) => topic)
  const selection = selectTopics(wanted, [], active)
  const others = [...selection.missing, ...selection.unmatched].map((topic) => notMirrored(mirror, topic))
  const removed = await removeAll(context, mirror, selection.topics, options)
  return { topics: [...others, ...removed.topics].sort(byName), warnings: removed.warnings }
}

function notMirrored(mirror: Mirror, topic: string): TopicResult<RemovedTopic> {
  const base = { topic, mirror: mirror.name }
  const result = mirror.results.get(topic)
  if (result !== undefined) return { ...base, ok: true, how: 'unchanged', partitions: result.partitions.map(partitionOf) }
  const error = failure('TOPIC_NOT_MIRRORED', `mirror ${mirror.name} has no topic ${topic}`, 'See what it has with describe.')
  return { ...base, ok: false, error }
}

const partitionOf = ({ partition, logEndOffset }: RemovalResult['partitions'][number]): RemovedPartition => ({
  partition,
  destinationOffset: logEndOffset,
  sourceOffset: undefined,
  lost: undefined,
})

/** Removes these active topics; used by delete too. Per-topic errors are results, never thrown. */
export async function removeAll(
  context: ServiceContext,
  mirror: Mirror,
  topics: readonly string[],
  options: RemoveTopicsFromMirrorOptions,
): Promise<RemoveTopicsFromMirrorResult> {
  if (topics.length === 0) return { topics: [], warnings: [] }
  const warnings: string[] = []
  const sourceEnds = await sourceOffsets(mirror, topics, warnings)
  const withLoss = (topic: string, partition: number, destinationOffset: bigint | undefined): RemovedPartition => {
    const sourceOffset = sourceEnds.get(`${topic}/${partition}`)
    const known = sourceOffset !== undefined && destinationOffset !== undefined
    const lost = known ? (sourceOffset > destinationOffset ? sourceOffset - destinationOffset : 0n) : undefined
    return { partition, destinationOffset, sourceOffset, lost }
  }
  if (options.dryRun) return { topics: await planned(context, mirror, topics, withLoss), warnings }
  const leaving = await writeStopping(context, mirror.name, topics)
  const state = await awaitConfirmation(context, mirror.name, leaving, options.confirmationTimeoutMs)
  const results = await Promise.all(
    leaving.map(async ({ topic, spec }): Promise<TopicResult<RemovedTopic>> => {
      try {
        const result = await finish(context, state, mirror.name, { topic, spec }, warnings)
        const partitions = result.partitions.map(({ partition, logEndOffset }) => withLoss(topic, partition, logEndOffset))
        return { topic, mirror: mirror.name, ok: true, how: result.how, partitions }
      } catch (error) {
        const told = toMirrorError(error, DESTINATION, `topic ${topic} could not be removed from mirror ${mirror.name}`)
        return { topic, mirror: mirror.name, ok: false, error: withAdvice(told, 'Copying is stopped; run remove again to finish.') }
      }
    }),
  )
  return { topics: results, warnings }
}

const withAdvice = (error: MirrorError, advice: string) =>
  error.advice === undefined ? new MirrorError(error.code, error.message, { kind: error.kind, advice, cause: error }) : error

async function planned(
  { destination }: ServiceContext,
  mirror: Mirror,
  topics: readonly string[],
  withLoss: (topic: string, partition: number, end: bigint | undefined) => RemovedPartition,
): Promise<TopicResult<RemovedTopic>[]> {
  return Promise.all(
    topics.map(async (topic) => {
      const { partitions } = mirror.topics.get(topic)!
      const queries = Array.from({ length: partitions }, (_, partition) => ({ topic, partition, at: 'latest' as const }))
      const ends = await listOffsets(destination, queries)
      const rows = ends.map((end, partition) => withLoss(topic, partition, end.ok ? end.value.offset : undefined))
      return { topic, mirror: mirror.name, ok: true as const, how: 'dry-run' as const, partitions: rows }
    }),
  )
}

/** Log ends on the source as far as it answers in time; it may well be gone. */
async function sourceOffsets(mirror: Mirror, topics: readonly string[], warnings: string[]): Promise<Map<string, bigint>> {
  const queries = topics.flatMap((topic) =>
    Array.from({ length: mirror.topics.get(topic)!.partitions }, (_, partition) => ({ topic, partition, at: 'latest' as const })),
  )
  const settings = { mirror: mirror.name, configs: mirror.configs }
  const asked = withSource(settings, async (source) => {
    await source.clusterId()
    return listOffsets(source, queries)
  })
  const answers = await within(OFFSETS_WITHIN_MS, asked, (error) =>
    warnings.push(`what is lost is unknown: ${error instanceof Error ? error.message : error}`),
  )
  const known = (answers ?? []).flatMap((answer, i) =>
    answer.ok ? [[`${queries[i]!.topic}/${queries[i]!.partition}`, answer.value.offset] as const] : [],
  )
  return new Map(known)
}

/** Records that these topics are to stop. Runners see it, and copy nothing more once they have confirmed. */
async function writeStopping({ store }: ServiceContext, name: string, topics: readonly string[]): Promise<Leaving[]> {
  return store.update((state) => {
    const mirror = mustExist(state, name)
    const leaving = topics.flatMap((topic) => {
      const spec = mirror.topics.get(topic)
      return isActive(spec) ? [{ topic, spec }] : []
    })
    const records = leaving
      .filter(({ spec }) => spec.desired !== 'STOPPING')
      .map(({ topic, spec }) => put({ kind: 'topic', mirror: name, topic }, { ...spec, desired: 'STOPPING' }))
    return { records, result: leaving }
  })
}

/** Waits until the owners have confirmed, or nobody is left to, or time is up. Gives the state as last seen. */
async function awaitConfirmation(
  { destination }: ServiceContext,
  name: string,
  leaving: readonly Leaving[],
  timeoutMs = DEFAULT_SESSION_TIMEOUT_MS + MARGIN_MS,
): Promise<MirrorState> {
  const nobody = async () => (await liveRunners(destination)) === 0
  return about(DESTINATION, undefined, async () => {
    const runners = await liveRunners(destination).catch(() => 1)
    const done = (state: MirrorState) =>
      runners === 0 ||
      leaving.every(({ topic, spec }) => partitionsOf(spec).every((partition) => confirmed(statusOf(state, name, topic, spec, partition))))
    return watchState(destination, done, { timeoutMs, givenUp: nobody })
  })
}

const partitionsOf = ({ partitions }: ActiveTopic): number[] => Array.from({ length: partitions }, (_, partition) => partition)

/** A status of an earlier addition says nothing about this one. */
function statusOf(state: MirrorState, mirror: string, topic: string, spec: ActiveTopic, partition: number): PartitionStatus | undefined {
  const status = state.status(mirror, topic, partition)
  return status?.addedAt === spec.addedAt ? status : undefined
}

const confirmed = (status: PartitionStatus | undefined): boolean => status?.state === 'STOPPED'

/** Fences what nobody confirmed, gives the topic its real settings, and records the outcome. Safe to repeat. */
async function finish(
  context: ServiceContext,
  state: MirrorState,
  name: string,
  { topic, spec }: Leaving,
  warnings: string[],
): Promise<RemovalResult> {
  const fences = await Promise.all(
    partitionsOf(spec).map(async (partition) => {
      const status = statusOf(state, name, topic, spec, partition)
      return { partition, fence: await letGo(context, topic, spec, partition, status) }
    }),
  )
  const how = fences.some(({ fence }) => fence.how === 'unfenced')
    ? 'unfenced'
    : fences.some(({ fence }) => fence.how === 'fenced')
      ? 'fenced'
      : 'confirmed'
  if (how === 'unfenced' && fences.some(({ fence }) => fence.logEndOffset !== undefined)) {
    warnings.push(`topic ${topic}: a runner that still copies could not be shut out, for want of ALTER on the cluster of the destination`)
  }
  const settings = await applyTopicSettings(context.destination, topic, releaseSettings(spec.held))
  warnings.push(...refusalWarnings(topic, settings))
  if (!settings.exists) warnings.push(`topic ${topic} is not on the destination any more`)
  const partitions = fences.flatMap(({ partition, fence }) =>
    fence.logEndOffset === undefined ? [] : [{ partition, logEndOffset: fence.logEndOffset }],
  )
  const result: RemovalResult = { how, at: context.now(), partitions }
  await context.store.update((latest) => {
    const now = mustExist(latest, name).topics.get(topic)
    if (!isActive(now) || now.addedAt !== spec.addedAt) return { records: [], result: undefined }
    const records = [
      put({ kind: 'result', mirror: name, topic }, result),
      put({ kind: 'topic', mirror: name, topic }, { ...now, desired: 'STOPPED', held: {} }),
    ]
    return { records, result: undefined }
  })
  return result
}

interface LetGo extends Omit<Fence, 'how'> {
  readonly how: Fence['how'] | 'confirmed'
}

async function letGo(
  { destination }: ServiceContext,
  topic: string,
  spec: ActiveTopic,
  partition: number,
  status: PartitionStatus | undefined,
): Promise<LetGo> {
  // Without a status no runner ever took the partition up, so there is nobody to shut out.
  if (status !== undefined && !confirmed(status)) return fencePartition(destination, topic, partition, spec.producers[partition]!, status)
  if (status?.stoppedAt !== undefined) return { how: 'confirmed', logEndOffset: status.stoppedAt }
  const [end] = await listOffsets(destination, [{ topic, partition, at: 'latest' }])
  return { how: 'confirmed', logEndOffset: end!.ok ? end!.value.offset : undefined }
}

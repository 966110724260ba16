import { listOffsets } from '../client/admin.js'
import { failure, MirrorError, usageError } from '../mirror/errors.js'
import { isLiteral, parsePattern } from '../mirror/filters.js'
import { isActive } from '../mirror/fold.js'
import { checkName } from '../mirror/names.js'
import { selectTopics } from '../mirror/selection.js'
import type { RemovalResult } from '../mirror/state.js'
import { byName, inPool, type ServiceContext, within } from './context.js'
import { DESTINATION, toMirrorError } from './failures.js'
import { awaitConfirmation, finishRemoval, type Leaving } from './release-topic.js'
import { withSource } from './source-connection.js'
import { type Mirror, mustExist, put } from './state-store.js'
import type { RemovedPartition, RemovedTopic, RemoveTopicsFromMirrorOptions, RemoveTopicsFromMirrorResult, TopicResult } from './types.js'

const OFFSETS_WITHIN_MS = 3_000
const TOPICS_AT_ONCE = 16

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
  const results = await inPool(TOPICS_AT_ONCE, leaving, async ({ topic, spec }): Promise<TopicResult<RemovedTopic>> => {
    try {
      const result = await finishRemoval(context, state, mirror.name, { topic, spec }, warnings)
      const partitions = result.partitions.map(({ partition, logEndOffset }) => withLoss(topic, partition, logEndOffset))
      return { topic, mirror: mirror.name, ok: true, how: result.how, partitions }
    } catch (error) {
      const told = toMirrorError(error, DESTINATION, `topic ${topic} could not be removed from mirror ${mirror.name}`)
      return { topic, mirror: mirror.name, ok: false, error: withAdvice(told, 'Copying is stopped; run remove again to finish.') }
    }
  })
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

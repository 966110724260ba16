import { failure, type MirrorError, usageError } from '../mirror/errors.js'
import { DESTINATION, toMirrorError } from '../mirror/failures.js'
import { isLiteral, parsePattern } from '../mirror/filters.js'
import { isActive } from '../mirror/fold.js'
import { checkName } from '../mirror/names.js'
import { selectTopics } from '../mirror/selection.js'
import { type Mirror, mustExist } from '../mirror/spec-store.js'
import type { DesiredState, RemovalResult } from '../mirror/state.js'
import { releaseLeftovers } from '../sync/acls/index.js'
import { byName, type ServiceContext } from './context.js'
import { drain, endsHere } from './drain.js'
import { lossOf } from './loss.js'
import { partitionsOf } from './partitions.js'
import { stillReadOnly } from './release-topic.js'
import { removeNow, unknownLoss } from './remove-now.js'
import { keyOf, SourceContact } from './source-contact.js'
import type { RemovedTopic, RemoveTopicsFromMirrorOptions, RemoveTopicsFromMirrorResult, TopicResult } from './types.js'

/** See {@link MirrorAdmin.removeTopicsFromMirror}. */
export async function removeTopicsFromMirror(
  context: ServiceContext,
  name: string,
  selectors: Iterable<string> | undefined,
  options: RemoveTopicsFromMirrorOptions,
): Promise<RemoveTopicsFromMirrorResult> {
  checkName('mirror', name)
  const wanted = selectors && [...new Set(selectors)]
  for (const selector of wanted ?? []) isLiteral(selector) ? checkName('topic', selector) : parsePattern(selector)
  if (wanted?.length === 0) throw usageError('INVALID_REQUEST', 'no topic is named', 'Name topics or patterns to remove.')
  const mirror = mustExist(await context.store.read(), name)
  const active = activeTopics(mirror)
  const selection = selectTopics(wanted ?? active, [], active)
  // What was removed already is no error: whoever repeats the command wants to know that it is done.
  const repeated = wanted === undefined && active.length === 0 ? [...mirror.results.keys()] : []
  const others = [...selection.missing, ...selection.unmatched, ...repeated].flatMap((selector) => notMirrored(mirror, selector))
  const removed = await removeAll(context, mirror, selection.topics, options)
  const warnings = [...removed.warnings]
  const earlier = options.dryRun ? others : await finishEarlier(context, name, others, warnings)
  return { topics: [...earlier, ...removed.topics].sort(byName), warnings }
}

/**
 * Whoever removes again what was removed may have found that clients are refused all the same. What goes wrong is these topics' own
 * failure: others have been removed meanwhile, and that has to be told.
 */
async function finishEarlier(
  { destination, store, now }: ServiceContext,
  mirror: string,
  rows: readonly TopicResult<RemovedTopic>[],
  warnings: string[],
): Promise<TopicResult<RemovedTopic>[]> {
  const topics = rows.filter(({ ok }) => ok).map(({ topic }) => topic)
  if (topics.length === 0) return [...rows]
  const failed = (topic: string, error: MirrorError) => ({ topic, mirror, ok: false as const, error })
  try {
    const left = await releaseLeftovers({ destination, store, mirror, topics, now })
    warnings.push(...left.warnings)
    return rows.map((row) => (left.readOnly.includes(row.topic) ? failed(row.topic, stillReadOnly(row.topic)) : row))
  } catch (error) {
    const doing = (topic: string) => `whether topic ${topic}, which was removed earlier, is writable could not be seen`
    return rows.map((row) => (row.ok ? failed(row.topic, toMirrorError(error, DESTINATION, doing(row.topic))) : row))
  }
}

/** Topics that belong to the mirror, those that are being removed included. */
export const activeTopics = (mirror: Mirror): string[] => [...mirror.topics].filter(([, spec]) => isActive(spec)).map(([topic]) => topic)

function notMirrored(mirror: Mirror, selector: string): TopicResult<RemovedTopic>[] {
  const pattern = parsePattern(selector)
  const results = [...mirror.results].filter(([topic]) => pattern.matches(topic))
  if (results.length > 0) return results.map(([topic, result]) => unchanged(mirror, topic, result))
  const error = failure('TOPIC_NOT_MIRRORED', `mirror ${mirror.name} has no topic ${selector}`, 'See what it has with describe.')
  return [{ topic: selector, mirror: mirror.name, ok: false, error }]
}

const unchanged = (mirror: Mirror, topic: string, { partitions }: RemovalResult): TopicResult<RemovedTopic> => ({
  topic,
  mirror: mirror.name,
  ok: true,
  how: 'unchanged',
  partitions: partitions.map(({ partition, logEndOffset }) => ({
    partition,
    destinationOffset: logEndOffset,
    sourceOffset: undefined,
    lost: undefined,
    sourceSeenAt: undefined,
  })),
})

/** Removes these active topics; used by delete too. Per-topic errors are results, never thrown. */
export async function removeAll(
  context: ServiceContext,
  mirror: Mirror,
  topics: readonly string[],
  options: RemoveTopicsFromMirrorOptions,
): Promise<RemoveTopicsFromMirrorResult> {
  if (topics.length === 0) return { topics: [], warnings: [] }
  const source = new SourceContact(mirror)
  try {
    if (options.drainMs !== undefined && !options.dryRun) await drainAll(context, mirror, topics, source, options.drainMs, options)
    return await (options.dryRun ? planned(context, mirror, topics, source) : removeNow(context, mirror, topics, source, options))
  } finally {
    await source.close()
  }
}

const partitionsOfTopics = (mirror: Mirror, topics: readonly string[]) =>
  topics.flatMap((topic) => partitionsOf(mirror.topics.get(topic)!).map((partition) => ({ topic, partition })))

/** Nothing comes here by itself, however long a drain waits. */
const NOT_COPIED: { readonly [D in DesiredState]?: { readonly is: string; readonly first: string } } = {
  PAUSED: { is: 'is paused', first: 'Resume it' },
  ADDING: { is: 'is being added', first: 'Run add again' },
}

async function drainAll(
  context: ServiceContext,
  mirror: Mirror,
  topics: readonly string[],
  source: SourceContact,
  timeoutMs: number,
  { onProgress }: RemoveTopicsFromMirrorOptions,
): Promise<void> {
  const desired = (topic: string) => mirror.topics.get(topic)!.desired
  for (const topic of topics) {
    const why = NOT_COPIED[desired(topic)]
    if (why === undefined) continue
    const message = `topic ${topic} of mirror ${mirror.name} ${why.is}, so it cannot be drained`
    throw failure('CONFLICT', message, `${why.first} first, or remove it without --drain.`)
  }
  // What an earlier call has begun to remove is not copied any more; whether it was written to since is looked at later.
  const copied = topics.filter((topic) => desired(topic) !== 'STOPPING')
  await drain({ context, mirror, partitions: partitionsOfTopics(mirror, copied), source, timeoutMs, onProgress })
}

async function planned(
  context: ServiceContext,
  mirror: Mirror,
  topics: readonly string[],
  source: SourceContact,
): Promise<RemoveTopicsFromMirrorResult> {
  const partitions = partitionsOfTopics(mirror, topics)
  const [here, there] = await Promise.all([endsHere(context, partitions), source.offsets(partitions)])
  const rows = topics.map((topic) => ({
    topic,
    mirror: mirror.name,
    ok: true as const,
    how: 'dry-run' as const,
    partitions: partitions
      .filter((one) => one.topic === topic)
      .map(({ partition }) => lossOf(mirror, topic, partition, here.get(keyOf({ topic, partition })), there)),
  }))
  return { topics: rows, warnings: unknownLoss(source) }
}

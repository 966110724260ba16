import { failure, type MirrorError } from '../mirror/errors.js'
import { isLiteral, parsePattern } from '../mirror/filters.js'
import { isActive } from '../mirror/fold.js'
import { checkName } from '../mirror/names.js'
import { selectTopics } from '../mirror/selection.js'
import { type Mirror, mustExist, put } from '../mirror/spec-store.js'
import type { TopicSpec } from '../mirror/state.js'
import { coming } from './conflicts.js'
import { byName, type ServiceContext } from './context.js'
import { liveRunners } from './runners.js'
import type { PausedTopic, PauseOptions, PauseResult, TopicResult } from './types.js'

type Wanted = 'PAUSED' | 'MIRRORING'

/** See {@link MirrorAdmin.pauseMirror}. */
export const pauseMirror = (context: ServiceContext, name: string, options: PauseOptions): Promise<PauseResult> =>
  change(context, name, 'PAUSED', options)

/** See {@link MirrorAdmin.resumeMirror}. */
export const resumeMirror = (context: ServiceContext, name: string, options: PauseOptions): Promise<PauseResult> =>
  change(context, name, 'MIRRORING', options)

async function change({ store, destination }: ServiceContext, name: string, wanted: Wanted, options: PauseOptions): Promise<PauseResult> {
  checkName('mirror', name)
  const selectors = options.topics && [...new Set(options.topics)]
  for (const selector of selectors ?? []) isLiteral(selector) ? checkName('topic', selector) : parsePattern(selector)
  const { topics, leftOut } = await store.update((state) => {
    const mirror = mustExist(state, name)
    const { results, changed, leftOut } = decide(mirror, selectors, wanted)
    const records = [...changed].map(([topic, spec]) => put({ kind: 'topic', mirror: name, topic }, { ...spec, desired: wanted }))
    return { records: options.dryRun ? [] : records, result: { topics: results, leftOut } }
  })
  const changes = topics.some((topic) => topic.ok && topic.how === 'changed')
  const runners = changes && !options.dryRun ? await liveRunners(destination).catch(() => undefined) : undefined
  const effect = wanted === 'PAUSED' ? 'nothing is copied anyway' : 'nothing is copied until one is started with run'
  const warnings = leftOut.length > 0 ? [notYet(name, leftOut, wanted)] : []
  if (runners === 0) warnings.push(`no runner is alive: ${effect}`)
  return { mirror: name, topics, warnings }
}

/** What becomes of each topic; `leftOut` are those that are not touched, since they are being added and nobody named them. Pure. */
export function decide(
  mirror: Pick<Mirror, 'name' | 'topics'>,
  selectors: readonly string[] | undefined,
  wanted: Wanted,
): { readonly results: TopicResult<PausedTopic>[]; readonly changed: ReadonlyMap<string, TopicSpec>; readonly leftOut: readonly string[] } {
  const active = [...mirror.topics].filter(([, spec]) => isActive(spec)).map(([topic]) => topic)
  const selection = selectTopics(selectors ?? active, [], active)
  const named = new Set(selectors)
  const leftOut = selection.topics.filter((topic) => mirror.topics.get(topic)!.desired === 'ADDING' && !named.has(topic))
  const chosen = selection.topics.filter((topic) => !leftOut.includes(topic))
  const changed = new Map<string, TopicSpec>()
  const results = chosen.map((topic): TopicResult<PausedTopic> => {
    const spec = mirror.topics.get(topic)!
    const base = { topic, mirror: mirror.name }
    if (spec.desired === 'STOPPING') return { ...base, ok: false, error: leaving(mirror.name, topic, spec) }
    if (spec.desired === 'ADDING') return { ...base, ok: false, error: coming(mirror.name, topic) }
    if (spec.desired !== wanted) changed.set(topic, spec)
    return { ...base, ok: true, partitions: spec.partitions, how: spec.desired === wanted ? 'unchanged' : 'changed' }
  })
  const missing = [...selection.missing, ...selection.unmatched].map((topic): TopicResult<PausedTopic> => {
    const error = failure('TOPIC_NOT_MIRRORED', `mirror ${mirror.name} has no topic ${topic}`, 'See what it has with describe.')
    return { topic, mirror: mirror.name, ok: false, error }
  })
  return { results: [...missing, ...results].sort(byName), changed, leftOut }
}

function notYet(mirror: string, topics: readonly string[], wanted: Wanted): string {
  const [done, next] =
    wanted === 'PAUSED'
      ? ['paused', 'run pause again once they are added, or they are copied']
      : ['resumed', 'they are copied once they are added']
  return `not ${done}, as they are being added to mirror ${mirror}: ${topics.join(', ')}; ${next}`
}

function leaving(mirror: string, topic: string, { reseed }: TopicSpec): MirrorError {
  return reseed === undefined
    ? failure('CONFLICT', `topic ${topic} is being removed from mirror ${mirror}`, 'Run remove again to finish, then add it again.')
    : failure('CONFLICT', `topic ${topic} of mirror ${mirror} is being copied again`, 'Finish that with recover --on-divergence reseed.')
}

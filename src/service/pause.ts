import { failure, type MirrorError } from '../mirror/errors.js'
import { isLiteral, parsePattern } from '../mirror/filters.js'
import { isActive } from '../mirror/fold.js'
import { checkName } from '../mirror/names.js'
import { selectTopics } from '../mirror/selection.js'
import { type Mirror, mustExist, put } from '../mirror/spec-store.js'
import type { TopicSpec } from '../mirror/state.js'
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
  const topics = await store.update((state) => {
    const mirror = mustExist(state, name)
    const { results, changed } = decide(mirror, selectors, wanted)
    const records = [...changed].map(([topic, spec]) => put({ kind: 'topic', mirror: name, topic }, { ...spec, desired: wanted }))
    return { records: options.dryRun ? [] : records, result: results }
  })
  const changes = topics.some((topic) => topic.ok && topic.how === 'changed')
  const runners = changes && !options.dryRun ? await liveRunners(destination).catch(() => undefined) : undefined
  const effect = wanted === 'PAUSED' ? 'nothing is copied anyway' : 'nothing is copied until one is started with run'
  return { mirror: name, topics, warnings: runners === 0 ? [`no runner is alive: ${effect}`] : [] }
}

/** What becomes of each topic. Pure. */
export function decide(
  mirror: Pick<Mirror, 'name' | 'topics'>,
  selectors: readonly string[] | undefined,
  wanted: Wanted,
): { readonly results: TopicResult<PausedTopic>[]; readonly changed: ReadonlyMap<string, TopicSpec> } {
  const active = [...mirror.topics].filter(([, spec]) => isActive(spec)).map(([topic]) => topic)
  const selection = selectTopics(selectors ?? active, [], active)
  const changed = new Map<string, TopicSpec>()
  const results = selection.topics.map((topic): TopicResult<PausedTopic> => {
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
  return { results: [...missing, ...results].sort(byName), changed }
}

export const coming = (mirror: string, topic: string) =>
  failure(
    'CONFLICT',
    `topic ${topic} is being added to mirror ${mirror}`,
    'Try again once it is; if that was interrupted, add goes on with it.',
  )

function leaving(mirror: string, topic: string, { reseed }: TopicSpec): MirrorError {
  return reseed === undefined
    ? failure('CONFLICT', `topic ${topic} is being removed from mirror ${mirror}`, 'Run remove again to finish, then add it again.')
    : failure('CONFLICT', `topic ${topic} of mirror ${mirror} is being copied again`, 'Finish that with recover --on-divergence reseed.')
}

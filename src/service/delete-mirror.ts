import { failure } from '../mirror/errors.js'
import { about, DESTINATION } from '../mirror/failures.js'
import { isActive } from '../mirror/fold.js'
import { checkName } from '../mirror/names.js'
import { erase, mustExist } from '../mirror/spec-store.js'
import { releaseLeftovers } from '../sync/acls/index.js'
import { byName, type ServiceContext } from './context.js'
import { eraseStatuses } from './erase-statuses.js'
import { eraseRecoveries, stillReadOnly } from './release-topic.js'
import { activeTopics, removeAll } from './remove-topics.js'
import type { DeleteMirrorResult, RemoveTopicsFromMirrorOptions } from './types.js'

/** A runner may find new topics of a pattern while the old ones are being removed. */
const ROUNDS = 3

/** See {@link MirrorAdmin.deleteMirror}. */
export async function deleteMirror(
  context: ServiceContext,
  name: string,
  options: RemoveTopicsFromMirrorOptions,
): Promise<DeleteMirrorResult> {
  checkName('mirror', name)
  const topics: DeleteMirrorResult['topics'][number][] = []
  const warnings: string[] = []
  for (let round = 1; ; round++) {
    const mirror = mustExist(await context.store.read(), name)
    const removed = await removeAll(context, mirror, activeTopics(mirror), options)
    topics.push(...removed.topics)
    warnings.push(...removed.warnings)
    const result = { mirror: name, topics: topics.sort(byName), warnings }
    if (options.dryRun || removed.topics.some(({ ok }) => !ok)) return { ...result, deleted: false }
    const left = await finishLeft(context, name)
    warnings.push(...left.warnings.filter((warning) => !warnings.includes(warning)))
    if (left.open.size > 0) {
      const open = [...left.open].map(([topic, error]) => ({ topic, mirror: name, ok: false as const, error }))
      const others = topics.filter(({ topic }) => !left.open.has(topic))
      return { ...result, topics: [...others, ...open].sort(byName), deleted: false }
    }
    const unfinished = await eraseSpec(context, name, left.topics)
    if (unfinished === undefined) {
      await eraseStatuses(context, name)
      return { ...result, deleted: true }
    }
    if (round === ROUNDS)
      throw failure(
        'CONFLICT',
        `topic ${unfinished} was added to mirror ${name} or removed from it while that was being deleted`,
        'Run delete again.',
      )
  }
}

/**
 * Gives topics that have left the rights that an earlier removal could not give, or that removals at once left to each other: only the
 * records of the mirror know of them. Those that brokers may yet give have an error; those that we lack the right to give are named in a
 * warning, so that every deletion has an end.
 */
async function finishLeft({ destination, store, now }: ServiceContext, name: string) {
  const mirror = mustExist(await store.read(), name)
  const topics = [...mirror.topics].filter(([, spec]) => !isActive(spec)).map(([topic]) => topic)
  const { warnings, readOnly, withheld } = await about(DESTINATION, undefined, () =>
    releaseLeftovers({ destination, store, mirror: name, topics, now }),
  )
  const open = new Map([
    ...withheld.map((topic) => [topic, stillWithheld(topic)] as const),
    ...readOnly.map((topic) => [topic, stillReadOnly(topic)] as const),
  ])
  return { topics: new Set(topics), warnings, open }
}

const stillWithheld = (topic: string) =>
  failure(
    'KAFKA',
    `topic ${topic} still lacks rules that were withheld, which only the mirror knows`,
    'See in the warnings what brokers say, and run delete again to finish.',
  )

/** Erases what operators have written, or gives a topic that was added, or has left, in the meantime. */
async function eraseSpec({ store }: ServiceContext, name: string, finished: ReadonlySet<string>): Promise<string | undefined> {
  return store.update((state) => {
    const mirror = mustExist(state, name)
    const unfinished = [...mirror.topics].find(([topic, spec]) => isActive(spec) || !finished.has(topic))?.[0]
    if (unfinished !== undefined) return { records: [], result: unfinished }
    const records = [
      ...[...mirror.topics.keys()].map((topic) => erase({ kind: 'topic', mirror: name, topic })),
      ...[...mirror.recoveries.keys()].flatMap((topic) => eraseRecoveries(mirror, topic)),
      ...[...mirror.results.keys()].map((topic) => erase({ kind: 'result', mirror: name, topic })),
      ...[...mirror.acls.keys()].map((binding) => erase({ kind: 'acl', mirror: name, binding })),
      ...[...mirror.configs.keys()].map((key) => erase({ kind: 'config', mirror: name, key })),
      erase({ kind: 'mirror', mirror: name }),
    ]
    return { records, result: undefined }
  })
}

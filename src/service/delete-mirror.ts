import { failure } from '../mirror/errors.js'
import { checkName } from '../mirror/names.js'
import { erase, mustExist } from '../mirror/spec-store.js'
import { byName, type ServiceContext } from './context.js'
import { eraseStatuses } from './erase-statuses.js'
import { eraseRecoveries } from './release-topic.js'
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
    const added = await eraseSpec(context, name)
    if (added === undefined) {
      await eraseStatuses(context, name)
      return { ...result, deleted: true }
    }
    if (round === ROUNDS)
      throw failure('CONFLICT', `topic ${added} was added to mirror ${name} while it was being deleted`, 'Run delete again.')
  }
}

/** Erases what operators have written, or gives a topic that was added in the meantime. */
async function eraseSpec({ store }: ServiceContext, name: string): Promise<string | undefined> {
  return store.update((state) => {
    const mirror = mustExist(state, name)
    const [added] = activeTopics(mirror)
    if (added !== undefined) return { records: [], result: added }
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

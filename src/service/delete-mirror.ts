import { failure } from '../mirror/errors.js'
import { isActive } from '../mirror/fold.js'
import { checkName } from '../mirror/names.js'
import { SHARDS, shardOf } from '../mirror/shards.js'
import { byName, type ServiceContext } from './context.js'
import { about, DESTINATION } from './failures.js'
import { eraseRecoveries } from './release-topic.js'
import { removeAll } from './remove-topics.js'
import { erase, type Mirror, mustExist } from './state-store.js'
import type { DeleteMirrorResult, RemoveTopicsFromMirrorOptions } from './types.js'

/** See {@link MirrorAdmin.deleteMirror}. */
export async function deleteMirror(
  context: ServiceContext,
  name: string,
  options: RemoveTopicsFromMirrorOptions,
): Promise<DeleteMirrorResult> {
  checkName('mirror', name)
  const mirror = mustExist(await context.store.read(), name)
  const active = [...mirror.topics].filter(([, spec]) => isActive(spec)).map(([topic]) => topic)
  const { topics, warnings } = await removeAll(context, mirror, active, options)
  const results = { mirror: name, topics: [...topics].sort(byName), warnings }
  if (options.dryRun || topics.some(({ ok }) => !ok)) return { ...results, deleted: false }
  await eraseSpec(context, name)
  await eraseStatuses(context, mirror)
  return { ...results, deleted: true }
}

async function eraseSpec({ store }: ServiceContext, name: string): Promise<void> {
  await store.update((state) => {
    const mirror = mustExist(state, name)
    const added = [...mirror.topics].find(([, spec]) => isActive(spec))?.[0]
    if (added !== undefined) {
      throw failure('CONFLICT', `topic ${added} was added to mirror ${name} while it was being deleted`, 'Run delete again.')
    }
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

/** Statuses are their runners' to write, but nobody owns these partitions any more. */
async function eraseStatuses({ store }: ServiceContext, mirror: Mirror): Promise<void> {
  const latest = await store.read()
  const byShard = new Map<number, ReturnType<typeof erase>[]>()
  for (const [topic, partitions] of latest.statusesOf(mirror.name)) {
    for (const partition of partitions.keys()) {
      const shard = shardOf(mirror.name, topic, partition, SHARDS)
      byShard.set(shard, [...(byShard.get(shard) ?? []), erase({ kind: 'status', mirror: mirror.name, topic, partition })])
    }
  }
  await about(DESTINATION, undefined, () => Promise.all([...byShard].map(([shard, records]) => store.log.append(shard, records))))
}

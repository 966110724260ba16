import { failure } from '../mirror/errors.js'
import { about, DESTINATION } from '../mirror/failures.js'
import { checkName } from '../mirror/names.js'
import { mirrorShardOf, SHARDS, shardOf } from '../mirror/shards.js'
import { erase, type Mirror, mustExist } from '../mirror/spec-store.js'
import type { StateKey } from '../mirror/state-keys.js'
import { byName, type ServiceContext } from './context.js'
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
      await eraseStatuses(context, mirror)
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

/** Statuses are their runners' to write, but nobody owns these partitions and loops any more. */
async function eraseStatuses({ store }: ServiceContext, { name, syncs }: Mirror): Promise<void> {
  const latest = await store.read()
  const byShard = new Map<number, ReturnType<typeof erase>[]>()
  const add = (shard: number, key: StateKey) => byShard.set(shard, [...(byShard.get(shard) ?? []), erase(key)])
  for (const [topic, partitions] of latest.statusesOf(name)) {
    for (const partition of partitions.keys()) {
      const key = { kind: 'status', mirror: name, topic, partition } as const
      add(shardOf(name, topic, partition, SHARDS), key)
    }
  }
  for (const loop of syncs.keys()) add(mirrorShardOf(name, SHARDS), { kind: 'sync', mirror: name, loop })
  await about(DESTINATION, undefined, () => Promise.all([...byShard].map(([shard, records]) => store.log.append(shard, records))))
}

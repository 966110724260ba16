import type { ActiveTopic } from '../../mirror/fold.js'
import { put } from '../../mirror/spec-store.js'
import type { SyncProblem } from '../../mirror/state.js'
import type { SyncContext } from '../types.js'
import { isCaredFor } from './active-topics.js'
import { originsOf } from './origins.js'
import { readSourceState } from './source-state.js'

/**
 * Keeps on record which clusters the source has these topics from, for whoever is about to copy them from here, and tells of
 * circles that were closed where nobody could see it. Throws MirrorError, KafkaError, ConnectionError.
 */
export async function followOrigins(
  { mirror, source, destination, store, ownsShard }: SyncContext,
  topics: ReadonlyMap<string, ActiveTopic>,
): Promise<{ readonly changes: number; readonly problems: readonly SyncProblem[] }> {
  const [state, own] = await Promise.all([readSourceState(source), destination.clusterId()])
  const found = [...topics].flatMap(([topic, spec]) => {
    const origins = originsOf(state, topic, own)
    return origins === undefined ? [] : [{ topic, spec, origins }]
  })
  const problems = found.filter(({ origins }) => origins.includes(own)).map(({ topic }) => ({ item: topic, message: circle(topic) }))
  const changed = found.filter(({ spec, origins }) => !isSame(spec.origins, origins))
  if (changed.length === 0 || !ownsShard()) return { changes: 0, problems }
  const changes = await store.update((latest) => {
    const records = changed.flatMap(({ topic, spec, origins }) => {
      const now = latest.mirror(mirror)?.topics.get(topic)
      if (!isCaredFor(now) || now.addedAt !== spec.addedAt) return []
      return [put({ kind: 'topic', mirror, topic }, { ...now, origins })]
    })
    return { records, result: records.length }
  })
  return { changes, problems }
}

const circle = (topic: string) =>
  `topic ${topic} is mirrored in a circle: its source has it from this cluster, maybe by way of others; remove it from one of the mirrors`

const isSame = (a: readonly string[] | undefined, b: readonly string[]): boolean =>
  a !== undefined && a.length === b.length && a.every((id, i) => id === b[i])

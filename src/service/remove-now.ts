import { MirrorError } from '../mirror/errors.js'
import { DESTINATION, toMirrorError } from '../mirror/failures.js'
import { isActive } from '../mirror/fold.js'
import { type Mirror, mustExist, put } from '../mirror/spec-store.js'
import type { RemovalResult } from '../mirror/state.js'
import { awaitConfirmation } from './confirmation.js'
import type { ServiceContext } from './context.js'
import { lossOf, lossSentence } from './loss.js'
import { partitionsOf } from './partitions.js'
import { putBackWritten } from './put-back.js'
import { finishRemovals, type Removal } from './release-topic.js'
import type { Offsets, SourceContact } from './source-contact.js'
import type { RemovedPartition, RemovedTopic, RemoveTopicsFromMirrorOptions, RemoveTopicsFromMirrorResult, TopicResult } from './types.js'

/** Copying stops, and what it leaves behind is made its clients' own. Failures of topics are results. Throws MirrorError. */
export async function removeNow(
  context: ServiceContext,
  mirror: Mirror,
  topics: readonly string[],
  source: SourceContact,
  options: RemoveTopicsFromMirrorOptions,
): Promise<RemoveTopicsFromMirrorResult> {
  const all = await writeStopping(context, mirror.name, topics)
  return begun(() => finish(context, mirror, all, source, options))
}

/** What goes wrong from here on leaves topics that are neither copied nor writable. */
async function begun<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    throw unfinished(toMirrorError(error, DESTINATION))
  }
}

async function finish(
  context: ServiceContext,
  mirror: Mirror,
  all: readonly Removal[],
  source: SourceContact,
  options: RemoveTopicsFromMirrorOptions,
): Promise<RemoveTopicsFromMirrorResult> {
  const warnings: string[] = []
  // No runner has ever heard of a topic whose addition was not finished.
  const heardOf = all.filter(({ before }) => before !== 'ADDING')
  const confirmed = await awaitConfirmation(context, mirror.name, heardOf, options.confirmationTimeoutMs)
  const partitions = all.flatMap(({ topic, spec }) => partitionsOf(spec).map((partition) => ({ topic, partition })))
  const there = await source.offsets(partitions)
  const putBack = options.drainMs === undefined ? [] : await putBackWritten(context, mirror, all, there, warnings)
  const written = new Set(putBack.map(({ topic }) => topic))
  const leaving = all.filter(({ topic }) => !written.has(topic))
  const state = mustExist(confirmed, mirror.name)
  const results = await finishRemovals({ context, mirror, leaving, state: confirmed, source, warnings })
  const removed = leaving.map(({ topic }): TopicResult<RemovedTopic> => {
    const result = results.get(topic)!
    if (!result.ok) return { topic, mirror: mirror.name, ok: false, error: told(result.error, mirror.name, topic) }
    const { how } = result.value
    return { topic, mirror: mirror.name, ok: true, how, partitions: rowsOf(state, topic, result.value, there) }
  })
  warnings.push(...unknownLoss(source), ...lossSentence(mirror.name, removed))
  return { topics: [...putBack, ...removed], warnings }
}

const rowsOf = (mirror: Mirror, topic: string, { partitions }: RemovalResult, there: Offsets): RemovedPartition[] =>
  partitions.map(({ partition, logEndOffset }) => lossOf(mirror, topic, partition, logEndOffset, there))

/** A warning where the source did not answer. */
export const unknownLoss = ({ trouble }: SourceContact): string[] =>
  trouble === undefined ? [] : [`the source could not be asked what it has beyond, nor for its groups' last positions: ${trouble}`]

const told = (error: Error, mirror: string, topic: string): MirrorError =>
  unfinished(toMirrorError(error, DESTINATION, `topic ${topic} could not be removed from mirror ${mirror}`))

/** With the way out. */
function unfinished(error: MirrorError): MirrorError {
  if (error.advice?.includes('remove again')) return error
  const advice = [error.advice, 'Copying is stopped; run remove again to finish.'].filter(Boolean).join(' ')
  return new MirrorError(error.code, error.message, { kind: error.kind, advice, cause: error })
}

/** Records that these topics are to stop. Runners see it, and copy nothing more once they have confirmed. */
async function writeStopping({ store, now }: ServiceContext, name: string, topics: readonly string[]): Promise<Removal[]> {
  return store.update((state) => {
    const mirror = mustExist(state, name)
    const leaving = topics.flatMap((topic): Removal[] => {
      const spec = mirror.topics.get(topic)
      if (!isActive(spec)) return []
      const { desired: before } = spec
      return [{ topic, before, spec: before === 'STOPPING' ? spec : { ...spec, desired: 'STOPPING', stopping: { at: now() } } }]
    })
    const begun = leaving.filter(({ before }) => before !== 'STOPPING')
    return { records: begun.map(({ topic, spec }) => put({ kind: 'topic', mirror: name, topic }, spec)), result: leaving }
  })
}

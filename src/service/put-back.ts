import { failure, type MirrorError } from '../mirror/errors.js'
import { about, DESTINATION } from '../mirror/failures.js'
import { isActive, type MirrorState } from '../mirror/fold.js'
import { type Mirror, mustExist, put } from '../mirror/spec-store.js'
import type { ServiceContext } from './context.js'
import { endsHere } from './drain.js'
import { liveRunners } from './runners.js'
import { type Leaving, partitionsOf, statusOf } from './shut-out.js'
import { keyOf, type Offsets } from './source-contact.js'
import { watchState } from './state-watch.js'
import type { RemovedTopic, TopicResult } from './types.js'

const TAKEN_UP_WITHIN_MS = 15_000

/**
 * A last look behind a drain, once nothing is copied any more: topics the source has more of are given back to the mirror instead of
 * being made writable, so that a writer that was forgotten loses nothing. `there` are the source's ends; gives a failure for each such
 * topic.
 */
export async function putBackWritten(
  context: ServiceContext,
  mirror: Mirror,
  leaving: readonly Leaving[],
  there: Offsets,
  warnings: string[],
): Promise<TopicResult<RemovedTopic>[]> {
  const partitions = leaving.flatMap(({ topic, spec }) => partitionsOf(spec).map((partition) => ({ topic, partition })))
  const here = await endsHere(context, partitions)
  if (partitions.some((one) => !there.has(keyOf(one))))
    warnings.push('whether the source was written to after it was drained is unknown: it answers no more')
  const isBehind = (topic: string, partition: number) => {
    const [end, copied] = [there.get(keyOf({ topic, partition })), here.get(keyOf({ topic, partition }))]
    return end !== undefined && copied !== undefined && end > copied
  }
  const behind = leaving.filter(({ topic, spec }) => partitionsOf(spec).some((partition) => isBehind(topic, partition)))
  // What an earlier call began to remove may be fenced already, so that nothing can be copied into it any more.
  const begunEarlier = behind.filter(({ spec }) => spec.desired === 'STOPPING')
  const written = behind.filter(({ spec }) => spec.desired !== 'STOPPING')
  if (written.length > 0) await putBack(context, mirror.name, written)
  return [
    ...written.map(({ topic }) => failed(mirror.name, topic, givenBack)),
    ...begunEarlier.map(({ topic }) => failed(mirror.name, topic, left)),
  ]
}

async function putBack(context: ServiceContext, name: string, written: readonly Leaving[]): Promise<void> {
  await context.store.update((latest) => {
    const { topics } = mustExist(latest, name)
    const records = written.flatMap(({ topic, spec }) => {
      const now = topics.get(topic)
      if (!isActive(now) || now.addedAt !== spec.addedAt || now.desired !== 'STOPPING') return []
      return [put({ kind: 'topic', mirror: name, topic }, { ...now, desired: 'MIRRORING' as const })]
    })
    return { records, result: undefined }
  })
  await takenUpAgain(context, name, written)
}

const failed = (mirror: string, topic: string, error: (mirror: string, topic: string) => MirrorError): TopicResult<RemovedTopic> => ({
  topic,
  mirror,
  ok: false,
  error: error(mirror, topic),
})

const givenBack = (mirror: string, topic: string) =>
  failure(
    'CONFLICT',
    `topic ${topic} was written to on the source while it was being removed from mirror ${mirror}`,
    'It is mirrored again and nothing is lost; stop its writers and run remove --drain again.',
  )

const left = (mirror: string, topic: string) =>
  failure(
    'CONFLICT',
    `topic ${topic} was written to on the source since an earlier call began to remove it from mirror ${mirror}`,
    'Run remove without --drain to finish without what only the source has.',
  )

/** What owners said when they let go must not be taken for their word on the next removal. */
async function takenUpAgain({ destination }: ServiceContext, name: string, topics: readonly Leaving[]): Promise<void> {
  const done = (state: MirrorState) =>
    topics.every(({ topic, spec }) =>
      partitionsOf(spec).every((partition) => statusOf(state, name, topic, spec, partition)?.state !== 'STOPPED'),
    )
  const givenUp = async () => (await liveRunners(destination)) === 0
  await about(DESTINATION, undefined, () => watchState(destination, done, { timeoutMs: TAKEN_UP_WITHIN_MS, givenUp }))
}

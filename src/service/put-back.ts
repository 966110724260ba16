import { failure, type MirrorError } from '../mirror/errors.js'
import { type Mirror, mustExist, put } from '../mirror/spec-store.js'
import { isSameRequest } from './confirmation.js'
import type { ServiceContext } from './context.js'
import { endsHere } from './drain.js'
import { partitionsOf } from './partitions.js'
import type { Removal } from './release-topic.js'
import { keyOf, type Offsets } from './source-contact.js'
import type { RemovedTopic, TopicResult } from './types.js'

/**
 * A last look behind a drain, once nothing is copied any more: topics the source has more of are given back to the mirror instead of
 * being made writable, so that a writer that was forgotten loses nothing. `there` are the source's ends; gives a failure for each such
 * topic.
 */
export async function putBackWritten(
  context: ServiceContext,
  mirror: Mirror,
  leaving: readonly Removal[],
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
  const back = behind.length === 0 ? new Set() : await putBack(context, mirror.name, behind)
  return behind.map(({ topic }) => failed(mirror.name, topic, back.has(topic) ? givenBack : left))
}

/**
 * Those that are mirrored again. What an earlier call began to remove, or another has gone on with, may be fenced already, so that
 * nothing can be copied into it any more.
 */
function putBack(context: ServiceContext, name: string, written: readonly Removal[]): Promise<ReadonlySet<string>> {
  return context.store.update((latest) => {
    const { topics } = mustExist(latest, name)
    const back = written.flatMap(({ topic, spec, before }) => {
      const now = topics.get(topic)
      if (before !== 'MIRRORING' || !isSameRequest(now, spec) || now.stopping?.logEnds !== undefined) return []
      return [{ topic, spec: { ...now, desired: 'MIRRORING' as const, stopping: undefined } }]
    })
    const records = back.map((one) => put({ kind: 'topic', mirror: name, topic: one.topic }, one.spec))
    return { records, result: new Set(back.map(({ topic }) => topic)) }
  })
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

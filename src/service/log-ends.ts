import { failed, listOffsets, type Result, success } from '../client/admin.js'
import type { MirrorState, StateRecord } from '../mirror/fold.js'
import { type Mirror, mustExist, put } from '../mirror/spec-store.js'
import type { RemovalResult, Stopping, TopicSpec } from '../mirror/state.js'
import { confirmedEnd, isSameRequest, type Leaving } from './confirmation.js'
import { overtaken } from './conflicts.js'
import type { ServiceContext } from './context.js'
import { isGone, isPassing } from './fence.js'
import { partitionsOf, statusOf } from './partitions.js'
import { keyOf } from './source-contact.js'

export type LogEnds = NonNullable<Stopping['logEnds']>

/** What became of whoever copied a topic; the log ends are those before fence markers. */
export type ShutOut = Pick<RemovalResult, 'how' | 'partitions'>

/**
 * Where owners let go of a topic, or what came of it already: another command has finished its removal meanwhile, or a reseed that is
 * given up had come so far that the old copy may be gone. What is on record is about that one; nobody copied into what is there now.
 */
export type OnRecord = { readonly logEnds: LogEnds } | { readonly outcome: ShutOut }

/**
 * Ends the wait for owners: puts on record where each let go and what has to be fenced, before the first fence. What is there already
 * stands: a removal that is repeated must neither go by what owners have said since, nor ask them anew, as both would count in
 * the fences and what clients wrote behind them. Topic → what is on record, or CONFLICT. Throws MirrorError.
 */
export async function recordLogEnds(
  context: ServiceContext,
  state: MirrorState,
  name: string,
  leaving: readonly Leaving[],
  warnings: string[],
): Promise<Map<string, Result<OnRecord>>> {
  const found = await findLogEnds(context, state, name, leaving)
  const replaced = await endsOfReplaced(context, state, name, leaving, warnings)
  return context.store.update((latest) => {
    const mirror = mustExist(latest, name)
    const records: StateRecord[] = []
    const result = new Map<string, Result<OnRecord>>()
    for (const one of leaving) {
      const { topic, spec } = one
      const now = mirror.topics.get(topic)
      if (!isSameRequest(now, spec)) {
        result.set(topic, finishedMeanwhile(mirror, one))
        continue
      }
      if (isReplaced(now)) {
        result.set(topic, replaced.get(topic) ?? failed(removalOvertaken(name, topic)))
        continue
      }
      const logEnds = now.stopping?.logEnds ?? found.get(topic)!
      const stopping = { at: now.stopping?.at ?? now.reseed?.at ?? context.now(), logEnds }
      if (now.stopping?.logEnds === undefined) records.push(put({ kind: 'topic', mirror: name, topic }, { ...now, stopping }))
      result.set(topic, success({ logEnds }))
    }
    return { records, result }
  })
}

function finishedMeanwhile({ name, topics, results }: Mirror, { topic, spec }: Leaving): Result<OnRecord> {
  const [now, removed] = [topics.get(topic), results.get(topic)]
  if (now?.desired === 'STOPPED' && now.addedAt === spec.addedAt && removed !== undefined) return success({ outcome: removed })
  return failed(removalOvertaken(name, topic))
}

/** The removal is over, as the topic goes on otherwise. */
export const removalOvertaken = (mirror: string, topic: string) =>
  overtaken(mirror, topic, 'See with describe what it is at, and run remove again if it is to go.')

/**
 * Where the owner said that it left, or where the log ends if nobody ever took the partition up; null where nobody's word counts. Of
 * topics that have nothing on record yet: for others no broker is asked, which may be why an earlier call was not finished.
 */
async function findLogEnds(
  { destination }: ServiceContext,
  state: MirrorState,
  name: string,
  leaving: readonly Leaving[],
): Promise<Map<string, LogEnds>> {
  const asked = leaving.filter(({ topic }) => state.mirror(name)?.topics.get(topic)?.stopping?.logEnds === undefined)
  const idle = asked.flatMap(({ topic, spec }) =>
    // Asked by an older version: what it has fenced already is not known.
    spec.stopping === undefined
      ? []
      : partitionsOf(spec).flatMap((partition) =>
          statusOf(state, name, topic, spec, partition) === undefined ? [{ topic, partition, at: 'latest' as const }] : [],
        ),
  )
  const ends = new Map<string, bigint>()
  for (const [i, answer] of (await listOffsets(destination, idle)).entries()) if (answer.ok) ends.set(keyOf(idle[i]!), answer.value.offset)
  const endOf = ({ topic, spec }: Leaving, partition: number) =>
    confirmedEnd(state.status(name, topic, partition), spec) ?? ends.get(keyOf({ topic, partition })) ?? null
  return new Map(asked.map((one) => [one.topic, partitionsOf(one.spec).map((partition) => endOf(one, partition))]))
}

/**
 * Whether owners let go of another copy than what may be there now: a reseed has come so far that it may have deleted it, or found
 * something else in its place and began anew, which gave it a time of its own.
 */
const isReplaced = ({ reseed, stopping }: TopicSpec): boolean =>
  reseed !== undefined && (reseed.kept || (stopping !== undefined && stopping.at !== reseed.at))

/**
 * What is there of topics whose reseed may have deleted and created them already; nothing where one is missing. A partition that cannot be
 * asked, maybe for good as its broker is lost, is left out with a warning: nobody copies into it, so it is only not told what is lost.
 */
async function endsOfReplaced(
  { destination }: ServiceContext,
  state: MirrorState,
  name: string,
  leaving: readonly Leaving[],
  warnings: string[],
): Promise<Map<string, Result<OnRecord>>> {
  const topics = leaving.filter(({ topic }) => {
    const now = state.mirror(name)?.topics.get(topic)
    return now !== undefined && isReplaced(now)
  })
  const asked = topics.flatMap(({ topic, spec }) => partitionsOf(spec).map((partition) => ({ topic, partition, at: 'latest' as const })))
  const answers = await listOffsets(destination, asked)
  return new Map(
    topics.map(({ topic }) => {
      const all = asked.flatMap((one, i) => (one.topic === topic ? [{ partition: one.partition, answer: answers[i]! }] : []))
      for (const { partition, answer } of all) {
        if (answer.ok || isGone(answer)) continue
        if (!isPassing(answer.error)) return [topic, answer]
        warnings.push(
          `where partition ${partition} of topic ${topic} ends, and so what it lacks, could not be seen: ${answer.error.message}`,
        )
      }
      const partitions = all.flatMap(({ partition, answer }) => (answer.ok ? [{ partition, logEndOffset: answer.value.offset }] : []))
      return [topic, success({ outcome: { how: 'confirmed', partitions } })]
    }),
  )
}

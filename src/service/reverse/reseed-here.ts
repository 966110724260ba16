import { failure } from '../../mirror/errors.js'
import { isActive, isAdded, type MirrorState } from '../../mirror/fold.js'
import { holdSettings, realValues } from '../../mirror/held.js'
import { type Decision, mustExist, put } from '../../mirror/spec-store.js'
import type { TopicSpec } from '../../mirror/state.js'
import { STATE_TOPIC } from '../../mirror/state-topic.js'
import { checkNotTaken } from '../../sync/topics/add-checks.js'
import type { Addition } from '../../sync/topics/add-plan.js'
import { allocateProducers } from '../../sync/topics/destination-topic.js'
import { destinationDefaults, readTopicConfigs } from '../../sync/topics/topic-settings.js'
import type { ServiceContext } from '../context.js'
import { checkDeletable } from '../recovery/recover-mirror.js'
import { reseedTopic } from '../recovery/reseed.js'
import { newReseed, tailTopicOf } from '../recovery/reseed-state.js'
import { missingCreateRight, refuseMissingRights } from '../rights.js'
import type { Findings } from './examine.js'
import type { ReversedTopic } from './types.js'

/** Nobody copies into the topic yet: there is no word to wait for. */
const NOBODY_MS = 1

/**
 * Keeps what this cluster alone has of a topic, makes the topic anew and lets it be copied from the start. The addition is on record
 * as one that is being copied again before anything is done, so that runners keep off, and an interruption is finished by running reverse
 * or recover again.
 */
export async function reseedHere(
  context: ServiceContext,
  addition: Addition,
  { there, here, partitions }: Findings,
  excludedSettings: readonly string[],
  warnings: string[],
): Promise<ReversedTopic['kept']> {
  const { destination, store } = context
  const { mirror, source, admission } = addition
  const topic = there.name
  await admission.checkRights(topic)
  await checkDeletable(context, topic)
  refuseMissingRights(await missingCreateRight(destination, tailTopicOf(topic, context.now())))
  const [theirs, ours, defaults] = await Promise.all([
    readTopicConfigs(source, topic),
    readTopicConfigs(destination, topic),
    destinationDefaults(destination, STATE_TOPIC),
  ])
  const settings = holdSettings(theirs, defaults, excludedSettings, ours.overrides)
  // Until the topic is made anew it is this cluster's own: who gives up before gets it back as it was.
  const held = realValues(Object.keys(settings.held), {}, settings.own)
  const producers = await allocateProducers(destination, here!.partitions.length)
  // From where on it differs was found out by comparing more strictly than can be once a mirror has copied into it.
  const found = partitions.flatMap(({ destinationOffset, differsFrom }) =>
    destinationOffset === undefined ? [] : [{ logStartOffset: 0n, logEndOffset: differsFrom ?? destinationOffset }],
  )
  const wanted = { sourceTopicId: there.topicId, destinationTopicId: here!.topicId, producers, held, found }
  const addedAt = await store.update((state) => beginReseed(state, mirror, topic, wanted, context.now()))
  return finishReseed(context, { mirror, topic, source, addedAt }, warnings)
}

/**
 * What puts the addition on record, and its time. A reseed that another run has begun is gone on with. Throws MirrorError where something
 * else has the topic by now: what was found out about it may not hold any more.
 */
export function beginReseed(
  state: MirrorState,
  mirror: string,
  topic: string,
  wanted: Pick<TopicSpec, 'sourceTopicId' | 'destinationTopicId' | 'producers' | 'held' | 'found'>,
  now: number,
): Decision<number> {
  const before = mustExist(state, mirror).topics.get(topic)
  if (isActive(before) && before.reseed !== undefined) return { records: [], result: before.addedAt }
  checkNotTaken(state, mirror, topic)
  if (isAdded(before))
    throw failure(
      'CONFLICT',
      `topic ${topic} was added to mirror ${mirror} by something else while it was looked at`,
      'See what became of it with describe; what differs is found by recover.',
    )
  const addedAt = Math.max(now, (before?.addedAt ?? 0) + 1)
  const spec: TopicSpec = {
    ...wanted,
    // An addition that was not finished may have put settings on that hide the topic's own.
    held: before?.desired === 'ADDING' ? before.held : wanted.held,
    desired: 'STOPPING',
    stopping: { at: now },
    partitions: wanted.producers.length,
    addedAt,
    reseed: newReseed(topic, now, false),
  }
  return { records: [put({ kind: 'topic', mirror, topic }, spec)], result: addedAt }
}

/** Goes on with a topic that is being copied again, from wherever that was left. */
export async function finishReseed(
  context: ServiceContext,
  begun: Pick<Parameters<typeof reseedTopic>[0], 'mirror' | 'topic' | 'source' | 'addedAt'>,
  warnings: string[],
): Promise<ReversedTopic['kept']> {
  const options = { discard: false, confirmationTimeoutMs: NOBODY_MS }
  const { tailTopic, keptRecords } = await reseedTopic({ ...begun, context, warnings, options })
  return tailTopic === undefined ? undefined : { topic: tailTopic, records: keptRecords }
}

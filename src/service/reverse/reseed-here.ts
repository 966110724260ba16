import { isActive } from '../../mirror/fold.js'
import { holdSettings } from '../../mirror/held.js'
import { mustExist, put } from '../../mirror/spec-store.js'
import type { TopicSpec } from '../../mirror/state.js'
import { STATE_TOPIC } from '../../mirror/state-topic.js'
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
  { there, here }: Findings,
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
  const { held } = holdSettings(theirs, defaults, excludedSettings, ours.overrides)
  const producers = await allocateProducers(destination, here!.partitions.length)
  const addedAt = await store.update((state) => {
    const now = mustExist(state, mirror)
    const before = now.topics.get(topic)
    // Begun by an earlier run, or by somebody else.
    if (isActive(before)) return { records: [], result: before.addedAt }
    const spec: TopicSpec = {
      desired: 'STOPPING',
      sourceTopicId: there.topicId,
      destinationTopicId: here!.topicId,
      partitions: producers.length,
      producers,
      held,
      addedAt: Math.max(context.now(), (before?.addedAt ?? 0) + 1),
      reseed: newReseed(topic, context.now(), false),
    }
    return { records: [put({ kind: 'topic', mirror, topic }, spec)], result: spec.addedAt }
  })
  return finishReseed(context, { mirror, topic, source, addedAt }, warnings)
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

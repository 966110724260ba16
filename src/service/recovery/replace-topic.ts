import { setTimeout as pause } from 'node:timers/promises'
import { deleteTopics } from '../../client/admin.js'
import { isThere, type TopicMetadata } from '../../client/metadata.js'
import { mirrorConfigOf } from '../../mirror/config.js'
import { failure, MirrorError } from '../../mirror/errors.js'
import { mustExist } from '../../mirror/spec-store.js'
import { Errors, KafkaError } from '../../protocol/errors.js'
import { type PreparedTopic, prepareTopic } from '../../sync/topics/destination-topic.js'
import { logBounds } from '../../sync/topics/log-bounds.js'
import { isExamined, keepOld } from './keep-old.js'
import { advance, newReseed, type Reseeding, type ReseedWork, sameReseed } from './reseed-state.js'

const GONE_WITHIN_MS = 30_000
const ATTEMPTS = 3

export interface Replacement extends PreparedTopic {
  readonly sourceTopicId: string
}

/** Deletes the old topic and creates it anew, complete; `keptUpTo` are the ends up to which what differs was kept just now. */
export async function replaceTopic(work: ReseedWork, spec: Reseeding, keptUpTo: readonly bigint[] | undefined): Promise<Replacement> {
  const { context, mirror, source, options } = work
  const old = spec.reseed.old!
  const there = await mustBeOnSource(work)
  const configs = mustExist(await context.store.read(), mirror).configs
  for (let attempt = 1; ; attempt++) {
    await clearAway(work, spec, keptUpTo)
    options.reached?.('deleted')
    try {
      const prepared = await prepareTopic({
        source,
        destination: context.destination,
        there,
        here: undefined,
        replicationFactor: old.replicationFactor < 0 ? undefined : old.replicationFactor,
        excludedSettings: mirrorConfigOf(configs).topicPropertiesExclude,
        ownSettings: new Map(Object.entries(old.settings)),
      })
      work.warnings.push(...prepared.warnings)
      return { ...prepared, sourceTopicId: there.topicId }
    } catch (error) {
      // Brokers that are slow to delete, or somebody else who creates it.
      if (!isExisting(error) || attempt === ATTEMPTS) throw error
    }
  }
}

const isExisting = (error: unknown): boolean =>
  error instanceof MirrorError && error.cause instanceof KafkaError && error.cause.code === Errors.TOPIC_ALREADY_EXISTS

/**
 * Makes sure that no topic of that name is there: the old one, or an empty one, is deleted; data nobody has looked at is not.
 * Others may have written to the old one since its tail was kept, if the work was interrupted even long since: that is kept
 * too, and the last look at its ends comes right before the deletion.
 */
async function clearAway(work: ReseedWork, spec: Reseeding, keptUpTo: readonly bigint[] | undefined): Promise<void> {
  const { context, mirror, topic } = work
  const { destination, store } = context
  const checkNotOvertaken = async () => void sameReseed(mustExist(await store.read(), mirror), topic, spec)
  await checkNotOvertaken()
  const deadline = Date.now() + GONE_WITHIN_MS
  for (let ends = keptUpTo, deletedId: string | undefined; ; ) {
    const here = (await destination.topics([topic])).get(topic)
    if (!isThere(here)) return
    if (Date.now() > deadline) throw failure('TIMEOUT', `topic ${topic} is still there ${GONE_WITHIN_MS / 1000} s after it was deleted`)
    // Once it is deleted its partitions may go on being shown for a while, but cannot be read any more.
    if (here.topicId !== deletedId) {
      if (!isExamined(here, spec)) {
        // Keeping may have taken long: this must not be what somebody else has put in its place by the same plan.
        await checkNotOvertaken()
        await mustBeEmpty(work, spec, here)
      } else if (spec.reseed.tailTopic !== undefined) ends = await keepOld(work, spec, ends)
      const deleted = (await deleteTopics(destination, [topic], { ids: new Map([[topic, here.topicId]]) })).get(topic)!
      if (!deleted.ok && !isGone(deleted.error)) throw deleted.error
      deletedId = here.topicId
    }
    await pause(50)
    await destination.refresh([topic])
  }
}

const isGone = (error: Error) =>
  error instanceof KafkaError && (error.code === Errors.UNKNOWN_TOPIC_OR_PARTITION || error.code === Errors.UNKNOWN_TOPIC_ID)

/** Another topic under the old one's name: what is in it has to be looked at as the first one was. */
async function mustBeEmpty(work: ReseedWork, spec: Reseeding, here: TopicMetadata): Promise<void> {
  const { context, topic } = work
  const bounds = await logBounds(context.destination, topic, here.partitions.length)
  if (bounds.some(({ highWatermark }) => highWatermark > 0n)) throw await somethingElse(work, spec)
}

/** Begins anew with the topic that is there now, when the command is run again. The later time tells that owners let go of another one. */
export async function somethingElse(work: ReseedWork, spec: Reseeding): Promise<MirrorError> {
  const { context, topic, mirror } = work
  const at = Math.max(context.now(), spec.reseed.at + 1)
  await advance(work, spec, newReseed(topic, at, spec.reseed.tailTopic === undefined))
  return failure(
    'TOPIC_HAS_OTHER_DATA',
    `topic ${topic} was deleted, created again or given partitions on the destination by something else while mirror ${mirror} was about to replace it`,
    'Stop what does that, and run recover again: what is in it by then is kept.',
  )
}

export async function mustBeOnSource({ source, topic, mirror }: ReseedWork): Promise<TopicMetadata> {
  const there = (await source.topics([topic])).get(topic)
  if (isThere(there)) return there
  throw failure(
    'UNKNOWN_TOPIC',
    `there is no topic ${topic} on the source of mirror ${mirror} any more`,
    'Remove it from the mirror to keep what is here.',
  )
}

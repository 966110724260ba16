import { initProducerId } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'
import { isThere } from '../../client/metadata.js'
import { MirrorError } from '../../mirror/errors.js'
import { mustExist, put } from '../../mirror/spec-store.js'
import type { ReplacedTopic, TopicSpec } from '../../mirror/state.js'
import { logBounds } from '../../sync/topics/log-bounds.js'
import { readTopicConfigs } from '../../sync/topics/topic-settings.js'
import { awaitConfirmation } from '../confirmation.js'
import { statusOf } from '../partitions.js'
import { eraseRecoveries } from '../release-topic.js'
import { shutOut } from '../shut-out.js'
import { differencesOf } from './examine.js'
import { isExamined, keepOld } from './keep-old.js'
import { mustBeOnSource, type Replacement, replaceTopic, somethingElse } from './replace-topic.js'
import { advance, begin, type Reseeding, type ReseedWork, sameReseed } from './reseed-state.js'

export interface Reseeded {
  /** Undefined where nothing differed, or it was thrown away. */
  readonly tailTopic: string | undefined
  /** Records kept there. */
  readonly keptRecords: number
}

/**
 * Copies a topic again from the start: runners let go of it, what differs from the source is kept in a topic of its own, the topic
 * is deleted and created anew, and added as if for the first time. What is to be done is on record before it is begun, so that
 * an interruption at any point loses nothing, and running it again finishes. The source is only read.
 *
 * Throws MirrorError, KafkaError, ConnectionError; what was done stays done.
 */
export async function reseedTopic(work: ReseedWork): Promise<Reseeded> {
  const begun = await begin(work)
  try {
    await goOn(work, begun)
  } catch (error) {
    if (error instanceof MirrorError && error.code === 'TOPIC_HAS_OTHER_DATA') throw error
    // What fails because another command has done it already is better told as that.
    const mirror = (await work.context.store.read()).mirror(work.mirror)
    if (mirror !== undefined) sameReseed(mirror, work.topic, begun)
    throw error
  }
  work.options.reached?.('added')
  return keptIn(work.context.destination, begun.reseed.tailTopic)
}

async function goOn(work: ReseedWork, begun: Reseeding): Promise<void> {
  const { reached = () => {} } = work.options
  reached('stopping')
  await letGo(work, begun)
  reached('let-go')
  const examined = begun.reseed.old === undefined ? await examine(work, begun) : begun
  reached('examined')
  const keptUpTo = examined.reseed.kept ? undefined : await keep(work, examined)
  reached('kept')
  const replacement = await replaceTopic(work, examined, keptUpTo)
  reached('created')
  await finish(work, examined, replacement)
}

/** Counted where they are: an earlier attempt may have kept them. */
async function keptIn(destination: Cluster, tailTopic: string | undefined): Promise<Reseeded> {
  const found = tailTopic === undefined ? undefined : (await destination.topics([tailTopic])).get(tailTopic)
  if (!isThere(found)) return { tailTopic: undefined, keptRecords: 0 }
  const bounds = await logBounds(destination, found.name, found.partitions.length)
  return { tailTopic, keptRecords: bounds.reduce((sum, { highWatermark }) => sum + Number(highWatermark), 0) }
}

/** Waits until nobody copies into the topic any more, or shuts out whoever might. */
async function letGo({ context, mirror, topic, options, warnings }: ReseedWork, spec: Reseeding): Promise<void> {
  // The old topic may be gone already: there is nothing to wait for.
  if (spec.reseed.kept) return
  const leaving = { topic, spec }
  const state = await awaitConfirmation(context, mirror, [leaving], options.confirmationTimeoutMs)
  await shutOut(context, state, mirror, leaving, warnings)
}

/** Finds what differs, now that nothing moves any more, and puts it on record. */
async function examine(work: ReseedWork, spec: Reseeding): Promise<Reseeding> {
  const { context, source, mirror, topic } = work
  const { destination, store } = context
  const here = (await destination.topics([topic])).get(topic)
  const there = await mustBeOnSource(work)
  if (!isThere(here)) return advance(work, spec, { old: NOTHING, kept: true })
  await destination.refresh([topic])
  const { overrides } = await readTopicConfigs(destination, topic)
  const held = new Set(Object.keys(spec.held))
  const isDiscarded = spec.reseed.tailTopic === undefined
  const state = await store.read()
  const last = (partition: number) => statusOf(state, mirror, topic, spec, partition)
  const old: ReplacedTopic = {
    topicId: here.topicId,
    replicationFactor: here.partitions[0]?.replicas.length ?? -1,
    settings: Object.fromEntries([...overrides].filter(([key]) => !held.has(key))),
    producer: await producer(destination),
    differsFrom: isDiscarded ? [] : await differencesOf({ source, destination, spec, there, here, statusOf: last }),
  }
  return advance(work, spec, { old, kept: isDiscarded })
}

/** No topic has this id: one that shows up later is looked at before it is deleted. */
const NOTHING: ReplacedTopic = { topicId: '', replicationFactor: -1, settings: {}, producer: { id: -1n, epoch: -1 }, differsFrom: [] }

async function producer(destination: Cluster): Promise<ReplacedTopic['producer']> {
  const { producerId, producerEpoch } = await initProducerId(destination)
  return { id: producerId, epoch: producerEpoch }
}

async function keep(work: ReseedWork, spec: Reseeding): Promise<readonly bigint[]> {
  const here = (await work.context.destination.topics([work.topic])).get(work.topic)
  // Also when it only seems to be gone, as to a broker that has just started: nothing is taken for kept that was not.
  if (here === undefined || !isExamined(here, spec)) throw await somethingElse(work, spec)
  const ends = await keepOld(work, spec)
  work.options.reached?.('copied')
  await advance(work, spec, { kept: true })
  return ends
}

/** The topic is mirrored from now on, as one that was just added. */
function finish({ context, mirror, topic }: ReseedWork, spec: Reseeding, replacement: Replacement): Promise<void> {
  return context.store.update((state) => {
    const entry = mustExist(state, mirror)
    const now = sameReseed(entry, topic, spec)
    const next: TopicSpec = {
      desired: 'MIRRORING',
      sourceTopicId: replacement.sourceTopicId,
      destinationTopicId: replacement.topicId,
      partitions: replacement.producers.length,
      producers: replacement.producers,
      // What was held back for the old topic is held back for the new one.
      held: Object.fromEntries(Object.entries(replacement.held).map(([key, value]) => [key, value ?? now.held[key] ?? null])),
      addedAt: Math.max(context.now(), now.addedAt + 1),
    }
    return { records: [put({ kind: 'topic', mirror, topic }, next), ...eraseRecoveries(entry, topic)], result: undefined }
  })
}

import { deleteTopics, initProducerId } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'
import type { TopicMetadata } from '../../client/metadata.js'
import { mirrorConfigOf } from '../../mirror/config.js'
import { failure, MirrorError } from '../../mirror/errors.js'
import { type ActiveTopic, isActive } from '../../mirror/fold.js'
import { forcedSettings } from '../../mirror/held.js'
import type { ReplacedTopic, Reseed, TopicSpec } from '../../mirror/state.js'
import { Errors, KafkaError } from '../../protocol/errors.js'
import { NO_UUID } from '../../protocol/schema.js'
import type { ServiceContext } from '../context.js'
import { type PreparedTopic, prepareTopic } from '../destination-topic.js'
import { logBounds } from '../log-bounds.js'
import { awaitConfirmation, eraseRecoveries, shutOut } from '../release-topic.js'
import { type Mirror, mustExist, put } from '../state-store.js'
import { readTopicConfigs } from '../topic-settings.js'
import { differencesOf } from './examine.js'
import { keepTail } from './keep-tail.js'

/** Steps of a reseed, in their order; each may be interrupted and done again. */
export type ReseedStep = 'stopping' | 'let-go' | 'examined' | 'copied' | 'kept' | 'deleted' | 'created' | 'added'

export interface ReseedOptions {
  /** Throw away what differs instead of keeping it. */
  readonly discard: boolean
  readonly confirmationTimeoutMs: number | undefined
  /** Told when a step is done; a throw ends the work there, as a kill would. */
  readonly reached?: (step: ReseedStep) => void
}

/** What a reseed works with. */
export interface ReseedWork {
  readonly context: ServiceContext
  readonly mirror: string
  readonly topic: string
  /** The topic's addition that was found to differ: a later one is another copy. */
  readonly addedAt: number
  readonly source: Cluster
  readonly options: ReseedOptions
  readonly warnings: string[]
}

export interface Reseeded {
  /** Undefined where nothing differed, or it was thrown away. */
  readonly tailTopic: string | undefined
  /** Records kept there. */
  readonly keptRecords: number
}

const GONE_WITHIN_MS = 30_000
const ATTEMPTS = 3

/**
 * Copies a topic again from the start: runners let go of it, what differs from the source is kept in a topic of its own, the topic
 * is deleted and created anew, and added as if for the first time. What is to be done is on record before it is begun, so that
 * an interruption at any point loses nothing, and running it again finishes. The source is only read.
 *
 * Throws MirrorError, KafkaError, ConnectionError; what was done stays done.
 */
export async function reseedTopic(work: ReseedWork): Promise<Reseeded> {
  const { reached = () => {} } = work.options
  const begun = await begin(work)
  reached('stopping')
  await letGo(work, begun)
  reached('let-go')
  const examined = begun.reseed.old === undefined ? await examine(work, begun) : begun
  reached('examined')
  if (!examined.reseed.kept) await keep(work, examined)
  reached('kept')
  const replacement = await replace(work, examined)
  reached('created')
  await finish(work, examined, replacement)
  reached('added')
  return keptIn(work.context.destination, examined.reseed.tailTopic)
}

/** Counted where they are: an earlier attempt may have kept them. */
async function keptIn(destination: Cluster, tailTopic: string | undefined): Promise<Reseeded> {
  const found = tailTopic === undefined ? undefined : (await destination.topics([tailTopic])).get(tailTopic)
  if (!isThere(found)) return { tailTopic: undefined, keptRecords: 0 }
  const bounds = await logBounds(destination, found.name, found.partitions.length)
  return { tailTopic, keptRecords: bounds.reduce((sum, { highWatermark }) => sum + Number(highWatermark), 0) }
}

type Reseeding = ActiveTopic & { readonly reseed: Reseed }

/** The name tells when, to the millisecond: a topic may be reseeded again. */
export const tailTopicOf = (topic: string, at: number): string => `${topic}.diverged-${new Date(at).toISOString().replace(/[-:.]/g, '')}`

function newReseed(topic: string, at: number, discard: boolean): Reseed {
  return { at, tailTopic: discard ? undefined : tailTopicOf(topic, at), old: undefined, kept: false }
}

/** Tells runners to let go, and everybody that this has begun; one that was begun is gone on with, and may be told to keep nothing. */
function begin({ context, mirror, topic, addedAt, options }: ReseedWork): Promise<Reseeding> {
  return context.store.update((state) => {
    const spec = mustExist(state, mirror).topics.get(topic)
    if (!isActive(spec)) throw failure('TOPIC_NOT_MIRRORED', `mirror ${mirror} has no topic ${topic}`)
    if (spec.addedAt !== addedAt) throw overtaken(mirror, topic)
    const { reseed } = spec
    if (reseed !== undefined) {
      if (!options.discard || reseed.kept) return { records: [], result: { ...spec, reseed } }
      const discarding = { ...spec, reseed: { ...reseed, tailTopic: undefined, kept: reseed.old !== undefined } }
      return { records: [put({ kind: 'topic', mirror, topic }, discarding)], result: discarding }
    }
    if (spec.desired === 'STOPPING')
      throw failure('CONFLICT', `topic ${topic} is being removed from mirror ${mirror}`, 'Run remove again to finish that first.')
    const next = { ...spec, desired: 'STOPPING' as const, reseed: newReseed(topic, context.now(), options.discard) }
    return { records: [put({ kind: 'topic', mirror, topic }, next)], result: next }
  })
}

/** Records the next step, unless another command went on with this reseed meanwhile, or ended it. */
function advance(work: ReseedWork, spec: Reseeding, change: Partial<Reseed>): Promise<Reseeding> {
  const { context, mirror, topic } = work
  return context.store.update((state) => {
    const now = sameReseed(mustExist(state, mirror), topic, spec)
    // Another command at the same work was faster: one producer id copies the tail, or it would be kept twice.
    if (change.old !== undefined && now.reseed.old !== undefined) return { records: [], result: now }
    const next = { ...now, reseed: { ...now.reseed, ...change } }
    return { records: [put({ kind: 'topic', mirror, topic }, next)], result: next }
  })
}

function sameReseed(mirror: Mirror, topic: string, spec: Reseeding): Reseeding {
  const now = mirror.topics.get(topic)
  if (isActive(now) && now.addedAt === spec.addedAt && now.reseed?.at === spec.reseed.at) return { ...now, reseed: now.reseed }
  throw overtaken(mirror.name, topic)
}

const overtaken = (mirror: string, topic: string) =>
  failure('CONFLICT', `another command has gone on with topic ${topic} of mirror ${mirror} meanwhile`, 'See what it is at with describe.')

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
  const { context, source, topic } = work
  const { destination } = context
  const here = (await destination.topics([topic])).get(topic)
  const there = await mustBeOnSource(work)
  if (!isThere(here)) return advance(work, spec, { old: NOTHING, kept: true })
  await destination.refresh([topic])
  const { overrides } = await readTopicConfigs(destination, topic)
  const held = new Set(Object.keys(spec.held))
  const isDiscarded = spec.reseed.tailTopic === undefined
  const old: ReplacedTopic = {
    topicId: here.topicId,
    replicationFactor: here.partitions[0]?.replicas.length ?? -1,
    settings: Object.fromEntries([...overrides].filter(([key]) => !held.has(key))),
    producer: await producer(destination),
    differsFrom: isDiscarded ? [] : await differencesOf({ source, destination, spec, there, here }),
  }
  return advance(work, spec, { old, kept: isDiscarded })
}

const NOTHING: ReplacedTopic = { topicId: NO_UUID, replicationFactor: -1, settings: {}, producer: { id: -1n, epoch: -1 }, differsFrom: [] }

async function producer(destination: Cluster): Promise<ReplacedTopic['producer']> {
  const { producerId, producerEpoch } = await initProducerId(destination)
  return { id: producerId, epoch: producerEpoch }
}

/** Keeps what differs; nothing, if somebody else has deleted the topic meanwhile. */
async function keep(work: ReseedWork, spec: Reseeding): Promise<void> {
  const { context, topic, warnings } = work
  const here = (await context.destination.topics([topic])).get(topic)
  if (!isThere(here)) {
    warnings.push(`topic ${topic} was deleted on the destination before what differed was kept`)
    await advance(work, spec, { kept: true })
    return
  }
  if (here.topicId !== spec.reseed.old!.topicId) throw await somethingElse(work, spec)
  const { tailTopic } = spec.reseed
  const old = spec.reseed.old!
  const { effective } = await readTopicConfigs(context.destination, topic)
  const maxMessageBytes = Math.min(2 ** 31 - 1, Number(effective.get('max.message.bytes') ?? 1 << 20) + REENCODED_MARGIN)
  const settings = new Map([...forcedSettings(Object.keys(spec.held)), ['max.message.bytes', String(maxMessageBytes)]])
  await keepTail({ destination: context.destination, topic, old, tailTopic: tailTopic!, settings, maxMessageBytes })
  work.options.reached?.('copied')
  await advance(work, spec, { kept: true })
}

/** A batch that is written anew may be a little larger than it was. */
const REENCODED_MARGIN = 1 << 16

interface Replacement extends PreparedTopic {
  readonly sourceTopicId: string
}

/** Deletes the old topic and creates it anew, complete. */
async function replace(work: ReseedWork, spec: Reseeding): Promise<Replacement> {
  const { context, mirror, source, options } = work
  const old = spec.reseed.old!
  const there = await mustBeOnSource(work)
  const configs = mustExist(await context.store.read(), mirror).configs
  for (let attempt = 1; ; attempt++) {
    await clearAway(work, spec)
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

const isThere = (topic: TopicMetadata | undefined): topic is TopicMetadata => topic?.errorCode === 0 && topic.partitions.length > 0

/** Makes sure that no topic of that name is there: the old one, or an empty one, is deleted; data nobody has looked at is not. */
async function clearAway(work: ReseedWork, spec: Reseeding): Promise<void> {
  const { context, mirror, topic } = work
  const { destination, store } = context
  sameReseed(mustExist(await store.read(), mirror), topic, spec)
  const deadline = Date.now() + GONE_WITHIN_MS
  for (;;) {
    const here = (await destination.topics([topic])).get(topic)
    if (!isThere(here)) return
    if (Date.now() > deadline) throw failure('TIMEOUT', `topic ${topic} is still there ${GONE_WITHIN_MS / 1000} s after it was deleted`)
    if (here.topicId !== spec.reseed.old!.topicId) await mustBeEmpty(work, spec, here)
    const deleted = (await deleteTopics(destination, [topic], { ids: new Map([[topic, here.topicId]]) })).get(topic)!
    if (!deleted.ok && !isGone(deleted.error)) throw deleted.error
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

/** Begins anew with the topic that is there now, when the command is run again. */
async function somethingElse(work: ReseedWork, spec: Reseeding): Promise<MirrorError> {
  const { context, topic, mirror } = work
  await advance(work, spec, newReseed(topic, context.now(), spec.reseed.tailTopic === undefined))
  return failure(
    'TOPIC_HAS_OTHER_DATA',
    `topic ${topic} was created again on the destination by something else while mirror ${mirror} replaced it`,
    'Stop what does that, and run recover again: what is in it is then kept too.',
  )
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

async function mustBeOnSource({ source, topic, mirror }: ReseedWork): Promise<TopicMetadata> {
  const there = (await source.topics([topic])).get(topic)
  if (isThere(there)) return there
  throw failure(
    'UNKNOWN_TOPIC',
    `there is no topic ${topic} on the source of mirror ${mirror} any more`,
    'Remove it from the mirror to keep what is here.',
  )
}

const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds))

import type { TopicMetadata } from '../../client/metadata.js'
import { failure, MirrorError } from '../../mirror/errors.js'
import { DESTINATION, toMirrorError } from '../../mirror/failures.js'
import { type ActiveTopic, isActive, isAdded, type MirrorState } from '../../mirror/fold.js'
import { areForced, type HeldSettings, realValues } from '../../mirror/held.js'
import { type Mirror, mustExist, put, type SpecStore } from '../../mirror/spec-store.js'
import type { TopicSpec } from '../../mirror/state.js'
import { Errors, KafkaError } from '../../protocol/errors.js'
import { NO_UUID } from '../../protocol/schema.js'
import { checkNotTaken } from './add-checks.js'
import type { Addition, Plan } from './add-plan.js'
import { carryOut, type IntendedTopic, intendTopic } from './destination-topic.js'
import { foundLogs } from './log-bounds.js'
import { originsOf } from './origins.js'
import { unlessTakenBack } from './taken-back.js'

export interface AddingOptions {
  /** Of a topic that is created; default is the broker's. */
  readonly replicationFactor?: number | undefined
  /** `mirror.topic.properties.exclude`. */
  readonly excludedSettings: readonly string[]
  /** Asked under the lock, before anything is changed: whether the topic is still to be added. */
  readonly stillWanted?: (state: MirrorState) => boolean
  readonly now: () => number
}

export interface Added {
  readonly topicId: string | undefined
  readonly warnings: readonly string[]
  /** False if it turned out not to be wanted any more, or to be there already. */
  readonly added: boolean
}

/**
 * Puts the addition on record, prepares the destination's topic, and then records that it is done, which makes runners begin. Whatever
 * is interrupted stays on record as ADDING, and is gone on with by the next addition or undone by a removal: a topic that was there
 * has its own settings again, also where a removal has overtaken the addition. Throws MirrorError.
 */
export async function addPlanned(addition: Addition, plan: Plan, store: SpecStore, options: AddingOptions): Promise<Added> {
  const { mirror, source, destination } = addition
  const { there, here, found: seen } = plan
  const { replicationFactor, excludedSettings } = options
  const preparation = { source, destination, there, here, replicationFactor, excludedSettings }
  const intended = await intendTopic(preparation)
  const begun = await begin(addition, plan, store, intended, options)
  if (begun === undefined) return { topicId: here?.topicId, warnings: [], added: false }
  let failed: unknown
  try {
    const { topicId, taken, warnings } = await carryOut(preparation, intended)
    const found = here && (await foundLogs(destination, there.name, seen))
    const held = realValues(Object.keys(intended.settings.held), intended.settings.taken, begun.held)
    const done = { destinationTopicId: topicId, held, taken, found }
    if (await finish(addition, there.name, begun, store, done)) return { topicId, warnings, added: true }
  } catch (error) {
    failed = error
  }
  const context = { mirror, store, destination, now: options.now }
  const now = await unlessTakenBack(context, there.name, begun, (latest) => leftWith(begun, latest))
  if (now === undefined) throw overtaken(mirror, there.name)
  // By another; what is copied since looks as if something wrote to the topic.
  if (isAdded(now)) return { topicId: now.destinationTopicId, warnings: [], added: false }
  throw unfinished(failed)
}

/** What a topic gets that was removed meanwhile: its own, unless another has finished the addition, and it was failed over. */
const leftWith = ({ held }: ActiveTopic, latest: TopicSpec | undefined): TopicSpec['held'] =>
  latest?.taken === undefined ? held : realValues(Object.keys(held), latest.taken, held)

const overtaken = (mirror: string, topic: string) =>
  failure('CONFLICT', `topic ${topic} was removed from mirror ${mirror} while it was being added`, 'Add it again if it is wanted.')

/** The addition on record from now on, or as another has begun it; undefined if it is finished already, or not wanted any more. */
function begin(
  addition: Addition,
  { there, here }: Plan,
  store: SpecStore,
  { settings, producers }: IntendedTopic,
  { stillWanted, now }: AddingOptions,
): Promise<ActiveTopic | undefined> {
  const { mirror, sourceClusterId, destinationClusterId, sourceState } = addition
  const topic = there.name
  return store.update<ActiveTopic | undefined>((state) => {
    if (stillWanted?.(state) === false) return { records: [], result: undefined }
    const entry = mustExist(state, mirror)
    checkSameSource(entry, sourceClusterId)
    checkNotTaken(state, mirror, topic)
    const before = entry.topics.get(topic)
    if (isAdded(before)) return { records: [], result: undefined }
    const partitions = there.partitions.length
    const begun = isActive(before) && isOfThisTopic(before, here, settings) ? before : undefined
    if (begun?.sourceTopicId === there.topicId && begun.partitions === partitions) return { records: [], result: begun }
    const spec: ActiveTopic = {
      desired: 'ADDING',
      sourceTopicId: there.topicId,
      destinationTopicId: here?.topicId ?? NO_UUID,
      partitions,
      producers,
      // Its own, to undo the addition. What was put on since it was begun is not; what we create was never anybody's.
      held: here === undefined ? settings.held : { ...settings.own, ...begun?.held },
      origins: originsOf(sourceState, topic, destinationClusterId),
      // It tells this addition from earlier ones, so it must differ from them whatever the clock says.
      addedAt: Math.max(now(), (before?.addedAt ?? 0) + 1),
    }
    const pinned = entry.spec.sourceClusterId === undefined ? [put({ kind: 'mirror', mirror }, { ...entry.spec, sourceClusterId })] : []
    return { records: [...pinned, put({ kind: 'topic', mirror, topic }, spec)], result: spec }
  })
}

/** Whether an addition was begun for the destination's topic that is there now: what it was to create may be somebody else's. */
function isOfThisTopic({ destinationTopicId }: TopicSpec, here: TopicMetadata | undefined, { own }: HeldSettings): boolean {
  if (destinationTopicId !== NO_UUID) return destinationTopicId === here?.topicId
  return here === undefined || here.topicId === NO_UUID || areForced(own)
}

/** Deleted and created again meanwhile, a mirror may copy from elsewhere. Throws MirrorError. */
function checkSameSource({ name, spec }: Mirror, sourceClusterId: string): void {
  if (spec.sourceClusterId === undefined || spec.sourceClusterId === sourceClusterId) return
  const message = `mirror ${name} copies from cluster ${spec.sourceClusterId} by now, not from ${sourceClusterId}`
  throw failure('OTHER_CLUSTER', message, 'See what it has with describe.')
}

/** Lets runners begin. False if somebody else did so, or the topic has left meanwhile. */
function finish(
  { mirror }: Addition,
  topic: string,
  { addedAt }: ActiveTopic,
  store: SpecStore,
  prepared: Pick<TopicSpec, 'destinationTopicId' | 'held' | 'taken' | 'found'>,
): Promise<boolean> {
  return store.update((state) => {
    const now = state.mirror(mirror)?.topics.get(topic)
    if (now?.addedAt !== addedAt || now.desired !== 'ADDING') return { records: [], result: false }
    return { records: [put({ kind: 'topic', mirror, topic }, { ...now, ...prepared, desired: 'MIRRORING' })], result: true }
  })
}

/** With the way on and the way out. */
function unfinished(error: unknown): MirrorError {
  const { code, kind, message, advice, cause } = toMirrorError(error, DESTINATION)
  return new MirrorError(code, message, { kind, advice: [advice, UNFINISHED].filter(Boolean).join(' '), cause })
}

const UNFINISHED = 'It is on record as being added: add goes on with it, remove undoes it.'

const ATTEMPTS = 3

/** Runs `attempt` again when somebody else created the topic since it looked. */
export async function unlessCreatedMeanwhile<T>(attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isExisting(error) || attempts === ATTEMPTS) throw error
    }
  }
}

const isExisting = (error: unknown): boolean =>
  error instanceof MirrorError && error.cause instanceof KafkaError && error.cause.code === Errors.TOPIC_ALREADY_EXISTS

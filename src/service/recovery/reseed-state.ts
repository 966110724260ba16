import type { Cluster } from '../../client/cluster.js'
import { failure } from '../../mirror/errors.js'
import { type ActiveTopic, isActive, isAdded } from '../../mirror/fold.js'
import { type Mirror, mustExist, put } from '../../mirror/spec-store.js'
import type { Reseed } from '../../mirror/state.js'
import { coming, overtaken } from '../conflicts.js'
import type { ServiceContext } from '../context.js'

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

export type Reseeding = ActiveTopic & { readonly reseed: Reseed }

/** The name tells when, to the millisecond: a topic may be reseeded again. */
export const tailTopicOf = (topic: string, at: number): string => `${topic}.diverged-${new Date(at).toISOString().replace(/[-:.]/g, '')}`

export function newReseed(topic: string, at: number, discard: boolean): Reseed {
  return { at, tailTopic: discard ? undefined : tailTopicOf(topic, at), old: undefined, kept: false }
}

/** Tells runners to let go, and everybody that this has begun; one that was begun is gone on with, and may be told to keep nothing. */
export function begin({ context, mirror, topic, addedAt, options }: ReseedWork): Promise<Reseeding> {
  return context.store.update((state) => {
    const spec = mustExist(state, mirror).topics.get(topic)
    if (!isActive(spec)) throw failure('TOPIC_NOT_MIRRORED', `mirror ${mirror} has no topic ${topic}`)
    if (!isAdded(spec)) throw coming(mirror, topic)
    if (spec.addedAt !== addedAt) throw overtaken(mirror, topic)
    const { reseed } = spec
    if (reseed !== undefined) {
      if (!options.discard || reseed.kept) return { records: [], result: { ...spec, reseed } }
      const discarding = { ...spec, reseed: { ...reseed, tailTopic: undefined, kept: reseed.old !== undefined } }
      return { records: [put({ kind: 'topic', mirror, topic }, discarding)], result: discarding }
    }
    if (spec.desired === 'STOPPING')
      throw failure('CONFLICT', `topic ${topic} is being removed from mirror ${mirror}`, 'Run remove again to finish that first.')
    const at = context.now()
    const next = { ...spec, desired: 'STOPPING' as const, stopping: { at }, reseed: newReseed(topic, at, options.discard) }
    return { records: [put({ kind: 'topic', mirror, topic }, next)], result: next }
  })
}

/** Records the next step, unless another command went on with this reseed meanwhile, or ended it. */
export function advance(work: ReseedWork, spec: Reseeding, change: Partial<Reseed>): Promise<Reseeding> {
  const { context, mirror, topic } = work
  return context.store.update((state) => {
    const now = sameReseed(mustExist(state, mirror), topic, spec)
    // Another command at the same work was faster: one producer id copies the tail, or it would be kept twice.
    if (change.old !== undefined && now.reseed.old !== undefined) return { records: [], result: now }
    const next = { ...now, reseed: { ...now.reseed, ...change } }
    return { records: [put({ kind: 'topic', mirror, topic }, next)], result: next }
  })
}

export function sameReseed(mirror: Mirror, topic: string, spec: Reseeding): Reseeding {
  const now = mirror.topics.get(topic)
  if (isActive(now) && now.addedAt === spec.addedAt && now.reseed?.at === spec.reseed.at) return { ...now, reseed: now.reseed }
  throw overtaken(mirror.name, topic)
}

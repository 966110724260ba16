import { failed, type Result, success } from '../client/admin.js'
import type { KeyedRecord } from '../client/keyed-log.js'
import { mirrorConfigOf } from '../mirror/config.js'
import { failure } from '../mirror/errors.js'
import type { MirrorState, StateRecord } from '../mirror/fold.js'
import { erase, type Mirror, mustExist, put } from '../mirror/spec-store.js'
import type { DesiredState, RemovalResult } from '../mirror/state.js'
import { releaseAclsOf } from '../sync/acls/index.js'
import { pinnedTopics, syncGroups, unchangedTopics } from '../sync/groups/index.js'
import { refusalWarnings, settingsAtRelease } from '../sync/topics/topic-settings.js'
import type { Leaving } from './confirmation.js'
import { type ServiceContext, within } from './context.js'
import { removalOvertaken } from './log-ends.js'
import { applySettingsOfMany } from './release-settings.js'
import { shutOutAll } from './shut-out.js'
import type { SourceContact } from './source-contact.js'
import { standingOf, stillLeaving } from './still-leaving.js'

const GROUPS_WITHIN_MS = 15_000

/** A topic that is being removed. */
export interface Removal extends Leaving {
  /** What was wanted of it until then. STOPPING: an earlier call began this, and no more is known of that than is on record. */
  readonly before: DesiredState
}

/** A removal that was written down, and what it needs to be finished. */
export interface RemovalWork {
  readonly context: ServiceContext
  readonly mirror: Mirror
  readonly leaving: readonly Removal[]
  /** As last seen, with what owners have confirmed. */
  readonly state: MirrorState
  readonly source: SourceContact
  /** Sentences for stderr are added. */
  readonly warnings: string[]
}

/**
 * Makes the topics writable: fences what nobody confirmed, gives groups their last positions, gives back rights and real
 * settings, and records the outcome, all topics together. Topic → outcome; what one topic lacks does not keep another. Safe to repeat.
 * Throws MirrorError if the outcome cannot be recorded.
 */
export async function finishRemovals(work: RemovalWork): Promise<Map<string, Result<RemovalResult>>> {
  const { context, mirror, leaving, warnings } = work
  const shut = await shutOutAll(context, work.state, mirror.name, leaving, warnings)
  const failures = new Map<string, Error>()
  for (const [topic, result] of shut) if (!result.ok) failures.set(topic, result.error)
  const open = () => leaving.filter(({ topic }) => !failures.has(topic))
  await syncLastPositions(work, open())
  await releaseRights(work, await stillLeaving(context.store, mirror.name, open(), failures), failures)
  await releaseHeld(work, await stillLeaving(context.store, mirror.name, open(), failures), failures)
  const at = context.now()
  const results = new Map<string, Result<RemovalResult>>()
  for (const [topic, result] of shut) {
    const failure = failures.get(topic)
    if (failure !== undefined) results.set(topic, failed(failure))
    else if (result.ok) results.set(topic, success({ ...result.value, at }))
  }
  // Where nothing was done there may be nobody to tell it to.
  return [...results.values()].some(({ ok }) => ok) ? record(work, results) : results
}

/**
 * The last words of the source's groups. They are not worth failing for: who needs them most has lost the source. Not for what an
 * earlier removal began: consumers may have moved over since.
 */
async function syncLastPositions({ context, mirror, source, warnings }: RemovalWork, all: readonly Removal[]): Promise<void> {
  const leaving = all.filter(({ before }) => before !== 'STOPPING')
  const cluster = await source.whenReached()
  if (cluster === undefined || leaving.length === 0) return
  const { groupsInclude: include, groupsExclude: exclude } = mirrorConfigOf(mirror.configs)
  const { destination } = context
  // Once it is given up it must not go on behind whoever commits next.
  let over = false
  const sync = async () => {
    const pinned = pinnedTopics(
      mirror,
      leaving.map(({ topic }) => topic),
    )
    const { topics, problems } = await unchangedTopics(cluster, destination, pinned)
    const report = await syncGroups({ source: cluster, destination, topics, include, exclude, mayWrite: () => !over })
    return { problems: [...problems, ...report.problems] }
  }
  const asked = sync()
  const report = await within(GROUPS_WITHIN_MS, asked, (error) =>
    warnings.push(`groups have the positions of an earlier sync: ${error instanceof Error ? error.message : error}`),
  )
  over = true
  for (const { item, message } of report?.problems ?? []) warnings.push(`${item} has the position of an earlier sync, if any: ${message}`)
}

async function releaseRights(
  { context, mirror: { name }, warnings }: RemovalWork,
  leaving: readonly Leaving[],
  failures: Map<string, Error>,
): Promise<void> {
  const { destination, store } = context
  const topics = leaving.map(({ topic }) => topic)
  try {
    const released = await releaseAclsOf({ destination, store, mirror: name, topics, now: context.now })
    warnings.push(...released.warnings)
    // A topic that is still guarded is not writable, whatever else was done for it.
    for (const topic of released.readOnly) failures.set(topic, stillReadOnly(topic))
  } catch (error) {
    for (const topic of topics) failures.set(topic, error as Error)
  }
}

export const stillReadOnly = (topic: string) =>
  failure(
    'RIGHTS_MISSING',
    `topic ${topic} is still read-only`,
    'Grant ALTER on the cluster of the destination, and run remove again to finish.',
  )

async function releaseHeld({ context, warnings }: RemovalWork, leaving: readonly Leaving[], failures: Map<string, Error>): Promise<void> {
  const wanted = new Map<string, ReadonlyMap<string, string | null>>()
  for (const { topic, spec } of leaving) {
    try {
      wanted.set(topic, await settingsAtRelease(context.destination, topic, spec))
    } catch (error) {
      failures.set(topic, error as Error)
    }
  }
  for (const [topic, result] of await applySettingsOfMany(context.destination, wanted)) {
    if (!result.ok) failures.set(topic, result.error)
    else {
      warnings.push(...refusalWarnings(topic, result.value))
      if (!result.value.exists) warnings.push(`topic ${topic} is not on the destination any more`)
    }
  }
}

/** One change of the state for all topics. Gives the outcomes: what is mirrored again is left alone, and was not removed. */
function record(
  { context, mirror: { name }, leaving }: RemovalWork,
  results: ReadonlyMap<string, Result<RemovalResult>>,
): Promise<Map<string, Result<RemovalResult>>> {
  return context.store.update((latest) => {
    const mirror = mustExist(latest, name)
    const records: StateRecord[] = []
    const outcomes = new Map(results)
    for (const one of leaving) {
      const { topic } = one
      const [result, now] = [results.get(topic)!, mirror.topics.get(topic)]
      const standing = standingOf(now, one)
      if (!result.ok || standing === 'STOPPED') continue
      if (now === undefined || standing === undefined) {
        outcomes.set(topic, failed(removalOvertaken(name, topic)))
        continue
      }
      records.push(
        put({ kind: 'result', mirror: name, topic }, result.value),
        put({ kind: 'topic', mirror: name, topic }, { ...now, desired: 'STOPPED', stopping: undefined, held: {}, reseed: undefined }),
        ...eraseRecoveries(mirror, topic),
      )
    }
    return { records, result: outcomes }
  })
}

/** Wishes for partitions of a topic that is not what it was. */
export const eraseRecoveries = (mirror: Mirror, topic: string): KeyedRecord[] =>
  [...(mirror.recoveries.get(topic)?.keys() ?? [])].map((partition) => erase({ kind: 'recovery', mirror: mirror.name, topic, partition }))

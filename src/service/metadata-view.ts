import { describeBinding, formatBinding, guardOf, parseBinding } from '../mirror/acl-bindings.js'
import { isActive, type MirrorEntry } from '../mirror/fold.js'
import type { SyncLoopName, SyncProblem } from '../mirror/state.js'

/** What became of the last round of one loop that keeps a mirror's metadata: topics, settings, groups, access rules. */
export interface SyncState {
  readonly loop: SyncLoopName
  /** False if the round as a whole failed; `error` says why. */
  readonly ok: boolean
  /** End of the last round on record, milliseconds since the epoch; rounds without news are on record twice a minute. */
  readonly at: number
  readonly lastSuccess: number | undefined
  readonly error: string | undefined
  /** Changes made in that round. */
  readonly changes: number
  /** Items that could not be synced, such as a topic or a group; the others were. At most 100. */
  readonly problems: readonly SyncProblem[]
  /** How many there are beyond those. */
  readonly moreProblems: number
  /** What is as it should be and worth knowing. */
  readonly notes: readonly string[]
  /** Client id of the runner. */
  readonly owner: string
}

/** Mirrored topics by what keeps others from writing to them. */
export interface ReadOnlyTopics {
  /** The destination refuses writes of all but super users: a DENY rule of the mirror. */
  readonly guarded: readonly string[]
  /** Nothing is refused; a foreign write is found when its offset is copied, and stops its partition. */
  readonly watched: readonly string[]
}

export interface MirrorMetadata {
  /** In the order in which the loops depend on each other; one that never ran is missing. */
  readonly syncs: readonly SyncState[]
  readonly readOnly: ReadOnlyTopics
  /** Rules of the source that let somebody write to mirrored topics, and that are given only at failover. */
  readonly withheldRights: readonly string[]
}

const ORDER: readonly SyncLoopName[] = ['discovery', 'topics', 'configs', 'groups', 'acls']

/** What is on record of a mirror besides its partitions. */
export function metadataOf({ syncs, acls, topics }: MirrorEntry): MirrorMetadata {
  const active = [...topics].filter(([, spec]) => isActive(spec)).map(([topic]) => topic)
  const isGuarded = (topic: string) => {
    const guard = acls.get(formatBinding(guardOf(topic)))
    return guard?.what === 'guard' && guard.pending !== true
  }
  return {
    syncs: ORDER.flatMap((loop): SyncState[] => {
      const status = syncs.get(loop)
      if (status === undefined) return []
      const { ok, at, lastSuccess, error, changes, problems, more, notes, owner } = status
      return [{ loop, ok, at, lastSuccess, error, changes, problems, moreProblems: more, notes, owner }]
    }),
    readOnly: { guarded: active.filter(isGuarded).sort(), watched: active.filter((topic) => !isGuarded(topic)).sort() },
    withheldRights: [...acls].flatMap(([binding, { what }]) => (what === 'withheld' ? [rightText(binding)] : [])).sort(),
  }
}

function rightText(text: string): string {
  const binding = parseBinding(text)
  return binding === undefined ? text : describeBinding(binding)
}

/** A sentence for every loop whose last round failed. */
export function failedSyncs(mirror: string, { syncs }: MirrorMetadata): string[] {
  return syncs
    .filter(({ ok }) => !ok)
    .map(({ loop, at, lastSuccess, error }) => {
      const before = lastSuccess === undefined ? 'it never succeeded' : `its last success was at ${new Date(lastSuccess).toISOString()}`
      return `mirror ${mirror}: the sync of ${loop} failed at ${new Date(at).toISOString()}, ${before}: ${error ?? 'for an unknown reason'}`
    })
}

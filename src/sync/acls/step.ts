import type { AclBinding } from '../../client/admin-acls.js'
import { coversTopic, formatBinding, parseBinding } from '../../mirror/acl-bindings.js'
import { isActive, type MirrorEntry, type MirrorState } from '../../mirror/fold.js'
import type { AclRecord } from '../../mirror/state.js'
import { isCaredFor } from '../topics/active-topics.js'

/** What is to happen to one rule on the destination, and to the mirror's record of it. */
export interface AclStep {
  readonly mirror: string
  readonly binding: AclBinding
  /** `none` changes the record only. */
  readonly effect: 'create' | 'delete' | 'none'
  /** What is on record once it is done; null: nothing. */
  readonly record: StepRecord | null
  /** What was on record when it was planned. It is not carried out on any other. */
  readonly before: AclRecord | undefined
  /** For a topic that has left the mirror, or is leaving it. */
  readonly left?: true
}

export type StepRecord = Pick<AclRecord, 'what' | 'standsFor'>

export const recordOf = (state: MirrorState, { mirror, binding }: Pick<AclStep, 'mirror' | 'binding'>): AclRecord | undefined =>
  state.mirror(mirror)?.acls.get(formatBinding(binding))

export const sameRecord = (a: AclRecord | undefined, b: AclRecord | undefined): boolean =>
  a?.what === b?.what && a?.standsFor === b?.standsFor && a?.pending === b?.pending && a?.at === b?.at

/** Names of the topics of a mirror whose rules follow the source. */
export const followers = (topics: MirrorEntry['topics']): string[] =>
  [...topics].filter(([, spec]) => isCaredFor(spec)).map(([topic]) => topic)

/** Names of the topics that have left a mirror. */
export const gone = (topics: MirrorEntry['topics']): string[] => [...topics].filter(([, spec]) => !isActive(spec)).map(([topic]) => topic)

/** Whether a rule is this mirror's to change now: one on topics that have left belongs to the destination alone. */
export const isLive = (binding: AclBinding, following: readonly string[]): boolean =>
  binding.resourceType === 'TOPIC' ? following.some((topic) => coversTopic(binding, topic)) : following.length > 0

/** The rules of a mirror's records. A key nobody of ours can have written is passed over. */
export function recordsOf(acls: MirrorEntry['acls']): { key: string; binding: AclBinding; record: AclRecord }[] {
  return [...acls].flatMap(([key, record]) => {
    const binding = parseBinding(key)
    return binding === undefined ? [] : [{ key, binding, record }]
  })
}

/** Whether another mirror answers for this rule too: then it stays when one of them lets go. */
export const isShared = (state: MirrorState, mirror: string, key: string): boolean =>
  state.mirrors().some((other) => other.name !== mirror && isOnDestination(other.acls.get(key)))

const isOnDestination = (record: AclRecord | undefined): boolean => record !== undefined && record.what !== 'withheld'

export const keysOf = (bindings: Iterable<AclBinding>): Set<string> => new Set([...bindings].map(formatBinding))

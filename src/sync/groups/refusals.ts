import { Errors, KafkaError } from '../../protocol/index.js'

/** The group got members in the meantime: what they have read counts, not what the source says. */
const ACTIVE: ReadonlySet<number> = new Set([
  Errors.UNKNOWN_MEMBER_ID,
  Errors.ILLEGAL_GENERATION,
  Errors.REBALANCE_IN_PROGRESS,
  Errors.NON_EMPTY_GROUP,
  Errors.STALE_MEMBER_EPOCH,
  Errors.FENCED_MEMBER_EPOCH,
])

export type Side = 'source' | 'destination'

const ADVICE: ReadonlyMap<number, string> = new Map([
  [Errors.TOPIC_AUTHORIZATION_FAILED, 'grant READ on the topic'],
  [Errors.OFFSET_METADATA_TOO_LARGE, "raise the destination's offset.metadata.max.bytes"],
  [Errors.INVALID_GROUP_ID, 'leave the group out with mirror.groups.exclude'],
])

const GRANT: Readonly<Record<Side, string>> = { source: 'grant DESCRIBE on the group', destination: 'grant READ on the group' }

/** Why a group of that name stands in the way, and what to do. */
export const takenBy = (kind: string): string =>
  `the destination has ${kind} under that name: delete it there, or leave the group out with mirror.groups.exclude`

export const isActive = (error: Error): boolean => error instanceof KafkaError && ACTIVE.has(error.code)

/** One sentence about what kept a group's positions from being read or written. */
export function reasonOf(error: Error, side: Side): string {
  if (!(error instanceof KafkaError)) return error.message
  // What an OffsetCommit to a share group is answered with, and an AlterShareGroupOffsets to any other group.
  if (error.code === Errors.GROUP_ID_NOT_FOUND) return takenBy('a group of another kind')
  const advice = error.code === Errors.GROUP_AUTHORIZATION_FAILED ? GRANT[side] : ADVICE.get(error.code)
  return advice === undefined ? error.message : `${error.message.replace(/\.$/, '')}: ${advice}`
}

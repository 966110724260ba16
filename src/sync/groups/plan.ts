import type { GroupPosition } from '../../client/admin-groups.js'

/** Where the destination's copy of a partition starts and ends. */
export interface Bounds {
  readonly logStartOffset: bigint
  readonly logEndOffset: bigint
}

/** `topic/partition` → bounds; partitions that could not be asked are missing. */
export type BoundsByPartition = ReadonlyMap<string, Bounds>

export const partitionKey = ({ topic, partition }: { readonly topic: string; readonly partition: number }): string =>
  `${topic}/${partition}`

export interface GroupPlan {
  /** To be written: what differs, or everything when the group is to be renewed. */
  readonly positions: readonly GroupPosition[]
  /** How many of them differ from what is there. */
  readonly changes: number
}

/**
 * What to write for a group without members: the source's positions, moved into the destination's log where they lie outside
 * (KAFKA-12635), since its copy may be behind or start later. 0 is a position as any other (KAFKA-10048). What the
 * destination has beyond the source's is left alone.
 *
 * @param current what the destination has
 * @param renew write unchanged positions too, so that they don't expire
 */
export function planGroup(
  wanted: readonly GroupPosition[],
  current: readonly GroupPosition[],
  bounds: BoundsByPartition,
  renew = false,
): GroupPlan {
  const there = new Map(current.map((position) => [partitionKey(position), position]))
  const within = wanted.flatMap((position) => {
    const log = bounds.get(partitionKey(position))
    return log === undefined ? [] : [{ ...position, offset: clamped(position.offset, log) }]
  })
  const changed = within.filter((position) => {
    const known = there.get(partitionKey(position))
    return known?.offset !== position.offset || known.metadata !== position.metadata
  })
  return { positions: renew ? within : changed, changes: changed.length }
}

function clamped(offset: bigint, { logStartOffset, logEndOffset }: Bounds): bigint {
  const reached = offset < logEndOffset ? offset : logEndOffset
  return reached > logStartOffset ? reached : logStartOffset
}

import { commitOffsets, committedOffsets, type GroupPosition, type PositionsOf } from '../../client/admin-groups.js'
import { alterShareGroupOffsets, shareGroupOffsets } from '../../client/admin-share-groups.js'
import type { GroupAt } from '../../client/by-coordinator.js'
import type { Cluster } from '../../client/cluster.js'
import type { Result } from '../../client/result.js'
import type { Keeping } from './choose.js'

/** How positions of a kind of groups are read and written. Neither throws; outcomes are in the order of the groups. */
export interface KeepingWay {
  readonly keeping: Keeping
  read(cluster: Cluster, groups: readonly GroupAt[]): Promise<Array<Result<GroupPosition[]>>>
  write(cluster: Cluster, groups: readonly PositionsOf[]): Promise<Array<Result<Array<Result<void>>>>>
}

export const KEEPING: readonly KeepingWay[] = [
  { keeping: 'offsets', read: committedOffsets, write: commitOffsets },
  { keeping: 'share', read: shareGroupOffsets, write: alterShareGroupOffsets },
]

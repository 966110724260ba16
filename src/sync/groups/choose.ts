import type { GroupListing, ListedGroup } from '../../client/admin-groups.js'
import type { Filter } from '../../mirror/filters.js'
import { RUNNER_GROUP } from '../../mirror/state-topic.js'

/** Share groups keep where they start in a place of their own; all other types commit offsets, and turn into each other. */
export type Keeping = 'offsets' | 'share'

/** What the destination has under the group's name. */
export type Standing =
  /** Nothing, as far as is known: a broker that was not heard may have it. */
  | { readonly what: 'absent' }
  | { readonly what: 'empty'; readonly coordinator: number }
  | { readonly what: 'active' }
  /** A group that keeps its positions in another way. */
  | { readonly what: 'other'; readonly type: string }

/** A group of the source whose positions may have to be written on the destination. */
export interface Candidate {
  readonly groupId: string
  readonly keeping: Keeping
  readonly sourceCoordinator: number
  readonly destination: Standing
}

const keepingOf = (type: string): Keeping => (type === 'share' ? 'share' : 'offsets')

/** Every other state, known to us or not, is one of a group with members. */
const MEMBERLESS: ReadonlySet<string> = new Set(['Empty', 'Dead'])

/** The source's groups that pass the filter, each with what the destination has of that name. The runners' own is none of them. */
export function chooseGroups(source: GroupListing, destination: GroupListing, filter: Filter): Candidate[] {
  const there = byName(destination.groups)
  return [...byName(source.groups).values()]
    .filter(({ groupId }) => groupId !== RUNNER_GROUP && filter.passes(groupId))
    .map(({ groupId, type, coordinator }) => {
      const keeping = keepingOf(type)
      return { groupId, keeping, sourceCoordinator: coordinator, destination: standingOf(keeping, there.get(groupId)) }
    })
}

/** Two brokers list a group while it moves from one to the other: with members on either it has members. */
function byName(groups: readonly ListedGroup[]): Map<string, ListedGroup> {
  const found = new Map<string, ListedGroup>()
  for (const group of groups) {
    const known = found.get(group.groupId)
    if (known === undefined || MEMBERLESS.has(known.state)) found.set(group.groupId, group)
  }
  return found
}

function standingOf(keeping: Keeping, group: ListedGroup | undefined): Standing {
  if (group === undefined) return { what: 'absent' }
  if (keepingOf(group.type) !== keeping) return { what: 'other', type: group.type }
  return MEMBERLESS.has(group.state) ? { what: 'empty', coordinator: group.coordinator } : { what: 'active' }
}

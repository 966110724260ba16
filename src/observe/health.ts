import type { PartitionSnapshot, RunnerSnapshot } from '../engine/events.js'

export interface Readiness {
  readonly ready: boolean
  /** One line for a person; names the first few partitions that are waited for. */
  readonly reason: string
}

const NAMED = 5

/**
 * Ready: a member of the group, and of every owned partition the destination's log end was read, or its state says that
 * nothing is to be copied. A source that can't be reached makes a runner that just started not ready, never a running one.
 */
export function readinessOf(snapshot: RunnerSnapshot): Readiness {
  if (!snapshot.alive) return { ready: false, reason: 'not a member of the group' }
  const waiting = snapshot.partitions.filter((p) => !isKnown(p))
  if (waiting.length === 0) return { ready: true, reason: `member of the group, ${snapshot.partitions.length} partitions` }
  const names = waiting.slice(0, NAMED).map((p) => `${p.mirror}/${p.topic}-${p.partition}`)
  const more = waiting.length > NAMED ? ` and ${waiting.length - NAMED} more` : ''
  return { ready: false, reason: `positions are not known yet of ${names.join(', ')}${more}` }
}

const COPIES_NOTHING = new Set<PartitionSnapshot['state']>(['PAUSED', 'STOPPED', 'FAILED'])
const isKnown = (p: PartitionSnapshot) => p.logEndOffset !== undefined || COPIES_NOTHING.has(p.state)

import type { GroupAt } from '../../client/by-coordinator.js'
import type { Cluster } from '../../client/cluster.js'
import { batchesOf } from '../../client/many.js'
import { failed, type Result } from '../../client/result.js'
import { spelled } from '../../mirror/spelled.js'
import type { Keeping } from './choose.js'
import type { Findings } from './findings.js'
import { KEEPING } from './keeping.js'
import type { GroupPlan } from './plan.js'

/** Groups between two questions whether they still may be written. */
const WRITTEN_AT_ONCE = 200

export type PlannedGroup = GroupAt & GroupPlan & { readonly keeping: Keeping }

/** Writes what was planned, as far as `mayWrite` allows right before: a refused position or group stops no other. */
export async function writePositions(
  destination: Cluster,
  plans: readonly PlannedGroup[],
  mayWrite: (topic: string) => boolean,
  findings: Findings,
): Promise<void> {
  for (const { keeping, write } of KEEPING) {
    const groups = plans.filter((plan) => plan.keeping === keeping)
    for (const batch of batchesOf(groups, WRITTEN_AT_ONCE)) {
      const some = batch.flatMap((plan) => {
        const positions = plan.positions.filter(({ topic }) => mayWrite(topic))
        return positions.length === 0 ? [] : [{ ...plan, positions }]
      })
      const results = await write(destination, some)
      for (const [i, plan] of some.entries()) {
        const outcomes = findings.take(results[i]!, plan.groupId, 'destination', 'its positions were not taken')
        if (outcomes !== undefined) note(plan, outcomes, findings)
      }
    }
  }
}

/** One line for all the partitions of a group that were refused for the same reason. */
function note(plan: PlannedGroup, outcomes: ReadonlyArray<Result<void> | undefined>, findings: Findings): void {
  const refused = new Map<string, { error: Error; partitions: string[] }>()
  let taken = 0
  for (const [at, { topic, partition }] of plan.positions.entries()) {
    const outcome = outcomes[at] ?? failed(new Error('the answer lacks the partition'))
    if (outcome.ok) {
      taken++
      continue
    }
    const { error } = outcome
    const known = refused.get(error.message) ?? { error, partitions: [] }
    refused.set(error.message, { error, partitions: [...known.partitions, `${topic}-${partition}`] })
  }
  findings.changes += Math.min(plan.changes, taken)
  for (const { error, partitions } of refused.values())
    findings.take(failed(error), plan.groupId, 'destination', `its position in ${spelled(partitions)} was not taken`)
}

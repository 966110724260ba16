import type { AclBinding } from '../../client/admin-acls.js'
import { describeBinding, formatBinding } from '../../mirror/acl-bindings.js'
import { isMissingRight } from '../../mirror/failures.js'
import type { MirrorState } from '../../mirror/fold.js'
import type { Mirror } from '../../mirror/spec-store.js'
import type { SyncProblem } from '../../mirror/state.js'
import type { SyncContext, SyncReport } from '../types.js'
import { applySteps } from './apply.js'
import { awaitSteps } from './look.js'
import { type AclStep, followers, followsSource, isLive, isShared, keysOf } from './step.js'

export const MISSING_ALTER = 'a right is missing: ALTER on the cluster of the destination'

/** One round of one mirror: what is known of the destination, and what is to be reported. */
export class AclRound {
  readonly present: Set<string>
  readonly notes: string[] = []
  readonly problems: SyncProblem[] = []
  private changes = 0

  constructor(
    readonly context: SyncContext,
    readonly state: MirrorState,
    readonly mirror: Mirror,
    /** What the destination has. */
    bindings: readonly AclBinding[],
    /** Whether rules may be changed at all. */
    readonly mayAlter: boolean,
  ) {
    this.present = keysOf(bindings)
  }

  get following(): string[] {
    return followers(this.mirror.topics)
  }

  readonly shared = (key: string): boolean => isShared(this.state, this.mirror.name, key)

  /**
   * Carries steps out as far as they are right by then; what is refused becomes a problem. Gives what changed on
   * the destination, once brokers go by it.
   */
  async apply(steps: readonly AclStep[]): Promise<readonly AclStep[]> {
    const able = this.mayAlter ? steps : steps.filter(({ effect }) => effect === 'none')
    if (able.length < steps.length) {
      const lacking = steps.filter(({ effect }) => effect !== 'none')
      const others = lacking.length > 1 ? ` and ${lacking.length - 1} more` : ''
      this.problem(describeBinding(lacking[0]!.binding) + others, MISSING_ALTER)
    }
    if (able.length === 0 || !this.context.ownsShard()) return []
    const { destination, store, now } = this.context
    const { changed, refused } = await applySteps({ destination, store, now, isRight }, able)
    for (const { step, error } of refused) {
      this.problem(describeBinding(step.binding), isMissingRight(error) ? MISSING_ALTER : error.message)
    }
    for (const { binding, effect } of changed) this.present[effect === 'create' ? 'add' : 'delete'](formatBinding(binding))
    this.changes += changed.length
    if (changed.length > 0) await awaitSteps(destination, changed)
    return changed
  }

  problem(item: string, message: string): void {
    this.problems.push({ item, message })
  }

  report(): SyncReport {
    return { changes: this.changes, problems: this.problems, notes: this.notes }
  }
}

/** Topics may have begun to leave since the plan was made: from then on their rules are not the runner's to change. */
function isRight(state: MirrorState, { mirror: name, binding, effect, before }: AclStep): boolean {
  const mirror = state.mirror(name)
  if (mirror === undefined) return false
  if (before?.what === 'guard' && effect === 'delete') return true
  if (binding.patternType === 'LITERAL' && binding.resourceType === 'TOPIC' && mirror.topics.has(binding.resourceName)) {
    const spec = mirror.topics.get(binding.resourceName)
    // Rules for a topic that has left are created where one on many topics is taken away.
    return followsSource(spec) || (effect === 'create' && spec?.desired === 'STOPPED')
  }
  return effect === 'delete' && binding.resourceType !== 'TOPIC' ? true : isLive(binding, followers(mirror.topics))
}

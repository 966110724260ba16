import type { AclBinding } from '../../client/admin-acls.js'
import { coversTopic, describeBinding, formatBinding } from '../../mirror/acl-bindings.js'
import { isMissingRight } from '../../mirror/failures.js'
import { isActive, type MirrorState } from '../../mirror/fold.js'
import type { Mirror } from '../../mirror/spec-store.js'
import type { SyncProblem } from '../../mirror/state.js'
import { isCaredFor } from '../topics/active-topics.js'
import type { SyncFrame, SyncReport } from '../types.js'
import { applySteps } from './apply.js'
import { awaitSteps } from './look.js'
import { type AclStep, followers, isLive, isShared, keysOf } from './step.js'

export const MISSING_ALTER = 'a right is missing: ALTER on the cluster of the destination'

/** One round of one mirror: what is known of the destination, and what is to be reported. */
export class AclRound {
  readonly present: Set<string>
  readonly notes: string[] = []
  readonly problems: SyncProblem[] = []
  private changes = 0

  constructor(
    readonly context: SyncFrame,
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
   * the destination, once brokers go by it. What is created on trial stays pending.
   */
  async apply(steps: readonly AclStep[], { onTrial = false } = {}): Promise<readonly AclStep[]> {
    const able = this.mayAlter ? steps : steps.filter(({ effect }) => effect === 'none')
    if (able.length < steps.length) {
      const lacking = steps.filter(({ effect }) => effect !== 'none')
      const others = lacking.length > 1 ? ` and ${lacking.length - 1} more` : ''
      this.problem(describeBinding(lacking[0]!.binding) + others, MISSING_ALTER)
    }
    if (able.length === 0 || !this.context.ownsShard()) return []
    const { destination, store, now } = this.context
    const mayGoOn = () => this.context.ownsShard()
    const isRight = (latest: MirrorState, step: AclStep) => isStillRight(latest, step) && !leavesBehind(this.mirror, latest, step)
    const { changed, refused } = await applySteps({ destination, store, now, isRight, mayGoOn, onTrial }, able)
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
function isStillRight(state: MirrorState, { mirror: name, binding, effect, before, left }: AclStep): boolean {
  const mirror = state.mirror(name)
  if (mirror === undefined) return false
  if (before?.what === 'guard' && effect !== 'create') return true
  if (binding.patternType === 'LITERAL' && binding.resourceType === 'TOPIC' && mirror.topics.has(binding.resourceName)) {
    const spec = mirror.topics.get(binding.resourceName)
    return left ? !isActive(spec) : isCaredFor(spec)
  }
  return effect === 'delete' && binding.resourceType !== 'TOPIC' ? true : isLive(binding, followers(mirror.topics))
}

/**
 * Whether a right on many topics would be taken from one that is leaving them: whoever releases it counts on the rule as it is. Those that
 * had left when the plan was made get rules of their own in its stead.
 */
function leavesBehind(planned: Mirror, latest: MirrorState, { mirror: name, binding, effect }: AclStep): boolean {
  if (effect === 'create' || binding.permission === 'DENY') return false
  if (binding.patternType === 'LITERAL' && binding.resourceName !== '*') return false
  const topics = [...(latest.mirror(name)?.topics ?? [])].filter(([topic]) => coversTopic(binding, topic))
  return topics.some(([topic, { desired }]) => desired === 'STOPPING' || (desired === 'STOPPED' && isActive(planned.topics.get(topic))))
}

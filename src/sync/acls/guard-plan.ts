import { CANARY, formatBinding, guardOf } from '../../mirror/acl-bindings.js'
import { isActive } from '../../mirror/fold.js'
import type { AclView } from './plan.js'
import { type AclStep, followers, recordsOf } from './step.js'

const GUARD = { what: 'guard' } as const

type GuardView = Pick<AclView, 'mirror' | 'present' | 'shared'>

/** The rule that tells whether the runner is a super user; it stays as long as the mirror has topics. */
export function planCanary(view: GuardView): AclStep[] {
  const { mirror } = view
  const key = formatBinding(CANARY)
  const before = mirror.acls.get(key)
  if (followers(mirror.topics).length === 0) {
    return before === undefined
      ? []
      : [{ mirror: mirror.name, binding: CANARY, effect: view.shared(key) ? 'none' : 'delete', record: null, before }]
  }
  const present = view.present.has(key)
  if (present && (before === undefined ? !view.shared(key) : !before.pending)) return []
  return [{ mirror: mirror.name, binding: CANARY, effect: present && before === undefined ? 'none' : 'create', record: GUARD, before }]
}

/**
 * Guards for the topics that are mirrored, if the runner may write all the same; none where they would lock it out, shut readers out
 * of topics that are `open` to all, or stand over topics that have left.
 */
export function planGuards(view: GuardView & { readonly superUser: boolean; readonly open: ReadonlySet<string> }): AclStep[] {
  const { mirror, present, superUser, open } = view
  const base = { mirror: mirror.name }
  const steps: AclStep[] = []
  for (const topic of superUser ? followers(mirror.topics) : []) {
    if (open.has(topic)) continue
    const binding = guardOf(topic)
    const before = mirror.acls.get(formatBinding(binding))
    // One that is there and not on record is somebody else's, and stays when the mirror ends.
    if (present.has(formatBinding(binding)) && !before?.pending) continue
    steps.push({ ...base, binding, effect: 'create', record: GUARD, before })
  }
  for (const { binding, record: before } of recordsOf(mirror.acls)) {
    if (before.what !== 'guard' || binding.resourceType !== 'TOPIC') continue
    if (superUser && isActive(mirror.topics.get(binding.resourceName)) && !open.has(binding.resourceName)) continue
    steps.push({ ...base, binding, effect: 'delete', record: null, before })
  }
  return steps
}

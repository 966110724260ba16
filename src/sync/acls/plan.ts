import type { AclBinding } from '../../client/admin-acls.js'
import {
  allowsWriting,
  CANARY,
  coversTopic,
  formatBinding,
  guardOf,
  narrowedTo,
  parseBinding,
  standInsFor,
} from '../../mirror/acl-bindings.js'
import type { AclRules } from '../../mirror/acl-rules.js'
import type { Mirror } from '../../mirror/spec-store.js'
import { type AclStep, followers, gone, isLive, recordsOf, type StepRecord } from './step.js'

export interface AclView {
  readonly mirror: Mirror
  readonly rules: AclRules
  /** All rules of the source. */
  readonly source: readonly AclBinding[]
  /** Rules that are on the destination, as {@link formatBinding} writes them. */
  readonly present: ReadonlySet<string>
  /** Whether another mirror answers for a rule too. */
  shared(key: string): boolean
  /** Whether rules bind the runner itself. */
  readonly superUser: boolean
}

interface Wanted {
  readonly binding: AclBinding
  readonly record: StepRecord
}

/**
 * What makes the destination's rules those of the source, as far as the mirror's topics are concerned. Rules that let somebody
 * write to these are withheld, with rules in their stead that give the rest; so are rules that would bind the runner. Only rules
 * on record are ever deleted; one that is there without a record is the destination's own and left alone.
 */
export function planAcls(view: AclView): AclStep[] {
  const wanted = wantedFrom(view)
  const records = new Map(recordsOf(view.mirror.acls).map((entry) => [entry.key, entry]))
  const steps = [...wanted].flatMap(([key, { binding, record }]) => towards(view, key, binding, record))
  for (const [key, { binding, record }] of records) {
    if (wanted.has(key) || record.what === 'guard' || !isLive(binding, followers(view.mirror.topics))) continue
    const original = record.standsFor === undefined ? binding : parseBinding(record.standsFor)
    const needless = record.standsFor !== undefined && wanted.has(record.standsFor)
    // What no rule of the mirror means any more is out of its care: it stays as it is.
    if (!needless && (original === undefined || !view.rules.includes(original))) {
      if (record.what === 'withheld') steps.push(step(view, binding, 'none', null))
      continue
    }
    const ours = (record.what === 'created' || record.pending === true) && !view.shared(key)
    steps.push(step(view, binding, ours ? 'delete' : 'none', null), ...(ours ? keptForGone(view, binding, wanted, undefined) : []))
  }
  return steps
}

function wantedFrom(view: AclView): Map<string, Wanted> {
  const following = followers(view.mirror.topics)
  const wanted = new Map<string, Wanted>()
  const withheld: AclBinding[] = []
  for (const binding of view.source) {
    if (!view.rules.includes(binding) || !isLive(binding, following) || isGuard(binding)) continue
    const withhold = isWithheld(binding, view.superUser)
    wanted.set(formatBinding(binding), { binding, record: { what: withhold ? 'withheld' : 'created' } })
    if (withhold) withheld.push(binding)
  }
  for (const binding of withheld) {
    const standsFor = formatBinding(binding)
    if (isLocal(view, standsFor)) continue
    for (const standIn of standInsFor(binding)) {
      const key = formatBinding(standIn)
      if (!wanted.has(key)) wanted.set(key, { binding: standIn, record: { what: 'created', standsFor } })
    }
  }
  return wanted
}

const isWithheld = (binding: AclBinding, superUser: boolean): boolean => allowsWriting(binding) || (!superUser && bindsEverybody(binding))

/** Forbids something to everybody, and so to a runner that is no super user. */
export const bindsEverybody = ({ permission, principal }: AclBinding): boolean => permission === 'DENY' && principal === 'User:*'

/**
 * A source that is itself a mirror's destination guards its topics like this. The copy gets a guard of its own while it is
 * mirrored, and must be writable afterwards.
 */
export function isGuard(binding: AclBinding): boolean {
  const key = formatBinding(binding)
  return key === formatBinding(CANARY) || (binding.resourceName !== '*' && key === formatBinding(guardOf(binding.resourceName)))
}

const isLocal = ({ mirror, present }: AclView, key: string): boolean => present.has(key) && mirror.acls.get(key) === undefined

function towards(view: AclView, key: string, binding: AclBinding, record: StepRecord): AclStep[] {
  const before = view.mirror.acls.get(key)
  const present = view.present.has(key)
  // What was begun and broke off is asked for again: it does no harm twice.
  const pending = before?.pending === true
  const isBound = before?.what === 'withheld' && binding.permission === 'DENY' && !view.superUser
  if (record.what === 'withheld' || isBound) {
    if (before?.what === 'created' || pending) {
      const taking = step(view, binding, view.shared(key) ? 'none' : 'delete', { what: 'withheld' })
      return [taking, ...keptForGone(view, binding, new Map(), key)]
    }
    // One that bound the runner when it was tried is not tried again.
    return before !== undefined || present ? [] : [step(view, binding, 'none', record)]
  }
  if (present && before === undefined) return view.shared(key) ? [step(view, binding, 'none', record)] : []
  // The runner that tried it may have died of it. Rights it takes can be seen only where they are not taken yet: in the next round.
  if (present && pending && binding.permission === 'DENY' && !view.superUser) return [step(view, binding, 'delete', null)]
  // Somebody created what was withheld: it is theirs.
  if (present && before?.what === 'withheld' && !pending) return [step(view, binding, 'none', null)]
  if (!present || pending) return [step(view, binding, 'create', record)]
  return before?.standsFor === record.standsFor ? [] : [step(view, binding, 'none', record)]
}

/** A rule on many topics is taken away: those that have left the mirror keep what it gave them, one by one. */
function keptForGone(view: AclView, binding: AclBinding, wanted: ReadonlyMap<string, Wanted>, withheldAs: string | undefined): AclStep[] {
  if (binding.resourceType !== 'TOPIC' || (binding.patternType === 'LITERAL' && binding.resourceName !== '*')) return []
  return gone(view.mirror.topics)
    .filter((topic) => coversTopic(binding, topic))
    .map((topic) => forOneTopic(binding, topic, withheldAs))
    .filter((rule) => {
      const key = formatBinding(rule)
      const known = view.mirror.acls.get(key)
      return !wanted.has(key) && (known === undefined ? !view.present.has(key) : known.pending === true && known.standsFor === withheldAs)
    })
    .map((rule) => ({ ...step(view, rule, 'create', { what: 'created', standsFor: withheldAs }), left: true }))
}

/** While a rule is withheld, others in its stead give everything but writing. */
export function forOneTopic(binding: AclBinding, topic: string, withheldAs: string | undefined): AclBinding {
  const narrow = narrowedTo(binding, topic)
  return withheldAs !== undefined && allowsWriting(binding) ? { ...narrow, operation: 'WRITE' } : narrow
}

const step = ({ mirror }: AclView, binding: AclBinding, effect: AclStep['effect'], record: AclStep['record']): AclStep => ({
  mirror: mirror.name,
  binding,
  effect,
  record,
  before: mirror.acls.get(formatBinding(binding)),
})

import type { AclBinding } from '../../client/admin-acls.js'
import { allowsWriting, CANARY, coversTopic, formatBinding, parseBinding } from '../../mirror/acl-bindings.js'
import { isActive, type MirrorState } from '../../mirror/fold.js'
import type { Mirror } from '../../mirror/spec-store.js'
import type { AclRecord } from '../../mirror/state.js'
import { bindsEverybody, forOneTopic } from './plan.js'
import { type AclStep, followers, isShared, recordsOf } from './step.js'

export interface ReleaseView {
  readonly state: MirrorState
  readonly mirror: string
  /** Topics that leave it. */
  readonly topics: readonly string[]
  /** Rules on the destination, as far as they bear on these topics. */
  readonly present: ReadonlySet<string>
}

/**
 * What makes topics that leave a mirror their clients' own: the guard goes, what was withheld is created. A withheld rule that
 * also bears on topics that stay mirrored, of whichever mirror, is given for the leaving topics alone, and as it is when the last
 * of them leaves. By records only: the source may be gone. Safe to repeat after an interruption.
 */
export function planRelease(view: ReleaseView): AclStep[] {
  const staying = stayingTopics(view)
  return view.state.mirrors().flatMap((mirror) => releaseFrom(view, mirror, staying))
}

/** Topics that stay mirrored, by any mirror. */
export function stayingTopics({ state, mirror, topics }: Pick<ReleaseView, 'state' | 'mirror' | 'topics'>): string[] {
  const leaving = new Set(topics)
  return state
    .mirrors()
    .flatMap((entry) => [...entry.topics].filter(([topic, spec]) => isActive(spec) && !(entry.name === mirror && leaving.has(topic))))
    .map(([topic]) => topic)
}

/** Whether a release of these topics has anything to do at all. */
export const concernsAcls = (state: MirrorState, name: string, topics: readonly string[]): boolean =>
  state
    .mirrors()
    .some((mirror) =>
      recordsOf(mirror.acls).some(
        ({ binding, record }) =>
          (record.what === 'guard' ? mirror.name === name : true) &&
          (topics.some((topic) => coversTopic(binding, topic)) || (record.what === 'guard' && binding.resourceType !== 'TOPIC')),
      ),
    )

function releaseFrom(view: ReleaseView, mirror: Mirror, staying: readonly string[]): AclStep[] {
  const steps: AclStep[] = []
  const released = new Set<string>()
  const add = (binding: AclBinding, effect: AclStep['effect'], record: AclStep['record'], before: AclRecord | undefined) =>
    steps.push({ mirror: mirror.name, binding, effect, record, before })
  const records = recordsOf(mirror.acls)
  for (const { key, binding, record } of records) {
    const covered = view.topics.filter((topic) => coversTopic(binding, topic))
    const present = view.present.has(key)
    if (record.what === 'guard') {
      const over = binding.resourceType === 'TOPIC' ? covered.length > 0 : key === formatBinding(CANARY) && !hasTopics(view, mirror)
      if (over && mirror.name === view.mirror) add(binding, isShared(view.state, mirror.name, key) ? 'none' : 'delete', null, record)
    } else if (covered.length > 0 && !staying.some((topic) => coversTopic(binding, topic))) {
      if (record.what === 'withheld') {
        released.add(key)
        if (present) add(binding, 'none', null, record)
        else add(binding, 'create', { what: 'created' }, record)
      } else if (record.standsFor === undefined && !present && isReleased(binding)) add(binding, 'create', undefined, record)
    } else if (record.what === 'withheld' && mirror.name === view.mirror) {
      for (const topic of covered) {
        const rule = forOneTopic(binding, topic, key)
        const known = mirror.acls.get(formatBinding(rule))
        if (view.present.has(formatBinding(rule)) || known?.what === 'withheld') continue
        add(rule, 'create', known === undefined ? { what: 'created', standsFor: key } : undefined, known)
      }
    }
  }
  // What stood in for a rule that is whole again.
  for (const { key, binding, record } of records) {
    if (record.what !== 'created' || record.standsFor === undefined) continue
    const original = parseBinding(record.standsFor)
    const concerned = original !== undefined && view.topics.some((topic) => coversTopic(original, topic))
    // An earlier attempt may have come no further than the whole rule.
    const whole = mirror.acls.get(record.standsFor)?.what === 'created' || isThere(view, mirror, record.standsFor)
    if (!released.has(record.standsFor) && !(concerned && whole)) continue
    add(binding, isShared(view.state, mirror.name, key) ? 'none' : 'delete', null, record)
  }
  return steps
}

/** A rule that is withheld as long as a topic is mirrored: an interrupted release has it on record as created. */
const isReleased = (binding: AclBinding): boolean => allowsWriting(binding) || bindsEverybody(binding)

const isThere = ({ present }: ReleaseView, { acls }: Mirror, key: string): boolean => present.has(key) && acls.get(key) === undefined

const hasTopics = ({ mirror: name, topics }: ReleaseView, mirror: Mirror): boolean =>
  followers(mirror.topics).some((topic) => mirror.name !== name || !topics.includes(topic))

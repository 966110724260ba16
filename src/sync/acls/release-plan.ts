import type { AclBinding } from '../../client/admin-acls.js'
import { allowsWriting, CANARY, coversTopic, formatBinding, parseBinding } from '../../mirror/acl-bindings.js'
import { isActive, type MirrorState } from '../../mirror/fold.js'
import type { Mirror } from '../../mirror/spec-store.js'
import type { AclRecord } from '../../mirror/state.js'
import { forOneTopic } from './plan.js'
import { type AclStep, followers, gone, isShared, recordsOf } from './step.js'

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

/** Whether somebody has begun to change rules that bear on these topics, and has not said yet that it is done. */
export const isUnderWay = (state: MirrorState, topics: readonly string[]): boolean =>
  state.mirrors().some(({ acls }) => recordsOf(acls).some(({ binding, record }) => record.pending && covers(binding, topics)))

/** Topics that have left the mirror, and that no other copies. */
export const leftAlone = (state: MirrorState, name: string): string[] =>
  gone(state.mirror(name)?.topics ?? new Map()).filter((topic) => state.mirrorOf(topic) === undefined)

/**
 * Topics that have left the mirror and whose release is not finished: their guard or a withheld rule is still on record, or something
 * that was begun. What was given and is on record no more, or as done, is the destination's own.
 */
export function unreleased(state: MirrorState, name: string): string[] {
  const left = leftAlone(state, name)
  if (left.length === 0) return []
  const staying = stayingTopics({ state, mirror: name, topics: [] })
  const open = state.mirrors().flatMap((other) =>
    recordsOf(other.acls).filter(({ binding, record }) => {
      if (record.what === 'guard') return other.name === name
      return record.pending === true || (record.what === 'withheld' && !covers(binding, staying))
    }),
  )
  return left.filter((topic) => open.some(({ binding }) => coversTopic(binding, topic)))
}

const covers = (binding: AclBinding, topics: readonly string[]): boolean => topics.some((topic) => coversTopic(binding, topic))

function releaseFrom(view: ReleaseView, mirror: Mirror, staying: readonly string[]): AclStep[] {
  const steps: AclStep[] = []
  const released = new Set<string>()
  const add = (binding: AclBinding, effect: AclStep['effect'], record: AclStep['record'], before: AclRecord | undefined) =>
    steps.push({ mirror: mirror.name, binding, effect, record, before })
  const records = recordsOf(mirror.acls)
  for (const { key, binding, record } of records) {
    const covered = view.topics.filter((topic) => coversTopic(binding, topic))
    if (record.what === 'guard') {
      const over = binding.resourceType === 'TOPIC' ? covered.length > 0 : key === formatBinding(CANARY) && !hasTopics(view, mirror)
      if (over && mirror.name === view.mirror) add(binding, isShared(view.state, mirror.name, key) ? 'none' : 'delete', null, record)
    } else if (covered.length > 0 && !staying.some((topic) => coversTopic(binding, topic))) {
      // Somebody created what was withheld: it is theirs. Asked for all the same, as one broker's word is not every broker's.
      const isTheirs = record.what === 'withheld' && !record.pending && view.present.has(key)
      // What is created and done is the destination's own since: whoever took it away meant to.
      if (record.what === 'created' && (record.standsFor !== undefined || !record.pending)) continue
      released.add(key)
      add(binding, 'create', isTheirs ? null : { what: 'created' }, record)
    } else if (record.what === 'withheld' && mirror.name === view.mirror) {
      for (const topic of covered) {
        const rule = forOneTopic(binding, topic, key)
        const known = mirror.acls.get(formatBinding(rule))
        // One of its own, withheld or created, is looked after above.
        if (known === undefined ? view.present.has(formatBinding(rule)) : !known.pending || known.standsFor !== key) continue
        steps.push({
          mirror: mirror.name,
          binding: rule,
          effect: 'create',
          record: { what: 'created', standsFor: key },
          before: known,
          left: true,
        })
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
    if (!released.has(record.standsFor) && !(concerned && whole)) {
      // The source has taken away what a topic that has left was to get: what is there of it is the destination's own.
      const isMoot = record.pending && allowsWriting(binding) && !mirror.acls.has(record.standsFor)
      if (isMoot && covers(binding, view.topics) && !covers(binding, staying)) add(binding, 'none', null, record)
      continue
    }
    add(binding, isShared(view.state, mirror.name, key) ? 'none' : 'delete', null, record)
  }
  return steps
}

const isThere = ({ present }: ReleaseView, { acls }: Mirror, key: string): boolean => present.has(key) && acls.get(key) === undefined

const hasTopics = ({ mirror: name, topics }: ReleaseView, mirror: Mirror): boolean =>
  followers(mirror.topics).some((topic) => mirror.name !== name || !topics.includes(topic))

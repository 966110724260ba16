import { authorizedOnCluster, authorizedOnTopics, isAuthorized } from '../../client/authorized-operations.js'
import { describeBinding, formatBinding, guardOf } from '../../mirror/acl-bindings.js'
import { parseAclRules } from '../../mirror/acl-rules.js'
import { STATE_TOPIC } from '../../mirror/state-topic.js'
import type { SyncContext, SyncReport } from '../types.js'
import { guardTopics } from './guard.js'
import { awaitAcls, lookAtAcls } from './look.js'
import { isGuard, planAcls } from './plan.js'
import { releaseTopics } from './release-acls.js'
import { AclRound, latestState } from './round.js'
import { type AclStep, followers, gone, isLive } from './step.js'

const NOTHING: SyncReport = { changes: 0, problems: [], notes: [] }

/**
 * One round: the guard over mirrored topics, then the rules that `mirror.acl.include` takes from the source.
 *
 * @throws KafkaError
 * @throws ConnectionError
 * @throws MirrorError
 */
export async function syncAcls(context: SyncContext): Promise<SyncReport> {
  const known = context.state().mirror(context.mirror)
  if (known === undefined || (known.acls.size === 0 && followers(known.topics).length === 0)) return NOTHING
  const { destination, store } = context
  const here = await lookAtAcls(destination)
  if (here.kind === 'no-authorizer') {
    return { ...NOTHING, notes: ['the destination has no authorizer: no rules are copied, and topics are only watched for foreign writes'] }
  }
  if (here.kind === 'forbidden') return { ...NOTHING, problems: [missing('DESCRIBE', 'destination')] }
  const [state, operations] = await Promise.all([latestState(store), authorizedOnCluster(destination)])
  const mirror = state.mirror(context.mirror)
  if (mirror === undefined) return NOTHING
  const round = new AclRound(context, state, mirror, here.bindings, isAuthorized(operations, 'ALTER'))
  await finishReleases(round)
  const superUser = await guardTopics(round)
  await copyRules(round, superUser)
  return round.report()
}

const missing = (right: string, side: 'source' | 'destination') => ({
  item: `the cluster of the ${side}`,
  message: `a right is missing: ${right} on the cluster of the ${side}`,
})

/** A topic that left without anybody who could lift its guard. */
async function finishReleases({ context, state, mirror, present, mayAlter, notes }: AclRound): Promise<void> {
  const topics = gone(mirror.topics).filter((topic) => mirror.acls.get(formatBinding(guardOf(topic)))?.what === 'guard')
  if (topics.length === 0 || !mayAlter || !context.ownsShard()) return
  notes.push(...(await releaseTopics(context, { state, mirror: mirror.name, topics, present })))
}

async function copyRules(round: AclRound, superUser: boolean): Promise<void> {
  const { source } = round.context
  const include = round.context.config().aclInclude
  const rules = parseAclRules(include)
  if (round.following.length === 0) return
  const there = include.length === 0 ? ({ kind: 'seen', bindings: [] } as const) : await lookAtAcls(source)
  if (there.kind === 'no-authorizer') round.notes.push('the source has no authorizer: there are no rules to copy')
  if (there.kind === 'forbidden') round.problems.push(missing('DESCRIBE', 'source'))
  if (there.kind !== 'seen') return
  const { mirror, present, shared } = round
  const steps = planAcls({ mirror, present, shared, rules, source: there.bindings, superUser })
  const denials = superUser ? [] : steps.filter(({ effect, binding }) => effect === 'create' && binding.permission === 'DENY')
  if (denials.length === 0) await round.apply(steps)
  else await applyWatchfully(round, steps, denials)
  for (const binding of there.bindings) {
    if (rules.includes(binding) && isGuard(binding) && isLive(binding, round.following)) {
      round.notes.push(`not copied, as it looks like the guard of a mirror: ${describeBinding(binding)}`)
    }
  }
}

/** Somebody who is denied something may be the runner itself; what it is called on the destination only the brokers know. */
async function applyWatchfully(round: AclRound, steps: readonly AclStep[], denials: readonly AclStep[]): Promise<void> {
  const { destination } = round.context
  const topics = [...round.following, STATE_TOPIC]
  const before = await authorizedOnTopics(destination, topics)
  const changed = await round.apply(steps)
  const created = changed.filter((step) => denials.includes(step))
  const keys = created.map(({ binding }) => formatBinding(binding))
  await awaitAcls(destination, (bindings) => {
    const seen = new Set(bindings.map(formatBinding))
    return keys.every((key) => seen.has(key))
  })
  const after = await authorizedOnTopics(destination, topics)
  if ([...before].every(([topic, bits]) => ((after.get(topic) ?? bits) & bits) === bits)) return
  await round.apply(created.map((step) => ({ ...step, effect: 'delete', record: { what: 'withheld' }, before: undefined })))
  for (const { binding } of created)
    round.problem(describeBinding(binding), 'it would bind the runner, and is withheld until its topics leave')
}

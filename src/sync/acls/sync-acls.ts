import type { AclBinding } from '../../client/admin-acls.js'
import { authorizedOnCluster, authorizedOnTopics, isAuthorized } from '../../client/authorized-operations.js'
import { describeBinding, formatBinding } from '../../mirror/acl-bindings.js'
import { parseAclRules } from '../../mirror/acl-rules.js'
import { latestState } from '../../mirror/spec-store.js'
import { STATE_TOPIC } from '../../mirror/state-topic.js'
import type { SyncFrame, SyncReport } from '../types.js'
import { guardTopics, type RunnerIs, whatRunnerIs } from './guard.js'
import { lookAtAcls } from './look.js'
import { bindsEverybody, isGuard, planAcls } from './plan.js'
import { foreignGuards, releaseTopics } from './release-acls.js'
import { leftAlone, unreleased } from './release-plan.js'
import { AclRound, MISSING_ALTER } from './round.js'
import { shown } from './shown.js'
import { type AclStep, followers, isLive } from './step.js'

const NOTHING: SyncReport = { changes: 0, problems: [], notes: [] }
const NO_AUTHORIZER = 'the destination has no authorizer: no rules are copied, and topics are only watched for foreign writes'

/**
 * One round: the rules that `mirror.acl.include` takes from the source, and the guard over mirrored topics.
 *
 * @throws KafkaError
 * @throws ConnectionError
 * @throws MirrorError
 */
export async function syncAcls(context: SyncFrame): Promise<SyncReport> {
  const known = context.state().mirror(context.mirror)
  if (known === undefined || (known.acls.size === 0 && known.topics.size === 0)) return NOTHING
  const { destination, store } = context
  const here = await lookAtAcls(destination)
  if (here.kind === 'no-authorizer') return followers(known.topics).length === 0 ? NOTHING : { ...NOTHING, notes: [NO_AUTHORIZER] }
  if (here.kind === 'forbidden') return { ...NOTHING, problems: [missing('DESCRIBE', 'destination')] }
  const [state, operations] = await Promise.all([latestState(store), authorizedOnCluster(destination)])
  const mirror = state.mirror(context.mirror)
  if (mirror === undefined) return NOTHING
  const round = new AclRound(context, state, mirror, here.bindings, isAuthorized(operations, 'ALTER'))
  await finishReleases(round)
  const runnerIs = await whatRunnerIs(round)
  try {
    await copyRules(round, runnerIs)
  } finally {
    // Also while the source is out of reach.
    await guardTopics(round, runnerIs)
  }
  return round.report()
}

const missing = (right: string, side: 'source' | 'destination') => ({
  item: `the cluster of the ${side}`,
  message: `a right is missing: ${right} on the cluster of the ${side}`,
})

/** Topics that left without anybody who could lift their guards or give back their rights. */
async function finishReleases(round: AclRound): Promise<void> {
  const { context, state, present, notes } = round
  const mirror = round.mirror.name
  const topics = unreleased(state, mirror)
  if (topics.length > 0 && !round.mayAlter) round.problem(`rules of topics that have left, such as ${topics[0]}`, MISSING_ALTER)
  else if (topics.length > 0 && context.ownsShard()) {
    notes.push(...(await releaseTopics(context, { state, mirror, topics, present })).warnings)
  }
  const others = leftAlone(state, mirror).filter((topic) => !topics.includes(topic))
  notes.push(...foreignGuards({ state, mirror, topics: others, present }))
}

async function copyRules(round: AclRound, runnerIs: RunnerIs): Promise<void> {
  const include = round.context.config().aclInclude
  const rules = parseAclRules(include)
  if (round.following.length === 0) return
  const there = include.length === 0 ? ({ kind: 'seen', bindings: [] } as const) : await lookAtAcls((await round.context.connect()).source)
  if (there.kind === 'no-authorizer') round.notes.push('the source has no authorizer: there are no rules to copy')
  if (there.kind === 'forbidden') round.problems.push(missing('DESCRIBE', 'source'))
  if (there.kind !== 'seen') return
  const { mirror, present, shared } = round
  const superUser = runnerIs === 'super user'
  const planned = planAcls({ mirror, present, shared, rules, source: there.bindings, superUser })
  const steps = runnerIs === 'unknown' ? planned.filter((step) => !isOldDenial(step)) : planned
  const denials = superUser ? [] : steps.filter(({ effect, binding }) => effect === 'create' && binding.permission === 'DENY')
  await round.apply(steps.filter((step) => !denials.includes(step)))
  await applyWatchfully(round, denials)
  const meant = there.bindings.filter((binding) => rules.includes(binding) && isLive(binding, round.following))
  const guards = meant.filter(isGuard)
  note(
    round,
    'not copied, since they look like guards of a mirror',
    guards.filter(({ resourceType }) => resourceType === 'TOPIC'),
  )
  if (runnerIs !== 'bound') return
  const withheld = (key: string) => mirror.acls.get(key)?.what === 'withheld'
  const binding = meant.filter(
    (rule) => !guards.includes(rule) && rule.permission === 'DENY' && (bindsEverybody(rule) || withheld(formatBinding(rule))),
  )
  note(round, 'withheld until their topics leave, since they bind the runner', binding)
}

/** Of a rule that denies something and that an earlier round decided on: it knew what the runner is. */
const isOldDenial = ({ binding, before, left }: AclStep): boolean =>
  binding.permission === 'DENY' && (before !== undefined || left === true)

function note({ notes }: AclRound, what: string, bindings: readonly AclBinding[]): void {
  if (bindings.length === 0) return
  notes.push(`rules ${what}: ${shown(bindings.map(describeBinding))}`)
}

/**
 * Somebody who is denied something may be the runner itself; what it is called on the destination only the brokers know. Where one of
 * many rules binds it, they are tried again one principal after the other.
 */
async function applyWatchfully(round: AclRound, denials: readonly AclStep[]): Promise<void> {
  const principals = [...new Set(denials.map(({ binding }) => binding.principal))]
  if (principals.length <= 1) {
    for (const { binding } of await applyUnlessBinding(round, denials, { what: 'withheld' })) {
      round.problem(describeBinding(binding), 'it binds the runner, and is withheld until its topics leave')
    }
    return
  }
  const taken = await applyUnlessBinding(round, denials, null)
  const again = taken.map((step) => ({ ...step, effect: 'create', record: { what: 'created' } }) as const)
  for (const principal of principals) {
    await applyWatchfully(
      round,
      again.filter(({ binding }) => binding.principal === principal),
    )
  }
}

/**
 * Creates rules that deny something, and gives those that it took back, with what is on record of them then, as the runner had lost a
 * right by one of them. Until that is known they are pending: should the runner die of it, the next round takes them away.
 */
async function applyUnlessBinding(round: AclRound, denials: readonly AclStep[], otherwise: AclStep['record']): Promise<readonly AclStep[]> {
  if (denials.length === 0) return []
  const { destination } = round.context
  const topics = [...round.following, STATE_TOPIC]
  const before = await authorizedOnTopics(destination, topics)
  const created = await round.apply(denials, { onTrial: true })
  if (created.length === 0) return []
  const after = await authorizedOnTopics(destination, topics)
  const isHarmless = [...before].every(([topic, bits]) => ((after.get(topic) ?? bits) & bits) === bits)
  if (!isHarmless) return round.apply(created.map((step) => ({ ...step, effect: 'delete', record: otherwise })))
  await round.apply(created.map((step) => ({ ...step, effect: 'none' })))
  return []
}

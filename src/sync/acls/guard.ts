import { describeConfigs } from '../../client/admin-configs.js'
import { authorizedOnGroup, authorizedOnTopics, isAuthorized } from '../../client/authorized-operations.js'
import { CANARY, coversTopic, formatBinding, guardOf, parseBinding } from '../../mirror/acl-bindings.js'
import { latestState } from '../../mirror/spec-store.js'
import { planCanary, planGuards } from './guard-plan.js'
import { awaitSteps } from './look.js'
import { type AclRound, MISSING_ALTER } from './round.js'
import { shown } from './shown.js'
import type { AclStep } from './step.js'

const ONLY_WATCHED = 'topics are not read-only, only watched for foreign writes'

/** On clusters where whatever has no rules is open to all, a guard as a topic's only rule would shut its readers out. */
const OPEN_BY_DEFAULT = 'allow.everyone.if.no.acl.found'

/** `unknown`: nobody can tell now. What stands is left as it is, and what is new is set as if rules bound the runner. */
export type RunnerIs = 'super user' | 'bound' | 'unknown'

/**
 * Makes the mirrored topics read-only for all but super users, if the runner is one.
 *
 * @throws KafkaError
 * @throws ConnectionError
 */
export async function guardTopics(round: AclRound, runnerIs: RunnerIs): Promise<void> {
  if (round.following.length === 0) return
  if (!round.mayAlter) {
    round.notes.push(`${ONLY_WATCHED}: ${MISSING_ALTER}`)
    return
  }
  if (runnerIs === 'unknown') return
  const superUser = runnerIs === 'super user'
  if (!superUser) round.notes.push(`${ONLY_WATCHED}: the runner is not a super user of the destination`)
  const open = superUser ? await openTopics(round) : []
  if (open.length > 0) {
    round.notes.push(`topics without access rules are only watched for foreign writes, as brokers have ${OPEN_BY_DEFAULT}: ${shown(open)}`)
  }
  await setGuards(round, superUser, new Set(open))
}

async function setGuards(round: AclRound, superUser: boolean, open: ReadonlySet<string>): Promise<void> {
  const changed = await round.apply(planGuards({ ...viewOf(round), superUser, open }))
  const guarded = changed.filter(({ effect }) => effect === 'create')
  if (guarded.length === 0) return
  if (await mayStillWrite(round, guarded)) return
  round.notes.push(`${ONLY_WATCHED}: the guard locked the runner out and was lifted`)
  const mirror = (await latestState(round.context.store)).mirror(round.mirror.name)
  if (mirror === undefined) return
  await round.apply(planGuards({ ...viewOf(round), mirror, superUser: false, open }))
}

/** Topics without rules but a guard, where that leaves them open to all. What brokers do not tell counts as so. */
async function openTopics(round: AclRound): Promise<string[]> {
  const rules = [...round.present].flatMap((key) => parseBinding(key) ?? [])
  const isBare = (topic: string) => {
    const guard = formatBinding(guardOf(topic))
    return !rules.some((rule) => coversTopic(rule, topic) && formatBinding(rule) !== guard)
  }
  const bare = round.following.filter(isBare)
  if (bare.length === 0) return []
  const { destination } = round.context
  const brokers = await destination.brokers()
  const settings = await describeConfigs(
    destination,
    brokers.map(({ id }) => ({ type: 'broker', name: String(id) })),
  )
  // The value is hidden, and nobody sets what is the default anyway.
  const isOpen = settings.some(
    (answer) => !answer.ok || answer.value.some(({ name, source }) => name === OPEN_BY_DEFAULT && source !== 'default'),
  )
  return isOpen ? bare : []
}

const viewOf = ({ mirror, present, shared }: AclRound) => ({ mirror, present, shared })

const UNTOLD = {
  'not set': 'the rule that tells could not be set',
  'not yet': 'not every broker goes by the rule that tells yet',
  'where reached': 'a broker of the destination is out of reach',
} as const

/**
 * Whether rules bind the runner. Found out where being bound does no harm: by a rule on a group that never is. Where that does not tell,
 * it is a problem of the round.
 *
 * @throws KafkaError
 * @throws ConnectionError
 */
export async function whatRunnerIs(round: AclRound): Promise<RunnerIs> {
  if (!round.mayAlter) return 'unknown'
  const { destination } = round.context
  const changed = await round.apply(planCanary(viewOf(round)))
  if (round.following.length === 0) return 'unknown'
  // A broker that has not heard of it yet would take anybody for a super user.
  const isSet = round.present.has(formatBinding(CANARY))
  const inForce = !isSet ? 'not set' : changed.length === 0 ? 'everywhere' : await awaitSteps(destination, changed)
  if (inForce !== 'everywhere') {
    const why = `left as they are, since nobody knows whether the runner is a super user of the destination: ${UNTOLD[inForce]}`
    round.problem('guards, and rules that deny something', why)
    return 'unknown'
  }
  return isAuthorized(await authorizedOnGroup(destination, CANARY.resourceName), 'DELETE') ? 'super user' : 'bound'
}

async function mayStillWrite(round: AclRound, guarded: readonly AclStep[]): Promise<boolean> {
  const topics = guarded.map(({ binding }) => binding.resourceName)
  const authorized = await authorizedOnTopics(round.context.destination, topics)
  return [...authorized.values()].every((bits) => isAuthorized(bits, 'WRITE'))
}

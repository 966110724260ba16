import { deleteAcls } from '../../client/admin-acls.js'
import { authorizedOnGroup, authorizedOnTopics, isAuthorized } from '../../client/authorized-operations.js'
import { CANARY, formatBinding } from '../../mirror/acl-bindings.js'
import { planCanary, planGuards } from './guard-plan.js'
import { awaitAcls } from './look.js'
import { type AclRound, latestState, MISSING_ALTER } from './round.js'
import type { AclStep } from './step.js'

const ONLY_WATCHED = 'topics are not read-only, only watched for foreign writes'

/**
 * Makes the mirrored topics read-only for all but super users. Whether the runner is one is found out first, where being none
 * does no harm: by a rule on a group that never is.
 *
 * @returns whether the runner is a super user
 * @throws KafkaError
 * @throws ConnectionError
 */
export async function guardTopics(round: AclRound): Promise<boolean> {
  if (!round.mayAlter) {
    if (round.following.length > 0) round.notes.push(`${ONLY_WATCHED}: ${MISSING_ALTER}`)
    return false
  }
  const superUser = await isSuperUser(round)
  if (!superUser && round.following.length > 0) round.notes.push(`${ONLY_WATCHED}: the runner is not a super user of the destination`)
  const changed = await round.apply(planGuards({ ...viewOf(round), superUser }))
  const guarded = changed.filter(({ effect }) => effect === 'create')
  if (guarded.length === 0) return superUser
  await takeBack(round, guarded)
  if (await mayStillWrite(round, guarded)) return superUser
  round.notes.push(`${ONLY_WATCHED}: the guard locked the runner out and was lifted`)
  const { store, destination } = round.context
  const mirror = (await latestState(store)).mirror(round.mirror.name)
  if (mirror !== undefined) {
    await round.apply(planGuards({ ...viewOf(round), mirror, superUser: false }))
    await awaitAcls(destination, (bindings) => !bindings.some((binding) => keysIn(guarded).has(formatBinding(binding))))
  }
  return false
}

const viewOf = ({ mirror, present, shared }: AclRound) => ({ mirror, present, shared })

const keysIn = (steps: readonly AclStep[]) => new Set(steps.map(({ binding }) => formatBinding(binding)))

async function isSuperUser(round: AclRound): Promise<boolean> {
  const { destination } = round.context
  const changed = await round.apply(planCanary(viewOf(round)))
  const key = formatBinding(CANARY)
  if (!round.present.has(key)) return false
  const isThere = changed.length === 0 || (await awaitAcls(destination, (bindings) => bindings.some((one) => formatBinding(one) === key)))
  return isThere && isAuthorized(await authorizedOnGroup(destination, CANARY.resourceName), 'DELETE')
}

/** A runner that was late may have set a guard over a topic that had left: whoever released it could not see it. */
async function takeBack(round: AclRound, guarded: readonly AclStep[]): Promise<void> {
  const { store, destination } = round.context
  const records = (await latestState(store)).mirror(round.mirror.name)?.acls
  const late = guarded.filter(({ binding }) => records?.get(formatBinding(binding)) === undefined)
  if (late.length === 0) return
  await deleteAcls(
    destination,
    late.map(({ binding }) => binding),
  )
}

async function mayStillWrite(round: AclRound, guarded: readonly AclStep[]): Promise<boolean> {
  const topics = guarded.map(({ binding }) => binding.resourceName)
  const authorized = await authorizedOnTopics(round.context.destination, topics)
  return [...authorized.values()].every((bits) => isAuthorized(bits, 'WRITE'))
}

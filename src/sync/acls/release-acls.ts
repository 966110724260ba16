import type { Cluster } from '../../client/cluster.js'
import { coversTopic, describeBinding } from '../../mirror/acl-bindings.js'
import type { MirrorState } from '../../mirror/fold.js'
import { latestState, type SpecStore } from '../../mirror/spec-store.js'
import { applySteps } from './apply.js'
import { awaitSteps, lookAtAcls } from './look.js'
import { concernsAcls, planRelease, type ReleaseView } from './release-plan.js'
import { type AclStep, keysOf } from './step.js'

export interface ReleaseAclsOptions {
  readonly destination: Cluster
  readonly store: SpecStore
  readonly mirror: string
  /** Milliseconds since the epoch; default: the system's. */
  readonly now?: () => number
}

/**
 * Gives a topic that leaves its mirror to its clients: lifts the guard, and creates the rules that were withheld. It is shut out
 * already: nothing of the mirror's is written to it any more. Needs the destination only. Safe to repeat. Where the topic has no
 * records of ours, brokers are not asked anything.
 *
 * @returns what could not be done, a sentence each
 * @throws KafkaError
 * @throws ConnectionError
 * @throws MirrorError
 */
export const releaseAcls = ({ topic, ...options }: ReleaseAclsOptions & { readonly topic: string }): Promise<string[]> =>
  releaseAclsOf({ ...options, topics: [topic] })

/** As {@link releaseAcls} for many topics, in no more requests than for one. */
export async function releaseAclsOf(options: ReleaseAclsOptions & { readonly topics: readonly string[] }): Promise<string[]> {
  const { destination, store, mirror, topics, now = Date.now } = options
  const state = await latestState(store)
  if (!concernsAcls(state, mirror, topics)) return []
  const here = await lookAtAcls(destination, filterFor(topics))
  if (here.kind === 'no-authorizer') {
    return ['the destination has no authorizer now; should it get one again, rules that the mirror made are in force there again']
  }
  const present = keysOf(here.kind === 'seen' ? here.bindings : [])
  return releaseTopics({ destination, store, now }, { state, mirror, topics, present })
}

const filterFor = (topics: readonly string[]): { topic?: string } => (topics.length === 1 ? { topic: topics[0]! } : {})

/** As {@link releaseAclsOf}, where the rules are known. */
export async function releaseTopics(
  context: { readonly destination: Cluster; readonly store: SpecStore; now(): number },
  view: ReleaseView,
): Promise<string[]> {
  const steps = planRelease(view)
  const { changed, refused } = await applySteps({ ...context, isRight }, steps)
  const warnings = refused.map(({ step, error }) => refusal(step, error))
  const bearing = changed.filter(({ binding }) => view.topics.some((topic) => coversTopic(binding, topic)))
  const inForce = bearing.length === 0 || (await awaitSteps(context.destination, bearing, filterFor(view.topics)))
  if (!inForce) warnings.push(`topic ${view.topics.join(', ')}: not every broker goes by the changed rules yet`)
  return warnings
}

/** A rule goes on being stood in for while it could not be created. */
const isRight = (state: MirrorState, { mirror, effect, before }: AclStep): boolean =>
  effect !== 'delete' || before?.standsFor === undefined || state.mirror(mirror)?.acls.get(before.standsFor)?.what !== 'withheld'

function refusal({ binding, effect, before }: AclStep, error: Error): string {
  const rule = describeBinding(binding)
  if (effect === 'create') return `the withheld rule ${rule} could not be created: ${error.message}`
  if (before?.what !== 'guard' || binding.resourceType !== 'TOPIC') return `the rule ${rule} could not be removed: ${error.message}`
  return `topic ${binding.resourceName} is still read-only, since the rule ${rule} could not be removed: ${error.message}`
}

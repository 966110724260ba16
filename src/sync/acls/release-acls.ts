import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster } from '../../client/cluster.js'
import { coversTopic, describeBinding, formatBinding, guardOf } from '../../mirror/acl-bindings.js'
import { failure } from '../../mirror/errors.js'
import type { MirrorState } from '../../mirror/fold.js'
import { latestState, type SpecStore } from '../../mirror/spec-store.js'
import { Errors, KafkaError } from '../../protocol/errors.js'
import { isCaredFor } from '../topics/active-topics.js'
import { applySteps } from './apply.js'
import { awaitSteps, type InForce, lookAtAcls } from './look.js'
import { concernsAcls, isUnderWay, leftAlone, planRelease, type ReleaseView, unreleased } from './release-plan.js'
import { shown } from './shown.js'
import { type AclStep, isShared, keysOf, recordOf } from './step.js'

export interface ReleaseAclsOptions {
  readonly destination: Cluster
  readonly store: SpecStore
  readonly mirror: string
  /** Milliseconds since the epoch; default: the system's. */
  readonly now?: () => number
  /** How long a runner may take to say that it is done with what it has begun, in milliseconds; default 5 s. */
  readonly patienceMs?: number
}

const PATIENCE_MS = 5_000
const EVERY_MS = 50
const ATTEMPTS = 5

/**
 * Gives a topic that leaves its mirror to its clients: lifts the guard, and creates the rules that were withheld. It is shut out
 * already: nothing of the mirror's is written to it any more, and no rule is begun over it. Needs the destination only. Safe to repeat.
 * Where the topic has no records of ours, brokers are not asked anything.
 *
 * @throws KafkaError
 * @throws ConnectionError
 * @throws MirrorError CONFLICT also if the topic was added again meanwhile
 */
export const releaseAcls = ({ topic, ...options }: ReleaseAclsOptions & { readonly topic: string }): Promise<ReleasedAcls> =>
  releaseAclsOf({ ...options, topics: [topic] })

/** As {@link releaseAcls} for many topics, in no more requests than for one. */
export async function releaseAclsOf(options: ReleaseAclsOptions & { readonly topics: readonly string[] }): Promise<ReleasedAcls> {
  const { destination, store, mirror, topics, now = Date.now } = options
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const state = await settledState(options)
    if (!concernsAcls(state, mirror, topics)) return DONE
    const here = await lookAtAcls(destination, filterFor(topics))
    if (here.kind === 'no-authorizer') return { ...DONE, warnings: withoutAuthorizer({ state, mirror, topics, present: new Set() }) }
    const present = keysOf(here.kind === 'seen' ? here.bindings : [])
    const { isStale, ...released } = await releaseTopics({ destination, store, now }, { state, mirror, topics, present })
    if (!isStale) return released
  }
  throw failure('CONFLICT', `access rules of topic ${shown(topics)} keep changing at the same time`, 'Run remove again to finish.')
}

const NO_AUTHORIZER = 'the destination has no authorizer now; should it get one again, rules that the mirror made are in force there again'

/** Rules that nobody can be given are named: who deletes the mirror next is the last to know of them. */
function withoutAuthorizer(view: ReleaseView): string[] {
  const lacking = planRelease(view).flatMap(({ effect, binding }) => (effect === 'create' ? [describeBinding(binding)] : []))
  return [lacking.length === 0 ? NO_AUTHORIZER : `${NO_AUTHORIZER}, but not those that it withheld: ${lacking.join(', ')}`]
}

/**
 * For topics that have left already: finishes what a removal could not, and looks whether something keeps clients from writing all the
 * same. Topics another mirror copies are left alone. Throws as {@link releaseAcls}.
 */
export async function releaseLeftovers(options: ReleaseAclsOptions & { readonly topics: readonly string[] }): Promise<ReleasedAcls> {
  const { destination, store, mirror } = options
  const state = await latestState(store)
  const open = unreleased(state, mirror).filter((topic) => options.topics.includes(topic))
  if (open.length > 0) return releaseAclsOf({ ...options, topics: open })
  const topics = leftAlone(state, mirror).filter((topic) => options.topics.includes(topic))
  const here = topics.length === 0 ? undefined : await lookAtAcls(destination, filterFor(topics))
  if (here?.kind !== 'seen') return DONE
  return { ...DONE, warnings: foreignGuards({ state, mirror, topics, present: keysOf(here.bindings) }) }
}

/** A runner that was about to change rules of these topics says when it is done; one that died says no more. */
async function settledState({ store, topics, patienceMs = PATIENCE_MS }: Parameters<typeof releaseAclsOf>[0]): Promise<MirrorState> {
  const until = performance.now() + patienceMs
  for (;;) {
    const state = await latestState(store)
    if (!isUnderWay(state, topics) || performance.now() >= until) return state
    await pause(EVERY_MS)
  }
}

const filterFor = (topics: readonly string[]): { topic?: string } => (topics.length === 1 ? { topic: topics[0]! } : {})

/** What became of topics that leave. */
export interface ReleasedAcls {
  /** What could not be done, a sentence each. */
  readonly warnings: readonly string[]
  /** Topics whose guard could not be lifted. */
  readonly readOnly: readonly string[]
  /** Topics that lack a rule which brokers failed to create, and may create when asked again. Not those that we lack the right to give. */
  readonly withheld: readonly string[]
}

const DONE: ReleasedAcls = { warnings: [], readOnly: [], withheld: [] }

/** As {@link releaseAclsOf}, once, where state and rules are known; stale if these have changed since, and not all is done. */
export async function releaseTopics(
  context: { readonly destination: Cluster; readonly store: SpecStore; now(): number },
  view: ReleaseView,
): Promise<ReleasedAcls & { readonly isStale: boolean }> {
  const steps = planRelease(view)
  const { changed, refused, stale } = await applySteps({ ...context, isRight: rightFor(view) }, steps)
  // Whoever may change rules can have created what we may not.
  const lacking = refused.filter(({ step: { effect, binding } }) => effect !== 'create' || !view.present.has(formatBinding(binding)))
  const warnings = [...lacking.map(({ step, error }) => refusal(step, error)), ...foreignGuards(view)]
  const bearing = changed.filter(({ binding }) => view.topics.some((topic) => coversTopic(binding, topic)))
  const inForce = bearing.length === 0 ? 'everywhere' : await awaitSteps(context.destination, bearing, filterFor(view.topics))
  if (inForce !== 'everywhere') warnings.push(`topic ${shown(view.topics)}: ${NOT_IN_FORCE[inForce]}`)
  const readOnly = lacking.flatMap(({ step }) => (isTopicGuard(step) ? [step.binding.resourceName] : []))
  const passing = lacking.filter(({ step, error }) => step.effect === 'create' && mayPass(error))
  const lacks = (topic: string) => passing.some(({ step: { binding } }) => coversTopic(binding, topic))
  return { warnings, readOnly, withheld: view.topics.filter(lacks), isStale: stale.length > 0 }
}

/** Whether asking again can help. A right that is missing, an authorizer that is none, or a rule that brokers do not take stay as they are. */
const mayPass = (error: Error): boolean => !(error instanceof KafkaError) || error.retriable || error.code === Errors.UNKNOWN_SERVER_ERROR

const NOT_IN_FORCE: Readonly<Record<Exclude<InForce, 'everywhere'>, string>> = {
  'not yet': 'not every broker goes by the changed rules yet',
  'where reached': 'a broker is out of reach, and may not go by the changed rules yet',
}

const isTopicGuard = ({ binding, before }: AclStep): boolean => before?.what === 'guard' && binding.resourceType === 'TOPIC'

/** Topics that were added again meanwhile are not to be touched. A rule goes on being stood in for while it could not be created. */
const rightFor =
  ({ mirror: name, topics }: ReleaseView) =>
  (state: MirrorState, { mirror, effect, before }: AclStep): boolean => {
    const again = topics.find((topic) => isCaredFor(state.mirror(name)?.topics.get(topic)))
    if (again !== undefined)
      throw failure(
        'CONFLICT',
        `topic ${again} was added to mirror ${name} again while it was being removed`,
        'See with describe what it is at, and run remove again for those that are to go.',
      )
    const whole = before?.standsFor === undefined ? undefined : state.mirror(mirror)?.acls.get(before.standsFor)
    return effect !== 'delete' || whole === undefined || (whole.what === 'created' && !whole.pending)
  }

/** Rules of the form of a guard that no mirror made, or knows that it made: to clients it is the same. */
export const foreignGuards = ({ state, mirror, topics, present }: ReleaseView): string[] =>
  topics.flatMap((topic) => {
    const binding = guardOf(topic)
    const key = formatBinding(binding)
    if (!present.has(key) || recordOf(state, { mirror, binding }) !== undefined || isShared(state, mirror, key)) return []
    const rule = describeBinding(binding)
    return [`topic ${topic} stays read-only by ${rule}, which is no mirror's: remove that with kafka-acls unless it was meant to be`]
  })

function refusal(step: AclStep, error: Error): string {
  const { binding, effect } = step
  const rule = describeBinding(binding)
  const advice = mayPass(error) ? '' : ', and needs somebody who does it with kafka-acls'
  if (effect === 'create') return `the withheld rule ${rule} could not be created${advice}: ${error.message}`
  if (!isTopicGuard(step)) return `the rule ${rule} could not be removed: ${error.message}`
  return `topic ${binding.resourceName} is still read-only, since the rule ${rule} could not be removed: ${error.message}`
}

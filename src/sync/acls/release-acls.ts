import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster } from '../../client/cluster.js'
import { coversTopic, describeBinding, formatBinding, guardOf } from '../../mirror/acl-bindings.js'
import { failure } from '../../mirror/errors.js'
import type { MirrorState } from '../../mirror/fold.js'
import { latestState, type SpecStore } from '../../mirror/spec-store.js'
import { applySteps } from './apply.js'
import { awaitSteps, lookAtAcls } from './look.js'
import { concernsAcls, isUnderWay, planRelease, type ReleaseView } from './release-plan.js'
import { type AclStep, followsSource, isShared, keysOf, recordOf } from './step.js'

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
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const state = await settledState(options)
    if (!concernsAcls(state, mirror, topics)) return []
    const here = await lookAtAcls(destination, filterFor(topics))
    if (here.kind === 'no-authorizer') {
      return ['the destination has no authorizer now; should it get one again, rules that the mirror made are in force there again']
    }
    const present = keysOf(here.kind === 'seen' ? here.bindings : [])
    const { warnings, isStale } = await releaseTopics({ destination, store, now }, { state, mirror, topics, present })
    if (!isStale) return warnings
  }
  throw failure('CONFLICT', `access rules of topic ${topics.join(', ')} keep changing at the same time`, 'Run remove again to finish.')
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

export interface Released {
  /** What could not be done, a sentence each. */
  readonly warnings: string[]
  /** Records have changed since the state was read: not all is done. */
  readonly isStale: boolean
}

/** As {@link releaseAclsOf}, once, where state and rules are known. */
export async function releaseTopics(
  context: { readonly destination: Cluster; readonly store: SpecStore; now(): number },
  view: ReleaseView,
): Promise<Released> {
  const steps = planRelease(view)
  const { changed, refused, stale } = await applySteps({ ...context, isRight: rightFor(view) }, steps)
  const warnings = [...refused.map(({ step, error }) => refusal(step, error)), ...foreignGuards(view)]
  const bearing = changed.filter(({ binding }) => view.topics.some((topic) => coversTopic(binding, topic)))
  const inForce = bearing.length === 0 || (await awaitSteps(context.destination, bearing, filterFor(view.topics)))
  if (!inForce) warnings.push(`topic ${view.topics.join(', ')}: not every broker goes by the changed rules yet`)
  return { warnings, isStale: stale.length > 0 }
}

/** Not for topics that were added again meanwhile. A rule goes on being stood in for while it could not be created. */
const rightFor =
  ({ mirror: name, topics }: ReleaseView) =>
  (state: MirrorState, { mirror, effect, before }: AclStep): boolean => {
    if (topics.some((topic) => followsSource(state.mirror(name)?.topics.get(topic)))) return false
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

function refusal({ binding, effect, before }: AclStep, error: Error): string {
  const rule = describeBinding(binding)
  if (effect === 'create') return `the withheld rule ${rule} could not be created: ${error.message}`
  if (before?.what !== 'guard' || binding.resourceType !== 'TOPIC') return `the rule ${rule} could not be removed: ${error.message}`
  return `topic ${binding.resourceName} is still read-only, since the rule ${rule} could not be removed: ${error.message}`
}

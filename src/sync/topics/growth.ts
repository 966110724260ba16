import { createPartitions, unwrap } from '../../client/admin.js'
import { inPool } from '../../client/many.js'
import { about, DESTINATION, sourceOf, toMirrorError } from '../../mirror/failures.js'
import type { ActiveTopic } from '../../mirror/fold.js'
import { latestState, put } from '../../mirror/spec-store.js'
import type { SyncProblem, TopicSpec } from '../../mirror/state.js'
import { STATE_TOPIC } from '../../mirror/state-topic.js'
import type { SyncContext, SyncLoop } from '../types.js'
import { caredFor, destinationIdsOf, isCaredFor } from './active-topics.js'
import { appeared } from './create-topic.js'
import { allocateProducers } from './destination-topic.js'
import { followOrigins } from './follow-origins.js'
import { planGrowth } from './growth-plan.js'

const TOPICS_AT_ONCE = 8

/** Follows the growth of the source's topics and where they come from, and tells of topics that are gone or were made again on either side. */
export const growth: SyncLoop = {
  name: 'topics',
  intervalMs: (config) => config.metadataRefreshIntervalMs,
  async run(context) {
    const topics = caredFor(context.state(), context.mirror)
    if (topics.size === 0) return { changes: 0, problems: [], notes: [] }
    const names = [...topics.keys()]
    const [there, here] = await Promise.all([context.source.topics(names), context.destination.topics(names)])
    const outcomes = await inPool(TOPICS_AT_ONCE, [...topics], async ([topic, spec]): Promise<boolean | SyncProblem> => {
      const plan = planGrowth(topic, spec, there.get(topic), here.get(topic), destinationIdsOf(context.state(), context.mirror, topic))
      if (plan.what === 'nothing' || !context.ownsShard()) return false
      if (plan.what === 'problem') return { item: topic, message: plan.message }
      try {
        return await grow(context, topic, spec, { ...plan, topicId: here.get(topic)!.topicId })
      } catch (cause) {
        return { item: topic, message: toMirrorError(cause, DESTINATION, `topic ${topic} could not grow to ${plan.to} partitions`).message }
      }
    })
    const origins = await followOrigins(context, topics).catch((cause: unknown) => unseen(context.mirror, cause))
    return {
      changes: outcomes.filter((outcome) => outcome === true).length + origins.changes,
      problems: [...outcomes.filter((outcome): outcome is SyncProblem => typeof outcome === 'object'), ...origins.problems],
      notes: [],
    }
  },
}

/** Growth does not wait for it. */
function unseen(mirror: string, cause: unknown): Awaited<ReturnType<typeof followOrigins>> {
  const { message } = toMirrorError(cause, sourceOf(mirror), `where the source has its topics from cannot be read in its ${STATE_TOPIC}`)
  return { changes: 0, problems: [{ item: STATE_TOPIC, message }] }
}

interface Growth {
  readonly to: number
  readonly create: boolean
  /** Of the destination's topic. */
  readonly topicId: string
}

/** Partitions first, then their producers, then the record that makes runners copy them. False if the topic has left meanwhile. */
async function grow(context: SyncContext, topic: string, spec: ActiveTopic, { to, create, topicId }: Growth): Promise<boolean> {
  const { mirror, destination, store } = context
  const isAsItWas = (now: TopicSpec | undefined): now is ActiveTopic =>
    isCaredFor(now) && now.addedAt === spec.addedAt && now.partitions === spec.partitions
  // The round may be old by now, and partitions of a topic that was removed meanwhile can't be taken away again.
  const latest = (await latestState(store)).mirror(mirror)?.topics.get(topic)
  if (!isAsItWas(latest)) return false
  const producers = await about(DESTINATION, `topic ${topic} could not grow to ${to} partitions on the destination`, async () => {
    if (create) unwrap((await createPartitions(destination, new Map([[topic, to]]))).get(topic)!)
    await appeared(destination, topic, to, topicId)
    return allocateProducers(destination, to - spec.partitions)
  })
  return store.update((state) => {
    const now = state.mirror(mirror)?.topics.get(topic)
    if (!isAsItWas(now)) return { records: [], result: false }
    const grown = { ...now, partitions: to, producers: [...now.producers, ...producers] }
    return { records: [put({ kind: 'topic', mirror, topic }, grown)], result: true }
  })
}

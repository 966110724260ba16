import { inPool } from '../../client/many.js'
import { mirrorConfigOf } from '../../mirror/config.js'
import { failure } from '../../mirror/errors.js'
import { DESTINATION, toMirrorError } from '../../mirror/failures.js'
import type { SyncProblem } from '../../mirror/state.js'
import { STATE_TOPIC } from '../../mirror/state-topic.js'
import type { SyncContext, SyncLoop, SyncReport } from '../types.js'
import { type Addition, additionOf, type Plan, planTopic } from './add-plan.js'
import { addPlanned, unlessCreatedMeanwhile } from './add-topic.js'
import { type FoundTopic, isStillWanted, planDiscovery } from './discovery-plan.js'
import { isCircle, notCopiedBack, originsOf } from './origins.js'

const TOPICS_AT_ONCE = 8

/** Adds topics of the source that match, as `add` would; what could not be added is tried again in every round. */
export const discovery: SyncLoop = {
  name: 'discovery',
  intervalMs: (config) => config.metadataRefreshIntervalMs,
  async run(context) {
    const { mirror, source } = context
    const filters = context.config()
    if (filters.topicsInclude.length === 0) return NOTHING
    const sourceTopics = await source.topics()
    const plan = planDiscovery(context.state(), mirror, filters, [...sourceTopics.values()].map(foundTopic))
    if (plan.add.length === 0) return { changes: 0, problems: plan.problems, notes: plan.notes }
    const addition = await begin(context, sourceTopics)
    // With patterns on both sides of two mirrors that go either way, or around a ring, this is as it should be.
    const ownTopics = plan.add.filter((topic) => isCircle(addition.sourceState, topic, addition.destinationClusterId))
    const others = plan.add.filter((topic) => !ownTopics.includes(topic))
    const outcomes = await inPool(TOPICS_AT_ONCE, others, (topic) => addOne(context, addition, topic))
    return {
      changes: outcomes.filter((outcome) => outcome === 'added').length,
      problems: [...plan.problems, ...outcomes.filter((outcome): outcome is SyncProblem => typeof outcome === 'object')],
      notes: [...plan.notes, ...notCopiedBack(ownTopics)],
    }
  },
}

const NOTHING: SyncReport = { changes: 0, problems: [], notes: [] }

const foundTopic = ({ name, internal }: FoundTopic): FoundTopic => ({ name, internal })

async function begin(context: SyncContext, sourceTopics: Addition['sourceTopics']): Promise<Addition> {
  const { mirror, source, destination, admission } = context
  const [sourceClusterId, destinationClusterId] = await Promise.all([source.clusterId(), destination.clusterId()])
  const pinned = context.state().mirror(mirror)?.spec.sourceClusterId
  if (sourceClusterId === destinationClusterId)
    throw failure('SAME_CLUSTER', `source and destination of mirror ${mirror} are the same cluster (${sourceClusterId})`)
  if (pinned !== undefined && pinned !== sourceClusterId)
    throw failure('OTHER_CLUSTER', `the source's cluster id is ${sourceClusterId}, the mirror's is ${pinned}: it is another cluster`)
  return additionOf({ mirror, source, destination, admission, sourceClusterId, destinationClusterId }, sourceTopics)
}

async function addOne(context: SyncContext, addition: Addition, topic: string): Promise<'added' | 'unchanged' | SyncProblem> {
  const { mirror, store } = context
  try {
    return await unlessCreatedMeanwhile(async () => {
      // Nothing is created that another runner is about to create, or that was taken out of the list.
      if (!context.ownsShard() || !isStillWanted(context.state(), mirror, context.config(), topic)) return 'unchanged'
      const plan = await planTopic(addition, context.state(), topic)
      checkOrigin(addition, plan)
      const { added } = await addPlanned(addition, plan, store, {
        excludedSettings: context.config().topicPropertiesExclude,
        stillWanted: (state) => isStillWanted(state, mirror, mirrorConfigOf(state.mirror(mirror)?.configs ?? new Map()), topic),
        now: () => context.now(),
      })
      return added ? 'added' : 'unchanged'
    })
  } catch (cause) {
    const { message, advice } = toMirrorError(cause, DESTINATION, `topic ${topic} could not be added`)
    return { item: topic, message: advice === undefined ? message : `${message}. ${advice}` }
  }
}

/** What is here already may be where the source has it from: a pattern must not decide that. Throws MirrorError. */
function checkOrigin({ sourceState, destinationClusterId }: Addition, { there: { name }, here, begun }: Plan): void {
  if (here === undefined || begun || originsOf(sourceState, name, destinationClusterId) !== undefined) return
  throw failure(
    'RIGHTS_MISSING',
    `topic ${name} is on the destination already, and whether the source has it from there is unknown: its ${STATE_TOPIC} cannot be read`,
    `Grant READ and DESCRIBE on that, or add ${name} by name.`,
  )
}

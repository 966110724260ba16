import type { TopicMetadata } from '../../client/metadata.js'
import type { ActiveTopic } from '../../mirror/fold.js'
import { Errors } from '../../protocol/errors.js'
import { idsDiffer } from '../../protocol/uuid.js'
import { isAnyOf } from './active-topics.js'

export type GrowthStep =
  | { readonly what: 'nothing' }
  | { readonly what: 'problem'; readonly message: string }
  | {
      readonly what: 'grow'
      /** Partitions the source has. */
      readonly to: number
      /** True if the destination has fewer. */
      readonly create: boolean
    }

const NOTHING: GrowthStep = { what: 'nothing' }

/**
 * What has to be done so that a mirrored topic has as many partitions as its source. `undefined` is a topic that is not there;
 * `destinationIds` are what the mirror knows the destination's by.
 */
export function planGrowth(
  topic: string,
  spec: ActiveTopic,
  there: TopicMetadata | undefined,
  here: TopicMetadata | undefined,
  destinationIds: ReadonlySet<string>,
): GrowthStep {
  if (isAbsent(there)) return problem(`topic ${topic} is not on the source any more; its copy is kept`)
  // What a side cannot tell now it tells later.
  if (there.errorCode !== 0 || (here !== undefined && here.errorCode !== 0 && !isAbsent(here))) return NOTHING
  if (idsDiffer(there.topicId, spec.sourceTopicId))
    return problem(`topic ${topic} was recreated on the source; to copy the new one: recover --on-divergence reseed`)
  if (isAbsent(here)) return problem(`topic ${topic} is not on the destination any more`)
  if (!isAnyOf(here.topicId, destinationIds)) return problem(`topic ${topic} was recreated on the destination`)
  const [theirs, ours] = [there.partitions.length, here.partitions.length]
  if (ours > theirs) {
    return problem(
      `topic ${topic} has ${ours} partitions on the destination and ${theirs} on the source: records of a key would go elsewhere ` +
        'after a failover. Partitions cannot be taken away: add as many on the source',
    )
  }
  if (theirs > spec.partitions) return { what: 'grow', to: theirs, create: ours < theirs }
  return NOTHING
}

const problem = (message: string): GrowthStep => ({ what: 'problem', message })

const isAbsent = (topic: TopicMetadata | undefined): topic is undefined =>
  topic === undefined || topic.errorCode === Errors.UNKNOWN_TOPIC_OR_PARTITION

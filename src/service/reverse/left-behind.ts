import { mirrorConfigOf } from '../../mirror/config.js'
import type { MirrorState } from '../../mirror/fold.js'
import type { Mirror } from '../../mirror/spec-store.js'
import { spelled } from '../../mirror/spelled.js'
import type { Addition } from '../../sync/topics/add-plan.js'
import { planDiscovery } from '../../sync/topics/discovery-plan.js'
import { isCircle } from '../../sync/topics/origins.js'

const NAMED = 10

/**
 * Says which topics the other cluster has that the first mirror's patterns mean, and that neither mirror ever had: created there while
 * it led. Patterns are not copied, so nothing else would tell of them. `state` is this cluster's.
 */
export function leftBehindWarning(
  first: Mirror,
  state: MirrorState,
  addition: Pick<Addition, 'source' | 'destination' | 'sourceTopics' | 'sourceState' | 'destinationClusterId'>,
): string[] {
  const { source, destination, sourceTopics, sourceState, destinationClusterId } = addition
  const mirror = first.name
  const meant = planDiscovery(state, mirror, mirrorConfigOf(first.configs), sourceTopics.values()).add
  const left = meant.filter((topic) => !first.topics.has(topic) && !isCircle(sourceState, topic, destinationClusterId))
  if (left.length === 0) return []
  const add = `kafka-mirrors add --bootstrap-server ${destination.name} --mirror ${mirror} --topic ${left.slice(0, NAMED).join(',')}`
  const takes = left.length > NAMED ? 'takes the first ones, and reverse again names the next' : 'takes them'
  return [
    `${left.length} topic(s) of ${source.name} that the patterns of mirror ${mirror} match are in neither mirror and are not copied back: ` +
      `${spelled(left, NAMED)}; ${add} ${takes}`,
  ]
}

import { failed, incrementalAlterConfigs, type Result, success, topicChange } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { inPool } from '../client/many.js'
import { type AppliedSettings, applyTopicSettings } from '../sync/topics/topic-settings.js'

const TOPICS_PER_REQUEST = 50
const TOPICS_AT_ONCE = 16

/**
 * As {@link applyTopicSettings} for many topics, in few requests; what a broker does not take of a topic as a whole is tried
 * again by itself. Topic → outcome, a missing right or a broker out of reach among them. Never throws.
 */
export async function applySettingsOfMany(
  cluster: Cluster,
  settings: ReadonlyMap<string, ReadonlyMap<string, string | null>>,
): Promise<Map<string, Result<AppliedSettings>>> {
  const outcomes = new Map<string, Result<AppliedSettings>>()
  const wanted = [...settings].filter(([, ofTopic]) => ofTopic.size > 0)
  for (const [topic, ofTopic] of settings) if (ofTopic.size === 0) outcomes.set(topic, success({ refused: [], exists: true }))
  for (let from = 0; from < wanted.length; from += TOPICS_PER_REQUEST) {
    const part = wanted.slice(from, from + TOPICS_PER_REQUEST)
    const changes = part.map(([topic, ofTopic]) => topicChange(topic, ofTopic))
    try {
      const results = await incrementalAlterConfigs(cluster, changes)
      for (const [i, [topic]] of part.entries()) if (results[i]!.ok) outcomes.set(topic, success({ refused: [], exists: true }))
    } catch (error) {
      // Nobody answers: to ask topic by topic would only take long.
      for (const [topic] of wanted.slice(from)) outcomes.set(topic, failed(error as Error))
      break
    }
  }
  const others = wanted.filter(([topic]) => !outcomes.has(topic))
  await inPool(TOPICS_AT_ONCE, others, async ([topic, ofTopic]) => {
    outcomes.set(topic, await applyTopicSettings(cluster, topic, ofTopic).then(success, (error: Error) => failed(error)))
  })
  return outcomes
}

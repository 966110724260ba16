import type { TopicMetadata } from '../../client/metadata.js'
import { forcedSettings } from '../../mirror/held.js'
import { readTopicConfigs } from '../../sync/topics/topic-settings.js'
import { keepTail } from './keep-tail.js'
import type { Reseeding, ReseedWork } from './reseed-state.js'

/** A batch that is written anew may be a little larger than it was. */
const REENCODED_MARGIN = 1 << 16

/** Whether a topic is the one that was examined, with no partition more: only of that one is known what differs. */
export const isExamined = (here: TopicMetadata, { reseed: { old, tailTopic } }: Reseeding): boolean =>
  here.topicId === old?.topicId && (tailTopic === undefined || here.partitions.length === old.differsFrom.length)

/**
 * Keeps what differs in the old topic, which must be there, up to its present end; `upTo` are the ends it was kept up to
 * already. Returns the ends as they were a moment ago. Safe to repeat. Throws MirrorError, KafkaError, ConnectionError.
 */
export async function keepOld({ context, topic }: ReseedWork, spec: Reseeding, upTo?: readonly bigint[]): Promise<readonly bigint[]> {
  const { destination } = context
  const { effective } = await readTopicConfigs(destination, topic)
  const maxMessageBytes = Math.min(2 ** 31 - 1, Number(effective.get('max.message.bytes') ?? 1 << 20) + REENCODED_MARGIN)
  const settings = new Map([...forcedSettings(Object.keys(spec.held)), ['max.message.bytes', String(maxMessageBytes)]])
  const { old, tailTopic } = spec.reseed
  return keepTail({ destination, topic, old: old!, tailTopic: tailTopic!, settings, maxMessageBytes }, upTo)
}

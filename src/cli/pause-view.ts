import type { PausedTopic, TopicResult } from '../service/types.js'
import { succeeded } from './item-results.js'
import { bracketed } from './views.js'

/** `Paused 2 topic(s) of mirror m: [a, b]`; one that was so already counts, as for `add` and `remove`. */
export function pauseSentence(done: 'Paused' | 'Resumed', mirror: string, topics: readonly TopicResult<PausedTopic>[], dryRun: boolean) {
  const names = succeeded(topics).map(({ topic }) => topic)
  if (names.length === 0)
    return topics.length === 0 ? `Mirror ${mirror} has no topics to ${done === 'Paused' ? 'pause' : 'resume'}` : undefined
  const changed = succeeded(topics).filter(({ how }) => how === 'changed')
  const plan = `Would ${done === 'Paused' ? 'pause' : 'resume'} ${changed.length} topic(s) of mirror ${mirror}: ${bracketed(changed.map(({ topic }) => topic))}`
  return dryRun ? plan : `${done} ${names.length} topic(s) of mirror ${mirror}: ${bracketed(names)}`
}

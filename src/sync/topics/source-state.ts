import type { Cluster } from '../../client/cluster.js'
import { KeyedLog } from '../../client/keyed-log.js'
import { isMissingRight } from '../../mirror/failures.js'
import { MirrorState } from '../../mirror/fold.js'
import { SPEC_PARTITION, STATE_TOPIC } from '../../mirror/state-topic.js'
import type { SourceState } from './origins.js'

/**
 * The mirrors whose destination a source is, with the topics they copy: none without its state topic. Throws KafkaError,
 * ConnectionError: what could not be read now is neither nothing nor unknown for good.
 */
export async function readSourceState(source: Cluster): Promise<SourceState> {
  try {
    const state = MirrorState.of((await new KeyedLog(source, STATE_TOPIC).loadPartition(SPEC_PARTITION)) ?? [])
    return state.problems.size === 0 ? state : 'unknown'
  } catch (error) {
    if (isMissingRight(error)) return 'unknown'
    throw error
  }
}

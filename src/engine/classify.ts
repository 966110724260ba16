import { ConnectionError } from '../client/errors.js'
import { Errors, KafkaError } from '../protocol/errors.js'
import type { CopyEnd } from './copy-session.js'
import { Fenced, PartitionFailure, Realign, SourceGone } from './errors.js'

/** Codes that say our picture of leaders, epochs or topics is old. */
export const STALE_METADATA: ReadonlySet<number> = new Set([
  Errors.UNKNOWN_TOPIC_OR_PARTITION,
  Errors.LEADER_NOT_AVAILABLE,
  Errors.NOT_LEADER_OR_FOLLOWER,
  Errors.REPLICA_NOT_AVAILABLE,
  Errors.KAFKA_STORAGE_ERROR,
  Errors.LISTENER_NOT_FOUND,
  Errors.FENCED_LEADER_EPOCH,
  Errors.UNKNOWN_LEADER_EPOCH,
  Errors.OFFSET_NOT_AVAILABLE,
  Errors.UNKNOWN_TOPIC_ID,
  Errors.INCONSISTENT_TOPIC_ID,
])

/** What an error on one side means for the partition. Whatever is not known to be a verdict is retried, and visible. */
export function classify(error: unknown, side: 'source' | 'destination'): CopyEnd {
  if (error instanceof PartitionFailure) return { kind: 'failed', reason: error.message }
  if (error instanceof SourceGone) return { kind: 'source-gone', reason: error.message }
  if (error instanceof Realign) return { kind: 'realign', reason: error.message }
  if (error instanceof Fenced) return { kind: 'fenced', reason: error.message }
  if (error instanceof KafkaError && STALE_METADATA.has(error.code)) return { kind: 'moved', side, reason: `${side}: ${error.message}` }
  const reason = error instanceof Error ? error.message : String(error)
  return { kind: 'retry', reason: `${side}: ${reason}`, unreachable: error instanceof ConnectionError ? side : undefined }
}

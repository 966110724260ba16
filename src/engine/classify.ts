import { ConnectionError } from '../client/errors.js'
import { KafkaError } from '../protocol/errors.js'
import { Fenced, PartitionFailure } from './errors.js'
import type { CopyEnd } from './partition-copy.js'

/** Codes that say our picture of leaders, epochs or topics is old. */
const STALE_METADATA = new Set([3, 5, 6, 9, 72, 74, 75, 100, 103])

/** What an error on one side means for the partition. Whatever is not known to be a verdict is retried, and visible. */
export function classify(error: unknown, side: 'source' | 'destination'): CopyEnd {
  if (error instanceof PartitionFailure) return { kind: 'failed', reason: error.message }
  if (error instanceof Fenced) return { kind: 'fenced', reason: error.message }
  if (error instanceof KafkaError && STALE_METADATA.has(error.code)) return { kind: 'moved', side, reason: `${side}: ${error.message}` }
  const reason = error instanceof Error ? error.message : String(error)
  return { kind: 'retry', reason: `${side}: ${reason}`, unreachable: error instanceof ConnectionError ? side : undefined }
}

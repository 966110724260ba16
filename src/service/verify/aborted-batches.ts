import { ascending } from '../../mirror/offsets.js'
import { isControl, isTransactional } from '../../records/batch.js'
import type { Batch } from '../../records/scan.js'

/** One entry of a Fetch answer's index of aborted transactions. */
export interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

/**
 * The batches of one fetched record set that belong to aborted transactions. A producer has one transaction at a time and
 * its next marker ends it, so which way a marker went need not be read: the index names only those that were aborted.
 */
export function abortedBatches(batches: readonly Batch[], index: readonly AbortedTransaction[]): ReadonlySet<Batch> {
  const aborted = new Set<Batch>()
  if (index.length === 0) return aborted
  const begins = new Map<bigint, bigint[]>()
  for (const { producerId, firstOffset } of index) {
    const known = begins.get(producerId)
    if (known === undefined) begins.set(producerId, [firstOffset])
    else known.push(firstOffset)
  }
  for (const known of begins.values()) known.sort(ascending)
  for (const batch of batches) {
    const { header } = batch
    if (!isTransactional(header)) continue
    const open = begins.get(header.producerId)
    if (open === undefined) continue
    if (isControl(header)) while (open.length > 0 && open[0]! < header.baseOffset) open.shift()
    else if (open.length > 0 && open[0]! <= header.baseOffset) aborted.add(batch)
  }
  return aborted
}

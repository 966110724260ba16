import { isControl, isTransactional, lastOffset } from './batch.js'
import { type Batch, controlTypeOf } from './scan.js'

/** An aborted transaction as Fetch v4+ lists it for read_committed. */
export interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

/** Which transactional batches were aborted, as Kafka's consumer decides it (`CompletedFetch.nextFetchedRecord`). */
export class AbortedRanges {
  private readonly pending: AbortedTransaction[]
  private readonly producerIds = new Set<bigint>()
  private index = 0

  constructor(transactions: readonly AbortedTransaction[]) {
    this.pending = [...transactions].sort((a, b) => (a.firstOffset < b.firstOffset ? -1 : a.firstOffset > b.firstOffset ? 1 : 0))
  }

  /** Must be asked for every batch in order, those below the wanted offset too. */
  covers(batch: Batch): boolean {
    if (this.pending.length === 0 || !isTransactional(batch.header)) return false
    const last = lastOffset(batch.header)
    while (this.index < this.pending.length && this.pending[this.index]!.firstOffset <= last) {
      this.producerIds.add(this.pending[this.index++]!.producerId)
    }
    const { producerId } = batch.header
    if (!isControl(batch.header)) return this.producerIds.has(producerId)
    if (controlTypeOf(batch) === 'abort') this.producerIds.delete(producerId)
    return false
  }
}

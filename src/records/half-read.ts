import { isControl, isTransactional } from './batch.js'
import type { Batch } from './scan.js'

/** Committed transactions of which a fetched record set holds the beginning but not the end. */
export class HalfReadTransactions {
  private readonly producerIds = new Set<bigint>()
  private since = 0n

  /** To be told of every batch that is not aborted, in order; `from` is its first offset that is wanted. */
  saw({ header }: Batch, from: bigint): void {
    if (!isTransactional(header)) return
    if (isControl(header)) this.producerIds.delete(header.producerId)
    // Of a hollow batch nothing is seen: the transaction may begin after it.
    else if (header.count > 0) {
      if (this.producerIds.size === 0) this.since = from
      this.producerIds.add(header.producerId)
    }
  }

  /** Below this offset every transaction is whole; undefined if all are. */
  get cut(): bigint | undefined {
    return this.producerIds.size === 0 ? undefined : this.since
  }
}

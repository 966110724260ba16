import { commitEmptyTransaction, type ProducerIdAndEpoch } from '../client/admin.js'
import { Errors, KafkaError } from '../protocol/errors.js'
import { awaitLogEnd, type LogEndPort } from './await-log-end.js'
import { Fenced, LostPlace } from './errors.js'

const FENCED: ReadonlySet<number> = new Set([
  Errors.PRODUCER_FENCED,
  Errors.INVALID_PRODUCER_EPOCH,
  Errors.INVALID_PRODUCER_ID_MAPPING,
  Errors.INVALID_TXN_STATE,
])

export interface TransactionFillPort extends LogEndPort {
  readonly transactionalId: string
  /** As claimed by this owner: of an earlier owner's transactions none is open any more. */
  readonly producer: ProducerIdAndEpoch
  readonly mayAppend: () => boolean
}

/**
 * Puts `count` control records at the destination's log end, one empty transaction each: the way without the right to
 * write markers, some hundred offsets a second. The same rules hold: nothing else of the partition may be in flight, and
 * nothing may follow before this returns. After any throw the id must be claimed anew and the log end read after that.
 *
 * @throws PartitionFailure when the log end is not where the fill should have put it; Fenced by a newer owner; KafkaError.
 */
export async function fillWithTransactions(port: TransactionFillPort, baseOffset: bigint, count: number): Promise<void> {
  const { cluster, transactionalId, producer, topic, partition } = port
  for (let done = 1; done <= count; done++) {
    if (!port.mayAppend()) throw new LostPlace()
    try {
      await commitEmptyTransaction(cluster, { ...producer, transactionalId, topic, partition })
    } catch (error) {
      if (error instanceof KafkaError && FENCED.has(error.code)) throw new Fenced(error.message)
      throw error
    }
    await awaitLogEnd(port, baseOffset + BigInt(done))
  }
}

import { api, bool, int16, int32, int64, string } from '../schema.js'

/**
 * EndTxn (KIP-98). Commits or aborts. Brokers answer before the marker is in the log.
 * Version 5 raises the producer's epoch with each transaction (KIP-890), and is not spoken: we end many transactions with one epoch.
 */
export const EndTxn = api({
  key: 26,
  name: 'EndTxn',
  versions: '0-4',
  flexible: '3+',
  request: {
    transactionalId: string('0+'),
    producerId: int64('0+'),
    producerEpoch: int16('0+'),
    /** True commits, false aborts. */
    committed: bool('0+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16('0+'),
  },
})

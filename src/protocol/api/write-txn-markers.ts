import { api, arrayOf, arrayOfInt32, bool, int8, int16, int32, int64, string } from '../schema.js'

/**
 * WriteTxnMarkers (KIP-98, KIP-1228). Brokers send it to each other; we fill offsets with its control records.
 * Each entry appends one marker per partition, and the same partition may be named again. Version 0 is for brokers before 2.8.
 */
export const WriteTxnMarkers = api({
  key: 27,
  name: 'WriteTxnMarkers',
  versions: '0-2',
  flexible: '1+',
  request: {
    markers: arrayOf('0+', {
      producerId: int64('0+'),
      producerEpoch: int16('0+'),
      /** True commits, false aborts. */
      transactionResult: bool('0+'),
      topics: arrayOf('0+', {
        name: string('0+'),
        partitionIndexes: arrayOfInt32('0+'),
      }),
      /** Lower than in the last marker of this producer id: refused. */
      coordinatorEpoch: int32('0+'),
      transactionVersion: int8('2+', { default: 0 }),
    }),
  },
  response: {
    markers: arrayOf('0+', {
      producerId: int64('0+'),
      topics: arrayOf('0+', {
        name: string('0+'),
        partitions: arrayOf('0+', {
          partitionIndex: int32('0+'),
          errorCode: int16('0+'),
        }),
      }),
    }),
  },
})

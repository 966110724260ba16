import { api, arrayOf, arrayOfInt32, int16, int32, int64, string } from '../schema.js'

/** DescribeProducers (KIP-664). The producer state of partitions: whose sequence is where. Brokers have it since 2.8. */
export const DescribeProducers = api({
  key: 61,
  name: 'DescribeProducers',
  versions: '0',
  flexible: '0+',
  request: {
    topics: arrayOf('0+', {
      name: string('0+'),
      partitionIndexes: arrayOfInt32('0+'),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    topics: arrayOf('0+', {
      name: string('0+'),
      partitions: arrayOf('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
        errorMessage: string('0+', { nullable: '0+', default: null }),
        activeProducers: arrayOf('0+', {
          producerId: int64('0+'),
          producerEpoch: int32('0+'),
          /** −1: only markers so far. */
          lastSequence: int32('0+', { default: -1 }),
          lastTimestamp: int64('0+', { default: -1n }),
          coordinatorEpoch: int32('0+'),
          /** −1: no open transaction. */
          currentTxnStartOffset: int64('0+', { default: -1n }),
        }),
      }),
    }),
  },
})

import { api, arrayOf, int16, int32, int64, string } from '../schema.js'

/** OffsetForLeaderEpoch (KIP-101, KIP-320). Where a leader epoch ended on the source, to find the point of divergence. */
export const OffsetForLeaderEpoch = api({
  key: 23,
  name: 'OffsetForLeaderEpoch',
  versions: '2-4',
  flexible: '4+',
  request: {
    /** −1: a consumer; Kafka's default of −2 is for debugging. */
    replicaId: int32('3+', { default: -1 }),
    topics: arrayOf('0+', {
      topic: string('0+'),
      partitions: arrayOf('0+', {
        partition: int32('0+'),
        currentLeaderEpoch: int32('2+', { default: -1 }),
        leaderEpoch: int32('0+'),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32('2+', { default: 0 }),
    topics: arrayOf('0+', {
      topic: string('0+'),
      partitions: arrayOf('0+', {
        errorCode: int16('0+'),
        partition: int32('0+'),
        leaderEpoch: int32('1+', { default: -1 }),
        endOffset: int64('0+', { default: -1n }),
      }),
    }),
  },
})

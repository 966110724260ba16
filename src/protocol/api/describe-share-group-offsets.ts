import { api, arrayOf, arrayOfInt32, int16, int32, int64, string, uuid } from '../schema.js'

/** DescribeShareGroupOffsets (KIP-932, KIP-1226 lag). Where the partitions of share groups start; asked at their group coordinator. */
export const DescribeShareGroupOffsets = api({
  key: 90,
  name: 'DescribeShareGroupOffsets',
  versions: '0-1',
  flexible: '0+',
  request: {
    groups: arrayOf('0+', {
      groupId: string('0+'),
      /** Null: all. */
      topics: arrayOf(
        '0+',
        {
          topicName: string('0+'),
          partitions: arrayOfInt32('0+'),
        },
        { nullable: '0+' },
      ),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    groups: arrayOf('0+', {
      groupId: string('0+'),
      topics: arrayOf('0+', {
        topicName: string('0+'),
        topicId: uuid('0+'),
        partitions: arrayOf('0+', {
          partitionIndex: int32('0+'),
          /** −1: nobody has read the partition yet. */
          startOffset: int64('0+'),
          leaderEpoch: int32('0+'),
          lag: int64('1+', { default: -1n }),
          errorCode: int16('0+'),
          errorMessage: string('0+', { nullable: '0+', default: null }),
        }),
      }),
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: '0+', default: null }),
    }),
  },
})

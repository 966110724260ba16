import { api, arrayOf, arrayOfInt32, bool, int16, int32, int64, string } from '../schema.js'

/**
 * OffsetFetch (KIP-320, KIP-447 requireStable, KIP-709 several groups, KIP-848). Reads groups' committed offsets.
 * Up to version 7 one group is asked for in `groupId` and `topics`, from 8 on in `groups`: give both forms. Null topics ask for all.
 * Version 10, which names topics by id, is not spoken, as in OffsetCommit.
 */
export const OffsetFetch = api({
  key: 9,
  name: 'OffsetFetch',
  versions: '1-9',
  flexible: '6+',
  request: {
    groupId: string('0-7'),
    topics: arrayOf(
      '0-7',
      {
        name: string('0-7'),
        partitionIndexes: arrayOfInt32('0-7'),
      },
      { nullable: '2-7' },
    ),
    groups: arrayOf('8+', {
      groupId: string('8+'),
      memberId: string('9+', { nullable: '9+', default: null }),
      memberEpoch: int32('9+', { default: -1 }),
      /** Null: all. */
      topics: arrayOf(
        '8+',
        {
          name: string('8-9'),
          partitionIndexes: arrayOfInt32('8+'),
        },
        { nullable: '8+' },
      ),
    }),
    requireStable: bool('7+', { default: false }),
  },
  response: {
    throttleTimeMs: int32('3+', { default: 0 }),
    topics: arrayOf(
      '0-7',
      {
        name: string('0-7'),
        partitions: arrayOf('0-7', {
          partitionIndex: int32('0-7'),
          committedOffset: int64('0-7'),
          committedLeaderEpoch: int32('5-7', { default: -1 }),
          metadata: string('0-7', { nullable: '0-7' }),
          errorCode: int16('0-7'),
        }),
      },
      { default: [] },
    ),
    errorCode: int16('2-7', { default: 0 }),
    groups: arrayOf(
      '8+',
      {
        groupId: string('8+'),
        topics: arrayOf('8+', {
          name: string('8-9', { default: '' }),
          partitions: arrayOf('8+', {
            partitionIndex: int32('8+'),
            committedOffset: int64('8+'),
            committedLeaderEpoch: int32('8+', { default: -1 }),
            metadata: string('8+', { nullable: '8+' }),
            errorCode: int16('8+'),
          }),
        }),
        errorCode: int16('8+', { default: 0 }),
      },
      { default: [] },
    ),
  },
})

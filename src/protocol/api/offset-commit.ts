import { api, arrayOf, int16, int32, int64, string } from '../schema.js'

/**
 * OffsetCommit (KIP-320 leader epochs, KIP-848). Writes a group's offsets, as a member or, with generation −1, from outside.
 * Version 10, which names topics by id, is not spoken: committed offsets are kept by name.
 */
export const OffsetCommit = api({
  key: 8,
  name: 'OffsetCommit',
  versions: '2-9',
  flexible: '8+',
  request: {
    groupId: string('0+'),
    generationIdOrMemberEpoch: int32('1+', { default: -1 }),
    memberId: string('1+', { default: '' }),
    groupInstanceId: string('7+', { nullable: '7+', default: null }),
    /** −1: the broker's setting. */
    retentionTimeMs: int64('2-4', { default: -1n }),
    topics: arrayOf('0+', {
      name: string('0-9'),
      partitions: arrayOf('0+', {
        partitionIndex: int32('0+'),
        committedOffset: int64('0+'),
        committedLeaderEpoch: int32('6+', { default: -1 }),
        committedMetadata: string('0+', { nullable: '0+' }),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32('3+', { default: 0 }),
    topics: arrayOf('0+', {
      name: string('0-9', { default: '' }),
      partitions: arrayOf('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
      }),
    }),
  },
})

import { api, arrayOf, int16, int32, int64, string, uuid } from '../schema.js'

/** AlterShareGroupOffsets (KIP-932). Moves where the partitions of a share group start; the group must have no members. */
export const AlterShareGroupOffsets = api({
  key: 91,
  name: 'AlterShareGroupOffsets',
  versions: '0',
  flexible: '0+',
  request: {
    groupId: string('0+'),
    topics: arrayOf('0+', {
      topicName: string('0+'),
      partitions: arrayOf('0+', {
        partitionIndex: int32('0+'),
        startOffset: int64('0+'),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16('0+'),
    errorMessage: string('0+', { nullable: '0+', default: null }),
    responses: arrayOf('0+', {
      topicName: string('0+'),
      topicId: uuid('0+'),
      partitions: arrayOf('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
        errorMessage: string('0+', { nullable: '0+', default: null }),
      }),
    }),
  },
})

import { api, arrayOf, int16, int32, int64, string } from '../schema.js'

/** DeleteRecords (KIP-107). Moves a partition's log start offset up; −1 stands for the high watermark. */
export const DeleteRecords = api({
  key: 21,
  name: 'DeleteRecords',
  versions: '0-2',
  flexible: '2+',
  request: {
    topics: arrayOf('0+', {
      name: string('0+'),
      partitions: arrayOf('0+', {
        partitionIndex: int32('0+'),
        /** −1: the high watermark. */
        offset: int64('0+'),
      }),
    }),
    timeoutMs: int32('0+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    topics: arrayOf('0+', {
      name: string('0+'),
      partitions: arrayOf('0+', {
        partitionIndex: int32('0+'),
        /** The log start offset, lowest among the replicas. */
        lowWatermark: int64('0+'),
        errorCode: int16('0+'),
      }),
    }),
  },
})

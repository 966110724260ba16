import { api, arrayOf, int8, int16, int32, int64, string } from '../schema.js'

/**
 * ListOffsets (KIP-79; timestamps −1 latest, −2 earliest; with read_committed the latest is the last stable offset).
 * −3 (max timestamp, KIP-734) needs version 7, −4 (earliest local, KIP-405) 8, −5 (latest tiered, KIP-1005) 9.
 */
export const ListOffsets = api({
  key: 2,
  name: 'ListOffsets',
  versions: '1-11',
  flexible: '6+',
  request: {
    /** −1: a consumer. −2, for debugging, sees the log end past the high watermark, and followers answer it too. */
    replicaId: int32('0+', { default: -1 }),
    /** 0 read_uncommitted, 1 read_committed. */
    isolationLevel: int8('2+', { default: 0 }),
    topics: arrayOf('0+', {
      name: string('0+'),
      partitions: arrayOf('0+', {
        partitionIndex: int32('0+'),
        currentLeaderEpoch: int32('4+', { default: -1 }),
        timestamp: int64('0+'),
      }),
    }),
    /** Only for offsets that need remote storage. */
    timeoutMs: int32('10+', { default: 0 }),
  },
  response: {
    throttleTimeMs: int32('2+', { default: 0 }),
    topics: arrayOf('0+', {
      name: string('0+'),
      partitions: arrayOf('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
        timestamp: int64('1+', { default: -1n }),
        offset: int64('1+', { default: -1n }),
        leaderEpoch: int32('4+', { default: -1 }),
      }),
    }),
  },
})

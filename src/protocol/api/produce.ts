import { api, arrayOf, int16, int32, int64, NO_UUID, records, string, structOf, uuid } from '../schema.js'

/**
 * Produce (KIP-98 for idempotence, KIP-516 for topic ids, KIP-951 for leader hints).
 * We append one batch per partition and compare `baseOffset` with the expected one. Before version 13 topics go by name, from 13
 * on by id: give both.
 */
export const Produce = api({
  key: 0,
  name: 'Produce',
  versions: '3-13',
  flexible: '9+',
  request: {
    transactionalId: string('3+', { nullable: '3+', default: null }),
    /** −1: all in-sync replicas. */
    acks: int16('0+'),
    timeoutMs: int32('0+'),
    topicData: arrayOf('0+', {
      name: string('0-12'),
      topicId: uuid('13+'),
      partitionData: arrayOf('0+', {
        index: int32('0+'),
        /** Exactly one batch. */
        records: records('0+'),
      }),
    }),
  },
  response: {
    responses: arrayOf('0+', {
      name: string('0-12', { default: '' }),
      topicId: uuid('13+', { default: NO_UUID }),
      partitionResponses: arrayOf('0+', {
        index: int32('0+'),
        errorCode: int16('0+'),
        baseOffset: int64('0+'),
        logAppendTimeMs: int64('2+', { default: -1n }),
        logStartOffset: int64('5+', { default: -1n }),
        recordErrors: arrayOf(
          '8+',
          {
            batchIndex: int32('8+'),
            batchIndexErrorMessage: string('8+', { nullable: '8+', default: null }),
          },
          { default: [] },
        ),
        errorMessage: string('8+', { nullable: '8+', default: null }),
        currentLeader: structOf(
          '10+',
          {
            leaderId: int32('10+', { default: -1 }),
            leaderEpoch: int32('10+', { default: -1 }),
          },
          { tag: 0, taggedVersions: '10+', default: {} },
        ),
      }),
    }),
    throttleTimeMs: int32('1+', { default: 0 }),
    nodeEndpoints: arrayOf(
      '10+',
      {
        nodeId: int32('10+'),
        host: string('10+'),
        port: int32('10+'),
        rack: string('10+', { nullable: '10+', default: null }),
      },
      { tag: 0, taggedVersions: '10+', default: [] },
    ),
  },
})

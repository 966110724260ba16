import { api, arrayOf, arrayOfInt32, int8, int16, int32, int64, NO_UUID, records, string, structOf, uuid } from '../schema.js'

/**
 * Fetch (KIP-227 sessions, KIP-320 leader epochs, KIP-516 topic ids, KIP-595 diverging epochs, KIP-951 leader hints).
 * We read as a consumer: replica id −1, and isolation level 1 (read_committed) so that aborted ranges come with the data.
 * Before version 13 topics go by name, from 13 on by id: give both.
 */
export const Fetch = api({
  key: 1,
  name: 'Fetch',
  versions: '4-18',
  flexible: '12+',
  request: {
    clusterId: string('12+', { nullable: '12+', tag: 0, taggedVersions: '12+', default: null }),
    replicaId: int32('0-14', { default: -1 }),
    /** Replaces `replicaId` from version 15 on. */
    replicaState: structOf(
      '15+',
      {
        replicaId: int32('15+', { default: -1 }),
        replicaEpoch: int64('15+', { default: -1n }),
      },
      { tag: 1, taggedVersions: '15+', default: {} },
    ),
    maxWaitMs: int32('0+'),
    minBytes: int32('0+'),
    maxBytes: int32('3+', { default: 0x7fffffff }),
    isolationLevel: int8('4+', { default: 0 }),
    sessionId: int32('7+', { default: 0 }),
    /** −1: no session; 0: a new one. */
    sessionEpoch: int32('7+', { default: -1 }),
    topics: arrayOf('0+', {
      topic: string('0-12'),
      topicId: uuid('13+'),
      partitions: arrayOf('0+', {
        partition: int32('0+'),
        currentLeaderEpoch: int32('9+', { default: -1 }),
        fetchOffset: int64('0+'),
        /** Without it a broker serves another history in silence. */
        lastFetchedEpoch: int32('12+', { default: -1 }),
        logStartOffset: int64('5+', { default: -1n }),
        partitionMaxBytes: int32('0+'),
        replicaDirectoryId: uuid('17+', { tag: 0, taggedVersions: '17+', default: NO_UUID }),
        /** Followers only; the default is Kafka's. */
        highWatermark: int64('18+', { tag: 1, taggedVersions: '18+', default: 0x7fffffffffffffffn }),
      }),
    }),
    forgottenTopicsData: arrayOf(
      '7+',
      {
        topic: string('7-12'),
        topicId: uuid('13+'),
        partitions: arrayOfInt32('7+'),
      },
      { default: [] },
    ),
    rackId: string('11+', { default: '' }),
  },
  response: {
    throttleTimeMs: int32('1+', { default: 0 }),
    errorCode: int16('7+', { default: 0 }),
    sessionId: int32('7+', { default: 0 }),
    responses: arrayOf('0+', {
      topic: string('0-12', { default: '' }),
      topicId: uuid('13+', { default: NO_UUID }),
      partitions: arrayOf('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
        highWatermark: int64('0+'),
        lastStableOffset: int64('4+', { default: -1n }),
        logStartOffset: int64('5+', { default: -1n }),
        /** Epoch −1: nothing diverges. */
        divergingEpoch: structOf(
          '12+',
          {
            epoch: int32('12+', { default: -1 }),
            endOffset: int64('12+', { default: -1n }),
          },
          { tag: 0, taggedVersions: '12+', default: {} },
        ),
        /** Leader −1: unknown. */
        currentLeader: structOf(
          '12+',
          {
            leaderId: int32('12+', { default: -1 }),
            leaderEpoch: int32('12+', { default: -1 }),
          },
          { tag: 1, taggedVersions: '12+', default: {} },
        ),
        snapshotId: structOf(
          '12+',
          {
            endOffset: int64('0+', { default: -1n }),
            epoch: int32('0+', { default: -1 }),
          },
          { tag: 2, taggedVersions: '12+', default: {} },
        ),
        abortedTransactions: arrayOf(
          '4+',
          {
            producerId: int64('4+'),
            firstOffset: int64('4+'),
          },
          { nullable: '4+', default: null },
        ),
        preferredReadReplica: int32('11+', { default: -1 }),
        /** May end within a batch. */
        records: records('0+'),
      }),
    }),
    nodeEndpoints: arrayOf(
      '16+',
      {
        nodeId: int32('16+'),
        host: string('16+'),
        port: int32('16+'),
        rack: string('16+', { nullable: '16+', default: null }),
      },
      { tag: 0, taggedVersions: '16+', default: [] },
    ),
  },
})

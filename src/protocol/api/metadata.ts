import { api, arrayOf, arrayOfInt32, bool, int16, int32, NO_UUID, string, uuid } from '../schema.js'

/**
 * Metadata (KIP-4, KIP-516 topic ids). Brokers, controller, and leaders with their epochs; `topics: null` asks for all.
 * Versions below 4 are left out because a broker may create a topic that they name.
 */
export const Metadata = api({
  key: 3,
  name: 'Metadata',
  versions: '4-13',
  flexible: '9+',
  request: {
    topics: arrayOf(
      '0+',
      {
        topicId: uuid('10+', { default: NO_UUID }),
        /** Null when asked for by id. */
        name: string('0+', { nullable: '10+' }),
      },
      { nullable: '1+' },
    ),
    /** Kafka's default is true; asking must not create. */
    allowAutoTopicCreation: bool('4+', { default: false }),
    includeClusterAuthorizedOperations: bool('8-10', { default: false }),
    includeTopicAuthorizedOperations: bool('8+', { default: false }),
  },
  response: {
    throttleTimeMs: int32('3+', { default: 0 }),
    brokers: arrayOf('0+', {
      nodeId: int32('0+'),
      host: string('0+'),
      port: int32('0+'),
      rack: string('1+', { nullable: '1+', default: null }),
    }),
    clusterId: string('2+', { nullable: '2+', default: null }),
    controllerId: int32('1+', { default: -1 }),
    topics: arrayOf('0+', {
      errorCode: int16('0+'),
      /** Null if an id is unknown. */
      name: string('0+', { nullable: '12+' }),
      topicId: uuid('10+', { default: NO_UUID }),
      isInternal: bool('1+', { default: false }),
      partitions: arrayOf('0+', {
        errorCode: int16('0+'),
        partitionIndex: int32('0+'),
        leaderId: int32('0+'),
        leaderEpoch: int32('7+', { default: -1 }),
        replicaNodes: arrayOfInt32('0+'),
        isrNodes: arrayOfInt32('0+'),
        offlineReplicas: arrayOfInt32('5+', { default: [] }),
      }),
      /** Bit field of AclOperation numbers; the lowest int32: not asked for. */
      topicAuthorizedOperations: int32('8+', { default: -2147483648 }),
    }),
    clusterAuthorizedOperations: int32('8-10', { default: -2147483648 }),
    errorCode: int16('13+', { default: 0 }),
  },
})

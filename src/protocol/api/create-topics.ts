import { api, arrayOf, arrayOfInt32, bool, int8, int16, int32, NO_UUID, string, uuid } from '../schema.js'

/** CreateTopics (KIP-4, KIP-464 default counts, KIP-525 configs, KIP-516 topic ids). */
export const CreateTopics = api({
  key: 19,
  name: 'CreateTopics',
  versions: '2-7',
  flexible: '5+',
  request: {
    topics: arrayOf('0+', {
      name: string('0+'),
      /** −1: the broker's setting, or as `assignments` say. */
      numPartitions: int32('0+'),
      /** −1: the broker's setting, or as `assignments` say. */
      replicationFactor: int16('0+'),
      assignments: arrayOf(
        '0+',
        {
          partitionIndex: int32('0+'),
          brokerIds: arrayOfInt32('0+'),
        },
        { default: [] },
      ),
      configs: arrayOf(
        '0+',
        {
          name: string('0+'),
          value: string('0+', { nullable: '0+' }),
        },
        { default: [] },
      ),
    }),
    timeoutMs: int32('0+', { default: 60000 }),
    validateOnly: bool('1+', { default: false }),
  },
  response: {
    throttleTimeMs: int32('2+', { default: 0 }),
    topics: arrayOf('0+', {
      name: string('0+'),
      topicId: uuid('7+', { default: NO_UUID }),
      errorCode: int16('0+'),
      errorMessage: string('1+', { nullable: '0+', default: null }),
      topicConfigErrorCode: int16('5+', { tag: 0, taggedVersions: '5+', default: 0 }),
      numPartitions: int32('5+', { default: -1 }),
      replicationFactor: int16('5+', { default: -1 }),
      /** Null without the right to read them. */
      configs: arrayOf(
        '5+',
        {
          name: string('5+'),
          value: string('5+', { nullable: '5+' }),
          readOnly: bool('5+'),
          configSource: int8('5+', { default: -1 }),
          isSensitive: bool('5+'),
        },
        { nullable: '5+', default: null },
      ),
    }),
  },
})

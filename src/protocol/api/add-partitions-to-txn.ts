import { api, arrayOf, arrayOfInt32, int16, int32, int64, string } from '../schema.js'

const topic = {
  name: string('0+'),
  partitions: arrayOfInt32('0+'),
}

const partitionResult = {
  partitionIndex: int32('0+'),
  partitionErrorCode: int16('0+'),
}

const topicResult = {
  name: string('0+'),
  resultsByPartition: arrayOf('0+', partitionResult),
}

/** AddPartitionsToTxn (KIP-98). Opens a transaction on partitions. Kafka keeps versions 4 and up for brokers, hence the names. */
export const AddPartitionsToTxn = api({
  key: 24,
  name: 'AddPartitionsToTxn',
  versions: '0-3',
  flexible: '3+',
  request: {
    v3AndBelowTransactionalId: string('0-3'),
    v3AndBelowProducerId: int64('0-3'),
    v3AndBelowProducerEpoch: int16('0-3'),
    v3AndBelowTopics: arrayOf('0-3', topic),
  },
  response: {
    throttleTimeMs: int32('0+'),
    resultsByTopicV3AndBelow: arrayOf('0-3', topicResult),
  },
})

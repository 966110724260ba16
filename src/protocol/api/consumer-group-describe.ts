import { api, arrayOf, arrayOfInt32, arrayOfString, bool, int8, int16, int32, string, structOf, uuid } from '../schema.js'

const topicPartitions = {
  topicId: uuid('0+'),
  topicName: string('0+'),
  partitions: arrayOfInt32('0+'),
}

const assignment = {
  topicPartitions: arrayOf('0+', topicPartitions),
}

/** ConsumerGroupDescribe (KIP-848, KIP-1099 member type). State and members of groups of the new consumer protocol. */
export const ConsumerGroupDescribe = api({
  key: 69,
  name: 'ConsumerGroupDescribe',
  versions: '0-1',
  flexible: '0+',
  request: {
    groupIds: arrayOfString('0+'),
    includeAuthorizedOperations: bool('0+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    groups: arrayOf('0+', {
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: '0+', default: null }),
      groupId: string('0+'),
      groupState: string('0+'),
      groupEpoch: int32('0+'),
      assignmentEpoch: int32('0+'),
      assignorName: string('0+'),
      members: arrayOf('0+', {
        memberId: string('0+'),
        instanceId: string('0+', { nullable: '0+', default: null }),
        rackId: string('0+', { nullable: '0+', default: null }),
        memberEpoch: int32('0+'),
        clientId: string('0+'),
        clientHost: string('0+'),
        subscribedTopicNames: arrayOfString('0+'),
        subscribedTopicRegex: string('0+', { nullable: '0+', default: null }),
        assignment: structOf('0+', assignment),
        targetAssignment: structOf('0+', assignment),
        memberType: int8('1+', { default: -1 }),
      }),
      /** Bit field of AclOperation numbers; the lowest int32: not asked for. */
      authorizedOperations: int32('0+', { default: -2147483648 }),
    }),
  },
})

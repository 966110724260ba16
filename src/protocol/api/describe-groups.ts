import { api, arrayOf, arrayOfString, bool, bytes, int16, int32, string } from '../schema.js'

/** DescribeGroups (KIP-430, KIP-1043 for GROUP_ID_NOT_FOUND). State and members of classic groups. */
export const DescribeGroups = api({
  key: 15,
  name: 'DescribeGroups',
  versions: '0-6',
  flexible: '5+',
  request: {
    groups: arrayOfString('0+'),
    includeAuthorizedOperations: bool('3+', { default: false }),
  },
  response: {
    throttleTimeMs: int32('1+', { default: 0 }),
    groups: arrayOf('0+', {
      errorCode: int16('0+'),
      errorMessage: string('6+', { nullable: '6+', default: null }),
      groupId: string('0+'),
      groupState: string('0+'),
      protocolType: string('0+'),
      protocolData: string('0+'),
      members: arrayOf('0+', {
        memberId: string('0+'),
        groupInstanceId: string('4+', { nullable: '4+', default: null }),
        clientId: string('0+'),
        clientHost: string('0+'),
        memberMetadata: bytes('0+'),
        memberAssignment: bytes('0+'),
      }),
      /** Bit field of AclOperation numbers; the lowest int32: not asked for. */
      authorizedOperations: int32('3+', { default: -2147483648 }),
    }),
  },
})

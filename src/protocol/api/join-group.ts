import { api, arrayOf, bool, bytes, int16, int32, string } from '../schema.js'

/** JoinGroup (KIP-62, KIP-345 static members, KIP-394). The classic group protocol, by which runners share the work. */
export const JoinGroup = api({
  key: 11,
  name: 'JoinGroup',
  versions: '2-9',
  flexible: '6+',
  request: {
    groupId: string('0+'),
    sessionTimeoutMs: int32('0+'),
    rebalanceTimeoutMs: int32('1+'),
    /** Empty on the first try; the broker then gives one. */
    memberId: string('0+'),
    groupInstanceId: string('5+', { nullable: '5+', default: null }),
    protocolType: string('0+'),
    protocols: arrayOf('0+', {
      name: string('0+'),
      metadata: bytes('0+'),
    }),
    reason: string('8+', { nullable: '8+', default: null }),
  },
  response: {
    throttleTimeMs: int32('2+', { default: 0 }),
    errorCode: int16('0+'),
    generationId: int32('0+', { default: -1 }),
    protocolType: string('7+', { nullable: '7+', default: null }),
    protocolName: string('0+', { nullable: '7+' }),
    leader: string('0+'),
    skipAssignment: bool('9+', { default: false }),
    memberId: string('0+'),
    members: arrayOf('0+', {
      memberId: string('0+'),
      groupInstanceId: string('5+', { nullable: '5+', default: null }),
      metadata: bytes('0+'),
    }),
  },
})

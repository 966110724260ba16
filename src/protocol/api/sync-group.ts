import { api, arrayOf, bytes, int16, int32, string } from '../schema.js'

/** SyncGroup (KIP-345, KIP-559). The leader of a classic group hands out the assignment, every member gets its own. */
export const SyncGroup = api({
  key: 14,
  name: 'SyncGroup',
  versions: '0-5',
  flexible: '4+',
  request: {
    groupId: string('0+'),
    generationId: int32('0+'),
    memberId: string('0+'),
    groupInstanceId: string('3+', { nullable: '3+', default: null }),
    protocolType: string('5+', { nullable: '5+', default: null }),
    protocolName: string('5+', { nullable: '5+', default: null }),
    assignments: arrayOf('0+', {
      memberId: string('0+'),
      assignment: bytes('0+'),
    }),
  },
  response: {
    throttleTimeMs: int32('1+', { default: 0 }),
    errorCode: int16('0+'),
    protocolType: string('5+', { nullable: '5+', default: null }),
    protocolName: string('5+', { nullable: '5+', default: null }),
    assignment: bytes('0+'),
  },
})

import { api, arrayOf, int16, int32, string } from '../schema.js'

/**
 * LeaveGroup (KIP-345 several members, KIP-800 reason).
 * Up to version 2 the member is named in `memberId`, from 3 on in `members`: give both.
 */
export const LeaveGroup = api({
  key: 13,
  name: 'LeaveGroup',
  versions: '0-5',
  flexible: '4+',
  request: {
    groupId: string('0+'),
    memberId: string('0-2'),
    members: arrayOf('3+', {
      memberId: string('3+'),
      groupInstanceId: string('3+', { nullable: '3+', default: null }),
      reason: string('5+', { nullable: '5+', default: null }),
    }),
  },
  response: {
    throttleTimeMs: int32('1+', { default: 0 }),
    errorCode: int16('0+'),
    members: arrayOf(
      '3+',
      {
        memberId: string('3+'),
        groupInstanceId: string('3+', { nullable: '3+' }),
        errorCode: int16('3+'),
      },
      { default: [] },
    ),
  },
})

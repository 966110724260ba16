import { api, int16, int32, string } from '../schema.js'

/** Heartbeat (KIP-345 static members). Keeps a member of a classic group alive and tells it of a rebalance. */
export const Heartbeat = api({
  key: 12,
  name: 'Heartbeat',
  versions: '0-4',
  flexible: '4+',
  request: {
    groupId: string('0+'),
    generationId: int32('0+'),
    memberId: string('0+'),
    groupInstanceId: string('3+', { nullable: '3+', default: null }),
  },
  response: {
    throttleTimeMs: int32('1+', { default: 0 }),
    errorCode: int16('0+'),
  },
})

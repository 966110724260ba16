import { api, arrayOf, arrayOfString, int16, int32, string } from '../schema.js'

/** DeleteGroups (KIP-229). Only empty groups can be deleted. */
export const DeleteGroups = api({
  key: 42,
  name: 'DeleteGroups',
  versions: '0-3',
  flexible: '2+',
  request: {
    groupsNames: arrayOfString('0+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    results: arrayOf('0+', {
      groupId: string('0+'),
      errorCode: int16('0+'),
      errorMessage: string('3+', { nullable: '3+', default: null }),
    }),
  },
})

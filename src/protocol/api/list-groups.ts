import { api, arrayOf, arrayOfString, int16, int32, string } from '../schema.js'

/** ListGroups (KIP-518 state filter, KIP-848 type filter). A broker lists only the groups that it coordinates. */
export const ListGroups = api({
  key: 16,
  name: 'ListGroups',
  versions: '0-5',
  flexible: '3+',
  request: {
    /** Empty: all. */
    statesFilter: arrayOfString('4+', { default: [] }),
    /** Empty: all. */
    typesFilter: arrayOfString('5+', { default: [] }),
  },
  response: {
    throttleTimeMs: int32('1+', { default: 0 }),
    errorCode: int16('0+'),
    groups: arrayOf('0+', {
      groupId: string('0+'),
      protocolType: string('0+'),
      groupState: string('4+', { default: '' }),
      groupType: string('5+', { default: '' }),
    }),
  },
})

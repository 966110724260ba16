import { api, arrayOf, int8, int16, int32, string } from '../schema.js'

/** DeleteAcls (KIP-140, KIP-290 patterns). Numbers as in DescribeAcls; results are in the order of the filters. */
export const DeleteAcls = api({
  key: 31,
  name: 'DeleteAcls',
  versions: '1-3',
  flexible: '2+',
  request: {
    filters: arrayOf('0+', {
      resourceTypeFilter: int8('0+'),
      resourceNameFilter: string('0+', { nullable: '0+' }),
      patternTypeFilter: int8('1+'),
      principalFilter: string('0+', { nullable: '0+' }),
      hostFilter: string('0+', { nullable: '0+' }),
      operation: int8('0+'),
      permissionType: int8('0+'),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    filterResults: arrayOf('0+', {
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: '0+' }),
      matchingAcls: arrayOf('0+', {
        errorCode: int16('0+'),
        errorMessage: string('0+', { nullable: '0+' }),
        resourceType: int8('0+'),
        resourceName: string('0+'),
        patternType: int8('1+', { default: 3 }),
        principal: string('0+'),
        host: string('0+'),
        operation: int8('0+'),
        permissionType: int8('0+'),
      }),
    }),
  },
})

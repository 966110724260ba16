import { api, arrayOf, int8, int16, int32, string } from '../schema.js'

/** CreateAcls (KIP-140, KIP-290 patterns). Numbers as in DescribeAcls; results are in the order of the creations. */
export const CreateAcls = api({
  key: 30,
  name: 'CreateAcls',
  versions: '1-3',
  flexible: '2+',
  request: {
    creations: arrayOf('0+', {
      resourceType: int8('0+'),
      resourceName: string('0+'),
      resourcePatternType: int8('1+'),
      principal: string('0+'),
      host: string('0+'),
      operation: int8('0+'),
      permissionType: int8('0+'),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    results: arrayOf('0+', {
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: '0+' }),
    }),
  },
})

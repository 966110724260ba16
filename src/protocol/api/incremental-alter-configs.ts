import { api, arrayOf, bool, int8, int16, int32, string } from '../schema.js'

/** IncrementalAlterConfigs (KIP-339). Operations: 0 set, 1 delete, 2 append, 3 subtract. Brokers have it since 2.3. */
export const IncrementalAlterConfigs = api({
  key: 44,
  name: 'IncrementalAlterConfigs',
  versions: '0-1',
  flexible: '1+',
  request: {
    resources: arrayOf('0+', {
      resourceType: int8('0+'),
      resourceName: string('0+'),
      configs: arrayOf('0+', {
        name: string('0+'),
        configOperation: int8('0+'),
        value: string('0+', { nullable: '0+' }),
      }),
    }),
    validateOnly: bool('0+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    responses: arrayOf('0+', {
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: '0+' }),
      resourceType: int8('0+'),
      resourceName: string('0+'),
    }),
  },
})

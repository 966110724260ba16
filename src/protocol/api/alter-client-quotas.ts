import { api, arrayOf, bool, float64, int16, int32, string } from '../schema.js'

/** AlterClientQuotas (KIP-546). A null entity name is the default entity. Brokers have it since 2.6. */
export const AlterClientQuotas = api({
  key: 49,
  name: 'AlterClientQuotas',
  versions: '0-1',
  flexible: '1+',
  request: {
    entries: arrayOf('0+', {
      entity: arrayOf('0+', {
        entityType: string('0+'),
        entityName: string('0+', { nullable: '0+' }),
      }),
      ops: arrayOf('0+', {
        key: string('0+'),
        value: float64('0+'),
        remove: bool('0+'),
      }),
    }),
    validateOnly: bool('0+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    entries: arrayOf('0+', {
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: '0+' }),
      entity: arrayOf('0+', {
        entityType: string('0+'),
        entityName: string('0+', { nullable: '0+' }),
      }),
    }),
  },
})

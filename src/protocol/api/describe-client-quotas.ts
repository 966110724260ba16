import { api, arrayOf, bool, float64, int8, int16, int32, string } from '../schema.js'

/** DescribeClientQuotas (KIP-546). Match types: 0 exact name, 1 default, 2 any. Brokers have it since 2.6. */
export const DescribeClientQuotas = api({
  key: 48,
  name: 'DescribeClientQuotas',
  versions: '0-1',
  flexible: '1+',
  request: {
    components: arrayOf('0+', {
      entityType: string('0+'),
      matchType: int8('0+'),
      match: string('0+', { nullable: '0+' }),
    }),
    /** Leave out entities with more components than asked for. */
    strict: bool('0+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16('0+'),
    errorMessage: string('0+', { nullable: '0+' }),
    /** Null on error. */
    entries: arrayOf(
      '0+',
      {
        entity: arrayOf('0+', {
          entityType: string('0+'),
          entityName: string('0+', { nullable: '0+' }),
        }),
        values: arrayOf('0+', {
          key: string('0+'),
          value: float64('0+'),
        }),
      },
      { nullable: '0+' },
    ),
  },
})

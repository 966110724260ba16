import { api, arrayOf, arrayOfInt32, bool, int16, int32, string } from '../schema.js'

/** CreatePartitions (KIP-195). */
export const CreatePartitions = api({
  key: 37,
  name: 'CreatePartitions',
  versions: '0-3',
  flexible: '2+',
  request: {
    topics: arrayOf('0+', {
      name: string('0+'),
      /** The new total. */
      count: int32('0+'),
      /** Null: the broker chooses. */
      assignments: arrayOf(
        '0+',
        {
          brokerIds: arrayOfInt32('0+'),
        },
        { nullable: '0+' },
      ),
    }),
    timeoutMs: int32('0+'),
    validateOnly: bool('0+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    results: arrayOf('0+', {
      name: string('0+'),
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: '0+', default: null }),
    }),
  },
})

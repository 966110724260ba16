import { api, arrayOf, arrayOfString, int16, int32, NO_UUID, string, uuid } from '../schema.js'

/**
 * DeleteTopics (KIP-4, KIP-516 topic ids).
 * Up to version 5 topics are named in `topicNames`, from 6 on in `topics` by name or, with a null name, by id: give both forms.
 */
export const DeleteTopics = api({
  key: 20,
  name: 'DeleteTopics',
  versions: '1-6',
  flexible: '4+',
  request: {
    topics: arrayOf('6+', {
      name: string('6+', { nullable: '6+', default: null }),
      topicId: uuid('6+', { default: NO_UUID }),
    }),
    topicNames: arrayOfString('0-5'),
    timeoutMs: int32('0+'),
  },
  response: {
    throttleTimeMs: int32('1+', { default: 0 }),
    responses: arrayOf('0+', {
      name: string('0+', { nullable: '6+' }),
      topicId: uuid('6+', { default: NO_UUID }),
      errorCode: int16('0+'),
      errorMessage: string('5+', { nullable: '5+', default: null }),
    }),
  },
})

import { api, arrayOfString, int16, string } from '../schema.js'

/** SaslHandshake (KIP-43, KIP-152). Names the mechanism; version 1 is followed by SaslAuthenticate, version 0 by bare tokens. */
export const SaslHandshake = api({
  key: 17,
  name: 'SaslHandshake',
  versions: '0-1',
  flexible: 'none',
  request: {
    mechanism: string('0+'),
  },
  response: {
    errorCode: int16('0+'),
    mechanisms: arrayOfString('0+'),
  },
})

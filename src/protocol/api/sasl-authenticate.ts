import { api, bytes, int16, int64, string } from '../schema.js'

/** SaslAuthenticate (KIP-152, KIP-368 session lifetime). One step of the mechanism named in SaslHandshake. */
export const SaslAuthenticate = api({
  key: 36,
  name: 'SaslAuthenticate',
  versions: '0-2',
  flexible: '2+',
  request: {
    authBytes: bytes('0+'),
  },
  response: {
    errorCode: int16('0+'),
    errorMessage: string('0+', { nullable: '0+' }),
    authBytes: bytes('0+'),
    /** 0: no need to authenticate again. */
    sessionLifetimeMs: int64('1+', { default: 0n }),
  },
})

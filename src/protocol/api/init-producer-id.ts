import { api, int16, int32, int64, string } from '../schema.js'

/**
 * InitProducerId (KIP-98, KIP-360 to keep an id and raise its epoch). Without a transactional id any broker gives out a new
 * producer id. Version 6 (two-phase commit, KIP-939) is unstable.
 */
export const InitProducerId = api({
  key: 22,
  name: 'InitProducerId',
  versions: '0-5',
  flexible: '2+',
  request: {
    transactionalId: string('0+', { nullable: '0+' }),
    transactionTimeoutMs: int32('0+'),
    /** −1: give out a new one. */
    producerId: int64('3+', { default: -1n }),
    producerEpoch: int16('3+', { default: -1 }),
  },
  response: {
    throttleTimeMs: int32('0+', { default: 0 }),
    errorCode: int16('0+'),
    producerId: int64('0+', { default: -1n }),
    producerEpoch: int16('0+'),
  },
})

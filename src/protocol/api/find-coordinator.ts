import { api, arrayOf, arrayOfString, int8, int16, int32, string } from '../schema.js'

/**
 * FindCoordinator (KIP-98, KIP-699 several keys). Which broker coordinates a group (key type 0) or a transactional id (1).
 * Up to version 3 it is asked for in `key`, from 4 on in `coordinatorKeys`: give both.
 */
export const FindCoordinator = api({
  key: 10,
  name: 'FindCoordinator',
  versions: '0-6',
  flexible: '3+',
  request: {
    key: string('0-3'),
    /** 0 group, 1 transaction, 2 share. */
    keyType: int8('1+', { default: 0 }),
    coordinatorKeys: arrayOfString('4+'),
  },
  response: {
    throttleTimeMs: int32('1+', { default: 0 }),
    errorCode: int16('0-3', { default: 0 }),
    errorMessage: string('1-3', { nullable: '1-3', default: null }),
    nodeId: int32('0-3', { default: 0 }),
    host: string('0-3', { default: '' }),
    port: int32('0-3', { default: 0 }),
    coordinators: arrayOf(
      '4+',
      {
        key: string('4+'),
        nodeId: int32('4+'),
        host: string('4+'),
        port: int32('4+'),
        errorCode: int16('4+'),
        errorMessage: string('4+', { nullable: '4+', default: null }),
      },
      { default: [] },
    ),
  },
})

import { api, arrayOf, bool, int8, int16, int32, string } from '../schema.js'

/** DescribeCluster (KIP-700, KIP-919 endpoint type, KIP-1073 fenced brokers). Brokers have it since 2.8. */
export const DescribeCluster = api({
  key: 60,
  name: 'DescribeCluster',
  versions: '0-2',
  flexible: '0+',
  request: {
    includeClusterAuthorizedOperations: bool('0+'),
    /** 1 brokers, 2 controllers. */
    endpointType: int8('1+', { default: 1 }),
    includeFencedBrokers: bool('2+', { default: false }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16('0+'),
    errorMessage: string('0+', { nullable: '0+', default: null }),
    endpointType: int8('1+', { default: 1 }),
    clusterId: string('0+'),
    controllerId: int32('0+', { default: -1 }),
    brokers: arrayOf('0+', {
      brokerId: int32('0+'),
      host: string('0+'),
      port: int32('0+'),
      rack: string('0+', { nullable: '0+', default: null }),
      isFenced: bool('2+', { default: false }),
    }),
    /** Bit field of AclOperation numbers; the lowest int32: not asked for. */
    clusterAuthorizedOperations: int32('0+', { default: -2147483648 }),
  },
})

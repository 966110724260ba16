import { api, arrayOf, bool, int16, int32, int64, string } from '../schema.js'

/**
 * ApiVersions (KIP-35, KIP-511 client software, KIP-584 features). The first request on each connection.
 * Its response header has no tagged fields in any version. A broker that does not know our version answers in version 0 with
 * UNSUPPORTED_VERSION. Version 5 only lets a broker refuse a client that wants another cluster (KIP-1242), and is not spoken.
 */
export const ApiVersions = api({
  key: 18,
  name: 'ApiVersions',
  versions: '0-4',
  flexible: '3+',
  request: {
    clientSoftwareName: string('3+', { default: '' }),
    clientSoftwareVersion: string('3+', { default: '' }),
  },
  response: {
    errorCode: int16('0+'),
    apiKeys: arrayOf('0+', {
      apiKey: int16('0+'),
      minVersion: int16('0+'),
      maxVersion: int16('0+'),
    }),
    throttleTimeMs: int32('1+', { default: 0 }),
    supportedFeatures: arrayOf(
      '3+',
      {
        name: string('3+'),
        minVersion: int16('3+'),
        maxVersion: int16('3+'),
      },
      { tag: 0, taggedVersions: '3+', default: [] },
    ),
    finalizedFeaturesEpoch: int64('3+', { tag: 1, taggedVersions: '3+', default: -1n }),
    finalizedFeatures: arrayOf(
      '3+',
      {
        name: string('3+'),
        maxVersionLevel: int16('3+'),
        minVersionLevel: int16('3+'),
      },
      { tag: 2, taggedVersions: '3+', default: [] },
    ),
    zkMigrationReady: bool('3+', { tag: 3, taggedVersions: '3+', default: false }),
  },
})

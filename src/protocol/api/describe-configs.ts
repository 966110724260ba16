import { api, arrayOf, arrayOfString, bool, int8, int16, int32, string } from '../schema.js'

/** DescribeConfigs (KIP-133, KIP-226 synonyms, KIP-569 type and documentation). Resource types: 2 topic, 4 broker. */
export const DescribeConfigs = api({
  key: 32,
  name: 'DescribeConfigs',
  versions: '1-4',
  flexible: '4+',
  request: {
    resources: arrayOf('0+', {
      resourceType: int8('0+'),
      resourceName: string('0+'),
      /** Null: all. */
      configurationKeys: arrayOfString('0+', { nullable: '0+' }),
    }),
    includeSynonyms: bool('1+', { default: false }),
    includeDocumentation: bool('3+', { default: false }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    results: arrayOf('0+', {
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: '0+' }),
      resourceType: int8('0+'),
      resourceName: string('0+'),
      configs: arrayOf('0+', {
        name: string('0+'),
        /** Null if sensitive. */
        value: string('0+', { nullable: '0+' }),
        readOnly: bool('0+'),
        /** 1 the topic, 2 and 3 and 4 the broker, 5 built in. */
        configSource: int8('1+', { default: -1 }),
        isSensitive: bool('0+'),
        synonyms: arrayOf(
          '1+',
          {
            name: string('1+'),
            value: string('1+', { nullable: '0+' }),
            source: int8('1+'),
          },
          { default: [] },
        ),
        configType: int8('3+', { default: 0 }),
        documentation: string('3+', { nullable: '0+', default: null }),
      }),
    }),
  },
})

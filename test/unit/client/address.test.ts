import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatAddress, parseAddress, parseBootstrapServers } from '../../../src/client/address.js'

test.each([
  ['broker.example:9092', { host: 'broker.example', port: 9092 }],
  [':9092', { host: 'localhost', port: 9092 }],
  ['[::1]:9092', { host: '::1', port: 9092 }],
  ['[fe80::1%eth0]:1', { host: 'fe80::1%eth0', port: 1 }],
  ['10.0.0.1:65535', { host: '10.0.0.1', port: 65_535 }],
  [' under_score:9092 ', { host: 'under_score', port: 9092 }],
  ['SASL_SSL://broker:9093', { host: 'broker', port: 9093 }],
])('%s', (text, address) => {
  expect(parseAddress(text)).toEqual(address)
})

test.each([
  ['broker', 'the port is missing'],
  ['broker:', 'is not an address'],
  ['broker:kafka', 'is not an address'],
  ['::1:9092', 'an IPv6 address needs brackets'],
  ['[broker]:9092', 'not an IPv6 address'],
  ['broker:0', 'ports go from 1 to 65535'],
  ['broker:65536', 'ports go from 1 to 65535'],
  ['https://broker:9092', 'is a web address'],
  ['user@broker:9092', 'is not an address'],
])('%s is refused', (text, message) => {
  expect(() => parseAddress(text)).toThrow(message)
})

test('lists', () => {
  expect(parseBootstrapServers('a:1, b:2 ,,a:1')).toEqual([
    { host: 'a', port: 1 },
    { host: 'b', port: 2 },
  ])
  expect(() => parseBootstrapServers(' , ')).toThrow('no address given')
})

test('what is printed is read again', () => {
  const host = fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6())
  fc.assert(
    fc.property(host, fc.integer({ min: 1, max: 65_535 }), (host, port) => {
      expect(parseAddress(formatAddress({ host, port }))).toEqual({ host, port })
    }),
  )
})

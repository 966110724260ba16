import fc from 'fast-check'
import { expect, it } from 'vitest'
import { uuidFromBase64, uuidToBase64 } from '../../../src/protocol/index.js'

// Kafka: Uuid.ONE_UUID and new Uuid(0x0123456789abcdefL, 0xfedcba9876543210L).
const PAIRS = [
  ['00000000-0000-0000-0000-000000000001', 'AAAAAAAAAAAAAAAAAAAAAQ'],
  ['01234567-89ab-cdef-fedc-ba9876543210', 'ASNFZ4mrze_-3LqYdlQyEA'],
] as const

it.each(PAIRS)('%s is %s', (uuid, base64) => {
  expect(uuidToBase64(uuid)).toBe(base64)
  expect(uuidFromBase64(base64)).toBe(uuid)
})

it('comes back from base64 as it was', () => {
  fc.assert(fc.property(fc.uuid(), (uuid) => uuidFromBase64(uuidToBase64(uuid)) === uuid))
})

it.each(['', 'AAAA', 'AAAAAAAAAAAAAAAAAAAAAQ==', 'AAAAAAAAAAAAAAAAAAAAA+', 'AAAAAAAAAAAAAAAAAAAAAR'])(
  'refuses %j as a topic id',
  (text) => {
    expect(() => uuidFromBase64(text)).toThrow(RangeError)
  },
)

it('refuses hex text that is not a uuid', () => {
  expect(() => uuidToBase64('0123')).toThrow(RangeError)
})

import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeRequest, decodeResponse, encodeRequest, encodeResponse, ProtocolError } from '../../../src/protocol/index.js'
import { apis, versionsOf } from '../../support/apis.js'
import { arbitraryMessage, asRead } from '../../support/arbitrary-message.js'

const runs = { numRuns: 15 }

const cases = apis.flatMap((api) => [
  {
    name: `${api.name} request`,
    api,
    layout: api.request,
    encode: (version: number, message: object) => Buffer.concat(encodeRequest(api, version, message as never)),
    decode: (version: number, body: Buffer): unknown => decodeRequest(api, version, body),
  },
  {
    name: `${api.name} response`,
    api,
    layout: api.response,
    encode: (version: number, message: object) => Buffer.concat(encodeResponse(api, version, message)),
    decode: (version: number, body: Buffer): unknown => decodeResponse(api, version, body),
  },
])

describe.each(cases)('$name', ({ api, layout, encode, decode }) => {
  const versions = versionsOf(api)

  it('is read as it was written', () => {
    for (const version of versions) {
      const property = fc.property(arbitraryMessage(layout, version, true), (message) => {
        deepStrictEqual(decode(version, encode(version, message)), asRead(layout, message))
      })
      fc.assert(property, runs)
    }
  })

  it('is refused when it ends early', () => {
    for (const version of versions) {
      const property = fc.property(arbitraryMessage(layout, version, false), fc.nat(), (message, at) => {
        const whole = encode(version, message)
        if (whole.length > 0) expect(() => decode(version, whole.subarray(0, at % whole.length))).toThrow(ProtocolError)
      })
      fc.assert(property, runs)
    }
  })

  it('never fails other than with a ProtocolError when bytes are wrong', () => {
    for (const version of versions) {
      const property = fc.property(arbitraryMessage(layout, version, false), fc.nat(), fc.nat(255), (message, at, byte) => {
        const damaged = encode(version, message)
        if (damaged.length > 0) damaged[at % damaged.length] = byte
        try {
          decode(version, damaged)
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError)
        }
      })
      fc.assert(property, runs)
    }
  })
})

it('never fails other than with a ProtocolError on noise', () => {
  const noise = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes))
  const property = fc.property(fc.constantFrom(...cases), fc.nat(), noise, ({ api, decode }, n, body) => {
    const versions = versionsOf(api)
    try {
      decode(versions[n % versions.length]!, body)
    } catch (error) {
      expect(error).toBeInstanceOf(ProtocolError)
    }
  })
  fc.assert(property, { numRuns: 3000 })
})

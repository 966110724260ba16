import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  buildFiller,
  compressionOf,
  fillerCountFor,
  isDense,
  isTransactional,
  nextSequence,
  patchForAppend,
  scanBatches,
} from '../../../src/records/index.js'
import { batch, castagnoli } from '../../support/batches.js'

const int32 = fc.integer({ min: 0, max: 2 ** 31 - 1 })

describe('patching for append', () => {
  it('changes the header only, to what a broker takes', () => {
    fc.assert(
      fc.property(
        fc.record({
          baseOffset: fc.bigInt(0n, 2n ** 63n - 1n),
          leaderEpoch: int32,
          attributes: fc.integer({ min: 0, max: 0x7f }),
          producerId: fc.bigInt(-1n, 2n ** 63n - 1n),
          baseSequence: int32,
          records: fc.integer({ min: 1, max: 20 }),
        }),
        fc.record({ producerId: fc.bigInt(0n, 2n ** 63n - 1n), producerEpoch: fc.integer({ min: 0, max: 32767 }), baseSequence: int32 }),
        (options, stamp) => {
          const before = batch(options)
          const bytes = Buffer.from(before)
          patchForAppend(bytes, stamp)
          const [{ header } = { header: undefined! }] = [...scanBatches(bytes)]
          expect(bytes.subarray(57)).toEqual(before.subarray(57))
          expect(bytes.subarray(23, 43)).toEqual(before.subarray(23, 43))
          expect(bytes.readUInt32BE(17)).toBe(castagnoli(bytes.subarray(21)))
          expect([header.baseOffset, header.leaderEpoch, isTransactional(header)]).toEqual([0n, -1, false])
          expect(header.attributes).toBe(options.attributes & ~0x50)
          const { producerId, producerEpoch, baseSequence } = header
          expect({ producerId, producerEpoch, baseSequence }).toEqual(stamp)
        },
      ),
    )
  })

  it('can be done again with another sequence', () => {
    const bytes = batch({ records: 2 })
    patchForAppend(bytes, { producerId: 1n, producerEpoch: 0, baseSequence: 9 })
    const once = Buffer.from(bytes)
    patchForAppend(bytes, { producerId: 1n, producerEpoch: 0, baseSequence: 10 })
    patchForAppend(bytes, { producerId: 1n, producerEpoch: 0, baseSequence: 9 })
    expect(bytes).toEqual(once)
  })

  it('wraps sequences modulo 2^31', () => {
    expect(nextSequence(-1, 1)).toBe(0)
    expect(nextSequence(2 ** 31 - 1, 1)).toBe(0)
    expect(nextSequence(2 ** 31 - 3, 100)).toBe(97)
    fc.assert(fc.property(int32, int32, (s, n) => nextSequence(s, n) === Number((BigInt(s) + BigInt(n)) % 2n ** 31n)))
  })
})

describe('fillers', () => {
  const stamp = { producerId: 4n, producerEpoch: 0, baseSequence: 7, timestamp: 1700000000000n }

  it.each([1, 2, 63, 64, 65, 8191, 8192, 8193, 100_000])('has %s empty records', (count) => {
    const [filler] = [...scanBatches(buildFiller(count, stamp))]
    const { header, bytes } = filler!
    expect([header.count, isDense(filler!), compressionOf(header), header.baseOffset]).toEqual([count, true, 'gzip', 0n])
    const records = gunzipSync(bytes.subarray(61))
    let at = 0
    let wrong = 0
    for (let i = 0; i < count; i++) {
      const [size, body] = varint(records, at)
      const [delta, rest] = varint(records, body + 2)
      const empty = records[rest] === 1 && records[rest + 1] === 1 && records[rest + 2] === 0
      if (delta !== i || !empty || rest + 3 !== body + size) wrong++
      at = body + size
    }
    expect(wrong).toBe(0)
    expect(at).toBe(records.length)
  })

  it('is sized to the topic', () => {
    for (let limit = 200; limit < 1_200_000; limit = Math.floor(limit * 1.7)) {
      expect(buildFiller(fillerCountFor(limit), stamp).length).toBeLessThanOrEqual(limit)
    }
    expect([fillerCountFor(1), fillerCountFor(1_048_588)]).toEqual([1, 100_000])
    expect(() => buildFiller(100_001, stamp)).toThrow(RangeError)
  })
})

function varint(bytes: Buffer, start: number): [value: number, next: number] {
  let value = 0
  let at = start
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++]!
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) return [(value >>> 1) ^ -(value & 1), at]
  }
}

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compressionOf,
  controlTypeOf,
  isControl,
  isDense,
  isTransactional,
  lastOffset,
  nextOffset,
  readBatchHeader,
  scanBatches,
  usesLogAppendTime,
} from '../../../src/records/index.js'
import { batch, controlBatch, oldMessage } from '../../support/batches.js'

const scan = (bytes: Buffer) => [...scanBatches(bytes)]
const OFFSETS = [0n, 1n, 2n ** 31n, 2n ** 32n + 7n, 2n ** 53n - 1n, 2n ** 53n + 1n, 2n ** 62n]

describe('a batch header', () => {
  it('reads every field in place', () => {
    const bytes = batch({
      baseOffset: 2n ** 40n,
      leaderEpoch: 9,
      attributes: 0b101_0011,
      timestamp: 1234n,
      producerId: 77n,
      producerEpoch: 5,
      baseSequence: 6,
      records: 3,
    })
    const header = readBatchHeader(bytes, 0)
    const { baseOffset, size, magic, leaderEpoch, attributes, lastOffsetDelta, baseTimestamp, maxTimestamp, producerId } = header
    expect({ baseOffset, size, magic, leaderEpoch, attributes, lastOffsetDelta, baseTimestamp, maxTimestamp, producerId }).toEqual({
      baseOffset: 2n ** 40n,
      size: bytes.length,
      magic: 2,
      leaderEpoch: 9,
      attributes: 0b101_0011,
      lastOffsetDelta: 2,
      baseTimestamp: 1234n,
      maxTimestamp: 1234n,
      producerId: 77n,
    })
    expect([header.producerEpoch, header.baseSequence, header.count]).toEqual([5, 6, 3])
    expect([isTransactional(header), isControl(header), usesLogAppendTime(header)]).toEqual([true, false, false])
    expect([compressionOf(header), lastOffset(header), nextOffset(header)]).toEqual(['lz4', 2n ** 40n + 2n, 2n ** 40n + 3n])
  })

  it.each(OFFSETS)('keeps base offset %s exact', (baseOffset) => {
    expect(scan(batch({ baseOffset }))[0]!.header.baseOffset).toBe(baseOffset)
  })

  it.each([
    ['an unknown magic', (b: Buffer) => b.writeInt8(3, 16), /offset 5: unknown magic 3/],
    ['a size below the header', (b: Buffer) => b.writeInt32BE(20, 8), /too few for magic 2/],
    ['a negative size', (b: Buffer) => b.writeInt32BE(-5, 8), /too few/],
    ['more records than offsets', (b: Buffer) => b.writeInt32BE(9, 57), /9 records in 1 offsets/],
    ['a negative count', (b: Buffer) => b.writeInt32BE(-1, 57), /-1 records/],
  ])('refuses %s', (_, damage, message) => {
    const bytes = batch({ baseOffset: 5n })
    damage(bytes)
    expect(() => scan(bytes)).toThrow(message)
  })
})

describe('scanning', () => {
  it('yields each batch as a view and ends at a partial one', () => {
    const whole = [
      batch({ baseOffset: 10n, records: 5 }),
      batch({ baseOffset: 15n, records: 1 }),
      batch({ baseOffset: 16n, valueSize: 500 }),
    ]
    const set = Buffer.concat(whole)
    fc.assert(
      fc.property(fc.integer({ min: 0, max: set.length }), (length) => {
        const cut = set.subarray(0, length)
        const batches = scan(cut)
        const ends = whole.map((_, i) => Buffer.concat(whole.slice(0, i + 1)).length)
        const expected = whole.filter((_, i) => ends[i]! <= length)
        expect(batches.map((b) => b.bytes)).toEqual(expected)
        for (const b of batches) expect(b.bytes.buffer).toBe(set.buffer)
      }),
    )
  })

  it('finds any one-byte change in what the CRC covers, and in the CRC', () => {
    const bytes = batch({ baseOffset: 3n, records: 4 })
    fc.assert(
      fc.property(fc.integer({ min: 17, max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const damaged = Buffer.from(bytes)
        damaged[at]! ^= change
        expect(() => scan(damaged)).toThrow(/corrupt batch at offset 3/)
      }),
      { numRuns: 1000 },
    )
  })

  it('yields old messages, and finds damage in them too', () => {
    const set = Buffer.concat([oldMessage(7n, 0), oldMessage(8n, 1)])
    expect(scan(set).map(({ header }) => [header.magic, header.baseOffset, lastOffset(header), header.producerId])).toEqual([
      [0, 7n, 7n, -1n],
      [1, 8n, 8n, -1n],
    ])
    set[set.length - 1]! ^= 1
    expect(() => scan(set)).toThrow(/offset 8: its CRC/)
  })

  it('tells dense from thinned batches and what a control batch says', () => {
    expect(scan(batch({ records: 3 })).map(isDense)).toEqual([true])
    expect(scan(batch({ deltas: [0, 2] })).map(isDense)).toEqual([false])
    expect([0, 1, 2].flatMap((type) => scan(controlBatch(0n, 1n, type)).map(controlTypeOf))).toEqual(['abort', 'commit', 'other'])
  })

  it('gives nothing for an empty set', () => expect(scan(Buffer.alloc(0))).toEqual([]))
})

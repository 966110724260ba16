import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { At } from '../../../src/records/batch.js'
import { crc32c } from '../../../src/records/crc.js'
import { decodeRecords, encodeBatch } from '../../../src/records/record-codec.js'
import { scanBatches } from '../../../src/records/scan.js'
import { RecordReader, varint } from '../../../src/records/varint.js'
import { batch as independentBatch } from '../../support/batches.js'

const bytes = fc.option(fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)))
const record = fc.record({ key: bytes, value: bytes, headers: fc.array(fc.tuple(fc.string(), bytes), { maxLength: 4 }) })
const decode = (batch: Buffer) => [...scanBatches(batch)].flatMap((each) => [...decodeRecords(each)])

function gzipped(batch: Buffer): Buffer {
  const result = Buffer.concat([batch.subarray(0, At.records), gzipSync(batch.subarray(At.records))])
  result.writeInt32BE(result.length - 12, At.batchLength)
  result.writeInt16BE(1, At.attributes)
  result.writeUInt32BE(crc32c(result.subarray(At.attributes)), At.crc)
  return result
}

describe('encodeBatch and decodeRecords', () => {
  it('give back every key, value and header, null and empty apart, plain and gzipped', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 20 }), fc.bigInt({ min: -1n, max: 1n << 50n }), (records, timestamp) => {
        const batch = encodeBatch(records, { timestamp, producerId: 1n << 62n, producerEpoch: 3, baseSequence: 7 })
        const expected = records.map((each, i) => ({ ...each, offset: BigInt(i), timestamp }))
        expect(decode(batch)).toEqual(expected)
        expect(decode(gzipped(batch))).toEqual(expected)
      }),
    )
  })

  it('reads a batch that someone else wrote and compaction thinned', () => {
    const decoded = decode(independentBatch({ baseOffset: 100n, deltas: [0, 3, 4], lastOffsetDelta: 9 }))
    expect(decoded.map(({ offset, key }) => [offset, key?.toString()])).toEqual([
      [100n, 'k0'],
      [103n, 'k3'],
      [104n, 'k4'],
    ])
  })

  it('shows the append time where the broker set it', () => {
    const batch = encodeBatch([{ key: null, value: null }], { timestamp: 5n })
    batch.writeInt16BE(8, At.attributes)
    batch.writeBigInt64BE(99n, At.maxTimestamp)
    batch.writeUInt32BE(crc32c(batch.subarray(At.attributes)), At.crc)
    expect(decode(batch)[0]?.timestamp).toBe(99n)
  })

  it('refuses a codec it cannot read and records that end early', () => {
    expect(() => decode(independentBatch({ attributes: 4 }))).toThrow(/zstd/)
    const short = independentBatch({ records: 2 })
    short.writeInt32BE(2, At.lastOffsetDelta)
    short.writeInt32BE(3, At.count)
    short.writeUInt32BE(crc32c(short.subarray(At.attributes)), At.crc)
    expect(() => decode(short)).toThrow(/ends early/)
  })
})

describe('varint', () => {
  it('is exact over the safe range', () => {
    fc.assert(
      fc.property(fc.integer({ min: -(2 ** 52), max: 2 ** 52 }), (value) => {
        expect(new RecordReader(varint(value)).varint()).toBe(value)
      }),
    )
    expect(new RecordReader(varint(-1)).varint()).toBe(-1)
    expect(varint(-64)).toEqual(Buffer.from([0x7f]))
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compress } from '../../../src/records/codecs.js'
import {
  At,
  compressionAttribute,
  compressionOf,
  MERGED_BYTES,
  mergeBatches,
  mergeKeyOf,
  patchForAppend,
  scanBatches,
} from '../../../src/records/index.js'
import { decodeRecords, encodeBatch, type NewRecord } from '../../../src/records/record-codec.js'
import { writeBatch } from '../../support/batch-writer.js'
import { batch } from '../../support/batches.js'

const bytes = fc.option(fc.uint8Array({ maxLength: 80 }).map((value) => Buffer.from(value)))
const record: fc.Arbitrary<NewRecord> = fc.record({
  key: bytes,
  value: bytes,
  headers: fc.array(fc.tuple(fc.string({ maxLength: 5 }), bytes), { maxLength: 3 }),
})
const timestamp = fc.oneof(fc.bigInt({ min: 1_600_000_000_000n, max: 1_900_000_000_000n }), fc.constant(-1n), fc.constant(0n))
const source = fc.record({ timestamp, records: fc.array(record, { minLength: 1, maxLength: 20 }) })

const stamp = { producerId: 7n, producerEpoch: 0, baseSequence: 3 }

/** What a reader sees of one batch that was put at `baseOffset`. */
function contentOf(appended: Buffer, baseOffset: bigint) {
  const copy = Buffer.from(appended)
  patchForAppend(copy, stamp)
  copy.writeBigInt64BE(baseOffset, At.baseOffset)
  const [only, ...more] = scanBatches(copy)
  expect(more).toEqual([])
  return { header: only!.header, records: [...decodeRecords(only!)] }
}

describe('merging small neighbours', () => {
  it('changes no record: offset, time, key, value and headers are those of the batches one by one', () => {
    fc.assert(
      fc.property(fc.array(source, { minLength: 1, maxLength: 8 }), (sources) => {
        const batches = sources.map(({ records, timestamp }) => encodeBatch(records, { timestamp }))
        let offset = 1n << 40n
        const expected = batches.flatMap((one) => {
          const { records } = contentOf(one, offset)
          offset += BigInt(records.length)
          return records
        })
        const merged = contentOf(mergeBatches(batches)!, 1n << 40n)
        expect(merged.records).toEqual(expected)
        expect(merged.header.count).toBe(expected.length)
        expect(merged.header.lastOffsetDelta).toBe(expected.length - 1)
        expect(merged.header.maxTimestamp).toBe(sources.map((one) => one.timestamp).sort((a, b) => (a < b ? 1 : -1))[0])
      }),
    )
  })

  it('takes batches of another writer, and only small plain ones of format 2', () => {
    const one = batch({ records: 3 })
    expect(contentOf(mergeBatches([one, batch({ records: 2 })])!, 0n).records.map(({ offset }) => offset)).toEqual([0n, 1n, 2n, 3n, 4n])
    expect(mergeKeyOf(one)).toBe(0)
    expect(mergeKeyOf(batch({ attributes: 0x10 }))).toBe(0)
    for (const codec of [1, 2, 3, 4]) expect(mergeKeyOf(batch({ attributes: codec }))).toBe(codec)
    expect(mergeKeyOf(batch({ attributes: 8 }))).toBeUndefined()
    expect(mergeKeyOf(batch({ valueSize: MERGED_BYTES }))).toBeUndefined()
    expect(mergeKeyOf(batch({ valueSize: 4_000 }))).toBe(0)
    expect(mergeKeyOf(batch({ valueSize: 4_000, attributes: 1 }))).toBeUndefined()
  })

  it('takes the latest time from the records, also of a batch whose base time is a delete horizon', () => {
    const record = { timestamp: 1_700_000_000_000n, key: Buffer.from('k'), value: null, headers: [] }
    const options = { baseOffset: 0n, records: [[0, record]] as const, lastOffsetDelta: 0 }
    const merged = mergeBatches([writeBatch({ ...options, deleteHorizon: 1_800_000_000_000n }), writeBatch(options)])!
    expect(contentOf(merged, 0n).header.maxTimestamp).toBe(1_700_000_000_000n)
  })

  it.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)('opens batches in %s and writes them again as one', (compression) => {
    const compressed = (records: number) => {
      const plain = batch({ records, timestamp: 1_700_000_000_000n + BigInt(records) })
      const body = compress(compression, plain.subarray(At.records))
      const bytes = Buffer.concat([plain.subarray(0, At.records), body])
      bytes.writeInt32BE(bytes.length - 12, At.batchLength)
      bytes[At.attributes + 1] = compressionAttribute(compression)
      return bytes
    }
    const [one, two, three] = [compressed(3), compressed(1), compressed(2)]
    const { header, records } = contentOf(mergeBatches([Buffer.concat([one, two]), three])!, 7n)
    expect([compressionOf(header), header.count]).toEqual([compression, 6])
    expect(records.map(({ offset }) => offset)).toEqual([7n, 8n, 9n, 10n, 11n, 12n])
    expect(records.map(({ timestamp }) => Number(timestamp - 1_700_000_000_000n))).toEqual([3, 3, 3, 1, 2, 2])
    expect(records.map(({ key }) => String(key))).toEqual(['k0', 'k1', 'k2', 'k0', 'k0', 'k1'])
    one.fill(0xff, At.records)
    expect(mergeBatches([one, two])).toBeUndefined()
  })

  it('gives up where a record does not end as its batch says, instead of writing something else', () => {
    const whole = batch({ records: 2 })
    for (let at = At.records; at < whole.length; at++) {
      for (const value of [0, 0x7f, 0x80, 0xff]) {
        const broken = Buffer.from(whole)
        broken[at] = value
        const merged = mergeBatches([broken, whole])
        if (merged !== undefined) expect(merged.readInt32BE(At.count)).toBe(4)
      }
    }
    expect(mergeBatches([whole.subarray(0, whole.length - 1), whole])).toBeUndefined()
    const far = batch({ timestamp: 1n << 60n })
    expect(mergeBatches([batch(), far])).toBeUndefined()
    expect(mergeBatches([far, far])).toBeUndefined()
    for (const [one, other] of [
      [9_000_000_000_000_000n, 0n],
      [5_000_000_000_000_000n, -1n],
    ] as const)
      expect(mergeBatches([batch({ timestamp: one }), batch({ timestamp: other })])).toBeUndefined()
  })
})

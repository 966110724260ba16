import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { At, isMergeable, MERGED_BYTES, mergeBatches, patchForAppend, scanBatches } from '../../../src/records/index.js'
import { decodeRecords, encodeBatch, type NewRecord } from '../../../src/records/record-codec.js'
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
    expect(isMergeable(one)).toBe(true)
    expect(isMergeable(batch({ attributes: 0x10 }))).toBe(true)
    for (const attributes of [1, 2, 3, 4, 8]) expect(isMergeable(batch({ attributes }))).toBe(false)
    expect(isMergeable(batch({ valueSize: MERGED_BYTES }))).toBe(false)
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
    const far = batch()
    far.writeBigInt64BE(1n << 60n, At.baseTimestamp)
    expect(mergeBatches([batch(), far])).toBeUndefined()
  })
})

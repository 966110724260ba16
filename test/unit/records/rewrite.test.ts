import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compress } from '../../../src/records/codecs.js'
import { At, type Batch, type Compression, compressionAttribute, isDense, PREFIX_SIZE, scanBatches } from '../../../src/records/index.js'
import { type OpenRecord, openRecords } from '../../../src/records/open-records.js'
import { reEncode } from '../../../src/records/re-encode.js'
import { decodeRecords } from '../../../src/records/record-codec.js'
import { rewrite } from '../../../src/records/rewrite.js'
import type { AppendStep, Step } from '../../../src/records/steps.js'
import { batch, castagnoli, type TestBatch } from '../../support/batches.js'

type Codec = Exclude<Compression, 'unknown'>
const codec = fc.constantFrom<Codec>('none', 'gzip', 'snappy', 'lz4', 'zstd')

/** The batch with its records compressed and header fields changed. */
function altered(options: TestBatch, compression: Codec, change: (bytes: Buffer) => void = () => {}): Buffer {
  const plain = batch(options)
  const bytes = Buffer.concat([plain.subarray(0, At.records), compress(compression, plain.subarray(At.records))])
  bytes.writeInt32BE(bytes.length - PREFIX_SIZE, At.batchLength)
  bytes.writeInt16BE(bytes.readInt16BE(At.attributes) | compressionAttribute(compression), At.attributes)
  change(bytes)
  bytes.writeUInt32BE(castagnoli(bytes.subarray(At.attributes)), At.crc)
  return bytes
}

const one = (bytes: Buffer): Batch => [...scanBatches(bytes)][0]!
/** The batches in the appends: scanning checks their CRC. */
const appended = (steps: readonly Step[]) =>
  steps.filter((step): step is AppendStep => step.kind === 'append').map((step) => ({ step, batch: one(step.bytes) }))
const text = ({ offset, timestamp, content }: OpenRecord) => `${offset} ${timestamp} ${content.toString('latin1')}`
const records = (batches: readonly Batch[]) => batches.flatMap((each) => [...openRecords(each)].map(text))

describe('rewriting a batch', () => {
  it('keeps every record from an offset on, at its offset, in batches that a broker takes', () => {
    const thinned = fc.record({
      deltas: fc.uniqueArray(fc.nat(300), { minLength: 1, maxLength: 60 }).map((deltas) => deltas.sort((a, b) => a - b)),
      more: fc.nat(5),
      valueSize: fc.nat(80),
      appendTime: fc.boolean(),
    })
    fc.assert(
      fc.property(
        thinned,
        codec,
        fc.nat(350),
        fc.integer({ min: 300, max: 4000 }),
        ({ deltas, more, valueSize, appendTime }, name, cut, limit) => {
          const options = {
            baseOffset: 1000n,
            deltas,
            valueSize,
            lastOffsetDelta: deltas.at(-1)! + more,
            attributes: appendTime ? 8 : 0x50,
          }
          const source = one(altered(options, name, (bytes) => appendTime && bytes.writeBigInt64BE(5n, At.maxTimestamp)))
          const end = 1000n + BigInt(options.lastOffsetDelta + 1)
          const from = 1000n + BigInt(Math.min(cut, options.lastOffsetDelta))
          const steps = rewrite(source, from, limit)
          let next = from
          for (const step of steps) {
            if (step.kind === 'refuse') throw new Error(step.reason)
            expect(step.baseOffset).toBe(next)
            next += BigInt(step.count)
          }
          expect(next).toBe(end)
          const all = appended(steps)
          for (const { step, batch } of all) {
            const { header } = batch
            expect(step.size).toBeLessThanOrEqual(limit)
            expect([step.size, isDense(batch), step.rewritten]).toEqual([step.bytes.length, true, true])
            expect([header.baseOffset, header.count, header.leaderEpoch]).toEqual([step.baseOffset, step.count, 3])
            expect([header.attributes, header.producerId]).toEqual([compressionAttribute(name), -1n])
            expect([header.baseTimestamp, header.maxTimestamp]).toEqual(appendTime ? [5n, 5n] : [1700000000000n, 1700000000000n])
          }
          expect(records(all.map(({ batch }) => batch))).toEqual(records([source]).filter((line) => BigInt(line.split(' ')[0]!) >= from))
        },
      ),
    )
  })

  it('gives back any timestamps exactly, and the largest in the header', () => {
    const stamp = fc.oneof(fc.bigInt({ min: -1n, max: 4n }), fc.bigInt({ min: -1n, max: (1n << 63n) - 1n }))
    fc.assert(
      fc.property(fc.array(stamp, { minLength: 1, maxLength: 8 }), codec, (stamps, name) => {
        const source = one(altered({ baseOffset: 0n, records: 1 }, 'none'))
        const [record] = [...openRecords(source)]
        const opened = stamps.map((timestamp, i) => ({ ...record!, offset: BigInt(i), timestamp }))
        const pieces = [...reEncode(opened, { compression: name, leaderEpoch: 1 }, 1_000_000)]
        expect(pieces.map(({ count }) => count)).toEqual([stamps.length])
        const written = one(pieces[0]!.bytes)
        expect([...openRecords(written)].map(({ timestamp }) => timestamp)).toEqual(stamps)
        expect(written.header.maxTimestamp).toBe([...stamps].sort((a, b) => (a < b ? 1 : -1))[0])
      }),
    )
  })

  it('loses nothing of header keys that are no text', () => {
    const key = Buffer.from([0xff, 0xfe])
    const body = Buffer.concat([Buffer.from([0, 0, 0, 1, 1, 2, 4]), key, Buffer.from([1])])
    const record = Buffer.concat([Buffer.from([body.length * 2]), body])
    const bytes = Buffer.concat([batch({ baseOffset: 9n }).subarray(0, At.records), record])
    bytes.writeInt32BE(bytes.length - PREFIX_SIZE, At.batchLength)
    bytes.writeInt16BE(8, At.attributes)
    bytes.writeUInt32BE(castagnoli(bytes.subarray(At.attributes)), At.crc)
    const [step] = rewrite(one(bytes), 9n, 1000) as [AppendStep]
    expect(step.bytes.subarray(At.records)).toEqual(record)
  })

  it('refuses a record that is too large alone, with its offset, size and limit, after the pieces before it', () => {
    const large = one(altered({ baseOffset: 20n, records: 4, valueSize: 100 }, 'none'))
    expect(appended(rewrite(large, 20n, 300)).map(({ step }) => [step.baseOffset, step.count])).toEqual([
      [20n, 2],
      [22n, 2],
    ])
    const steps = rewrite(large, 20n, 170)
    expect(steps).toEqual([
      { kind: 'refuse', baseOffset: 20n, reason: expect.stringMatching(/offset 20 takes 172 bytes .* max.message.bytes=170/) },
    ])
  })

  it('leaves a record uncompressed that fits only so', () => {
    const large = one(altered({ baseOffset: 20n, records: 2, valueSize: 10 }, 'gzip'))
    const [first] = appended(rewrite(large, 20n, 90))
    expect([first!.step.count, first!.batch.header.attributes]).toEqual([1, 0])
  })

  it('splits what Kafka itself wrote, in every codec and format', () => {
    const COMPRESSED = JSON.parse(readFileSync(new URL('./fixtures/compressed.json', import.meta.url), 'utf8')) as Record<string, string>
    for (const name of Object.keys(COMPRESSED).filter((each) => each.startsWith('java'))) {
      const source = one(Buffer.from(COMPRESSED[name]!, 'base64'))
      const all = appended(rewrite(source, 1100n, 3000))
      expect(all.length).toBeGreaterThan(1)
      expect(records(all.map(({ batch }) => batch)), name).toEqual(records([source]).slice(100))
      expect(all.flatMap(({ batch }) => [...decodeRecords(batch)]).length, name).toBe(300)
    }
  })
})

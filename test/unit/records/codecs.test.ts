import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compress, decompress, MAX_OPENED_BYTES } from '../../../src/records/codecs.js'
import { compressionOf, scanBatches } from '../../../src/records/index.js'
import { type DecodedRecord, decodeRecords, type RecordHeaders } from '../../../src/records/record-codec.js'
import { zstdBound } from '../../../src/records/zstd-frames.js'
import { batch } from '../../support/batches.js'

/**
 * In base64: batches with the same 400 records from Kafka's own Java library 2.8.2 (at offset 1000) and from franz-go as a broker stored
 * them (at 0), and the same text as the lz4 and zstd tools wrote it.
 */
const COMPRESSED = JSON.parse(readFileSync(new URL('./fixtures/compressed.json', import.meta.url), 'utf8')) as Record<string, string>
const bytesOf = (name: string) => Buffer.from(COMPRESSED[name]!, 'base64')
const names = (pattern: RegExp) => Object.keys(COMPRESSED).filter((name) => pattern.test(name))

const repeat = (text: string, times: number) => Buffer.from(text.repeat(times))
const written = (i: number) => ({
  key: i % 5 === 0 ? null : i % 5 === 1 ? Buffer.alloc(0) : Buffer.from(`key-${i}`),
  value: i % 7 === 0 ? null : repeat(`line ${i} of the captured log, `, i % 20),
})
const headers = (i: number): RecordHeaders =>
  i % 3 === 0
    ? [
        ['trace', Buffer.from(`t${i}`)],
        ['trace', null],
        ['', Buffer.alloc(0)],
      ]
    : []

/** Buffers compared one by one are slow. */
const text = ({ offset, timestamp, key, value, headers }: DecodedRecord) =>
  `${offset} ${timestamp} ${[key, value, ...headers.flat()].map((part) => (part === null ? 'null' : `<${part.toString()}>`)).join(' ')}`

describe('batches that other clients compressed', () => {
  it.each(names(/magic/))('%s', (name) => {
    const [, , magic] = /(.*) magic (\d)/.exec(name)!
    const batches = [...scanBatches(bytesOf(name))]
    expect(compressionOf(batches[0]!.header)).toBe(name.split(' ').at(-1))
    const first = name.startsWith('java') ? 1000 : 0
    const expected = Array.from({ length: 400 }, (_, i) => {
      const timestamp = magic === '0' ? -1n : 1_700_000_000_000n + BigInt(i * 1000)
      return { offset: BigInt(first + i), timestamp, ...written(i), headers: magic === '2' ? headers(i) : [] }
    })
    expect(batches.flatMap((each) => [...decodeRecords(each)]).map(text)).toEqual(expected.map(text))
  })
})

describe('decompress', () => {
  const text = Array.from({ length: 20_000 }, (_, i) => `line ${i % 50} of the text, `).join('')

  it.each(names(/blocks|zstd (streamed|two|content)/))('opens %s', (name) => {
    expect(decompress(name.startsWith('lz4') ? 'lz4' : 'zstd', bytesOf(name), 2).toString()).toBe(text)
  })

  it('opens snappy-java streams that follow each other', () => {
    const [a, b] = [compress('snappy', Buffer.from('one ')), compress('snappy', Buffer.from('two'))]
    expect(decompress('snappy', Buffer.concat([a, b]), 2).toString()).toBe('one two')
  })

  it('gives back what compress was given', () => {
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.uint8Array({ minLength: 1, maxLength: 9 }).map((a) => repeat(Buffer.from(a).toString('latin1'), 20_000)),
    )
    const codec = fc.constantFrom('none' as const, 'gzip' as const, 'snappy' as const, 'lz4' as const, 'zstd' as const)
    fc.assert(
      fc.property(codec, content, (name, array) => {
        const bytes = Buffer.from(array)
        expect(decompress(name, compress(name, bytes), 2).equals(bytes)).toBe(true)
      }),
    )
  })

  it('throws, whatever is damaged, or gives something else, but never hangs or crashes', () => {
    const codec = fc.constantFrom('gzip' as const, 'snappy' as const, 'lz4' as const, 'zstd' as const)
    fc.assert(
      fc.property(codec, fc.nat(), fc.integer({ min: 1, max: 255 }), fc.boolean(), (name, place, change, cut) => {
        const bytes = compress(name, repeat('some text ', 5000))
        const at = place % bytes.length
        bytes[at]! ^= change
        try {
          decompress(name, cut ? bytes.subarray(0, at) : bytes, place % 2)
        } catch (error) {
          expect(error).toBeInstanceOf(Error)
        }
      }),
    )
  })

  it('knows how much zstd frames hold before it opens them', () => {
    for (const name of names(/zstd (streamed|two|content)/)) {
      expect(zstdBound(bytesOf(name))).toBeGreaterThanOrEqual(text.length)
      expect(zstdBound(bytesOf(name))).toBeLessThan(text.length + 6 * (128 << 10))
    }
    const zeros = compress('zstd', Buffer.alloc(1 << 20))
    expect(zstdBound(zeros)).toBeGreaterThanOrEqual(1 << 20)
  })

  it('does not open what would fill the memory', () => {
    // A frame header without a size, then blocks of one byte repeated 128 KiB times each.
    const block = Buffer.from([0x02, 0x00, 0x10, 7])
    const bomb = Buffer.concat([Buffer.from('28b52ffd0058', 'hex'), ...Array.from({ length: 8000 }, () => block), Buffer.from([1, 0, 0])])
    expect(() => decompress('zstd', bomb, 2)).toThrow(`more than ${MAX_OPENED_BYTES} bytes`)
    expect(() => decompress('snappy', Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0]), 2)).toThrow(`more than ${MAX_OPENED_BYTES} bytes`)
  })
})

describe('a batch that cannot be opened', () => {
  it.each([
    [1, 'gzip'],
    [2, 'snappy'],
    [3, 'lz4'],
    [4, 'zstd'],
    [6, '6 \\(unknown\\)'],
  ])('with codec %i names it and its offset', (attributes, codec) => {
    const [one] = scanBatches(batch({ baseOffset: 77n, attributes }))
    expect(() => [...decodeRecords(one!)]).toThrow(new RegExp(`corrupt batch at offset 77: its codec ${codec} can't be opened: .`))
  })
})

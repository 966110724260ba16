import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { CorruptBatchError } from '../../../src/records/batch.js'
import { scanBatches } from '../../../src/records/scan.js'
import { contentOf } from '../../../src/service/verify/record-content.js'
import { recordsOf } from '../../../src/service/verify/record-cursor.js'
import { type LogRecord, type OldCodec, type OldMessages, writeOldMessages } from '../../support/batch-writer.js'

const CAPTURED: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL('../records/fixtures/compressed.json', import.meta.url), 'utf8'),
)

const message = (key: string | null, value: string | null, timestamp: bigint): LogRecord => ({
  timestamp,
  key: key === null ? null : Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
  headers: [],
})
/** Thinned, far up, with everything a length can be: null, none, more than one byte of varint. */
const RECORDS: OldMessages['records'] = [
  [2n ** 40n, message(null, 'a', 1_000n)],
  [2n ** 40n + 3n, message('', '', 3_000n)],
  [2n ** 40n + 4n, message('k', null, -1n)],
  [2n ** 40n + 99n, message('long', 'x'.repeat(70_000), 2_000n)],
]

/** What the verifying reader finds, offsets from 2^40 on. */
function read(bytes: Buffer, origin = 2n ** 40n) {
  const found: unknown[] = []
  for (const batch of scanBatches(bytes)) {
    for (const cursor = recordsOf(batch, origin); cursor.next(); ) {
      const { key, value, headers } = contentOf(cursor)
      found.push([cursor.offset, cursor.timestamp, key?.toString() ?? null, value?.toString() ?? null, headers])
    }
  }
  return found
}

const expected = (timestampOf: (record: LogRecord) => bigint) =>
  RECORDS.map(([offset, record]) => [
    Number(offset - 2n ** 40n),
    Number(timestampOf(record)),
    record.key?.toString() ?? null,
    record.value?.toString() ?? null,
    [],
  ])

describe('old messages, read to be verified', () => {
  const codecs: OldCodec[] = ['none', 'gzip', 'snappy', 'lz4']

  it.each(codecs)('of magic 0 have their offsets as they stand, and no time (%s)', (codec) => {
    expect(read(Buffer.concat(writeOldMessages({ magic: 0, records: RECORDS, codec })))).toEqual(expected(() => -1n))
  })

  it.each(codecs)('of magic 1 have offsets counted back from the wrapper, and their own times (%s)', (codec) => {
    expect(read(Buffer.concat(writeOldMessages({ magic: 1, records: RECORDS, codec })))).toEqual(expected(({ timestamp }) => timestamp))
  })

  it.each(codecs)('have the append time of the message or wrapper where the broker stamped it (%s)', (codec) => {
    const bytes = Buffer.concat(writeOldMessages({ magic: 1, records: RECORDS, codec, appendTime: 77_000n }))
    expect(read(bytes)).toEqual(expected(() => 77_000n))
  })

  it.each(['magic 0 gzip', 'magic 0 snappy', 'magic 0 lz4', 'magic 1 gzip', 'magic 1 snappy', 'magic 1 lz4'])(
    'are found in a wrapper of a Java client as in its v2 batch (%s)',
    (name) => {
      const old = read(Buffer.from(CAPTURED[`java 2.8.2 ${name}`]!, 'base64'), 1_000n) as unknown[][]
      const modern = read(Buffer.from(CAPTURED['java 2.8.2 magic 2 gzip']!, 'base64'), 1_000n) as unknown[][]
      expect(old).toHaveLength(400)
      // Headers came with v2, times with magic 1.
      const shared = name.startsWith('magic 0') ? [0, 2, 3] : [0, 1, 2, 3]
      const part = (rows: unknown[][]) => rows.map((row) => shared.map((i) => row[i]))
      expect(part(old)).toEqual(part(modern))
    },
  )

  it('that do not add up are said to be corrupt', () => {
    const [wrapper] = writeOldMessages({ magic: 1, records: RECORDS.slice(0, 2), codec: 'gzip' })
    const [batch] = scanBatches(wrapper!)
    // The CRC was looked at before: from here on only the reader itself can notice.
    batch!.bytes.writeInt32BE(100_000, 30)
    expect(() => recordsOf(batch!, 0n).next()).toThrow(CorruptBatchError)
    const [plain] = scanBatches(writeOldMessages({ magic: 0, records: RECORDS.slice(0, 1), codec: 'none' })[0]!)
    plain!.bytes.writeInt32BE(1_000, 18)
    expect(() => recordsOf(plain!, 0n).next()).toThrow(CorruptBatchError)
    plain!.bytes[17] = 1
    expect(() => recordsOf(plain!, 0n).next()).toThrow(CorruptBatchError)
  })
})

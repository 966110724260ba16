import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type LogRecord, markerRecord, writeBatch, writeOldMessages } from '../../support/batch-writer.js'
import type { Codec } from '../../support/codecs.js'
import { batchOf, compared, delivery, type Log, record } from './verify-logs.js'

const bytes = fc.option(fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)))
const timestamp = fc.oneof(
  { weight: 8, arbitrary: fc.bigInt({ min: 1_600_000_000_000n, max: 1_800_000_000_000n }) },
  { weight: 1, arbitrary: fc.constant(-1n) },
  { weight: 1, arbitrary: fc.bigInt({ min: 2n ** 55n, max: 2n ** 62n }) },
)
const anyRecord: fc.Arbitrary<LogRecord> = fc.record({
  timestamp,
  key: bytes,
  value: bytes,
  headers: fc.array(
    fc.tuple(
      fc.uint8Array({ maxLength: 5 }).map((array) => Buffer.from(array)),
      bytes,
    ),
    { maxLength: 3 },
  ),
})

/** A log with holes. */
const log: fc.Arbitrary<Log> = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 3 }), anyRecord), { minLength: 1, maxLength: 30 })
  .map((steps) => {
    const records = new Map<number, LogRecord>()
    let next = 0
    for (const [hole, each] of steps) {
      records.set(next + hole, each)
      next += hole + 1
    }
    return records
  })

const codec = fc.constantFrom<Codec>('none', 'none', 'none', 'gzip', 'snappy', 'lz4', 'zstd')
/** How a log is cut into batches and record sets: the size of each batch, its codec, and whether a fetch ended after it. */
const cuts = fc.infiniteStream(fc.record({ size: fc.integer({ min: 1, max: 8 }), codec, ends: fc.boolean() }))

type Cuts = typeof cuts extends fc.Arbitrary<infer T> ? T : never

function deliveries(of: Log, end: number, cutting: Cuts) {
  const sets: Buffer[][] = [[]]
  for (let from = 0; from < end; ) {
    const { value } = cutting.next()
    const to = Math.min(end, from + value.size)
    sets.at(-1)!.push(batchOf(of, from, to, { codec: value.codec }))
    if (value.ends && to < end) sets.push([])
    from = to
  }
  return sets.map((set) => delivery(set))
}

const endOf = (of: Log) => Math.max(...of.keys()) + 1
const whole = (end: number) => ({ from: 0n, to: BigInt(end) })

/** Every way in which one record can be another. */
const CHANGES: Readonly<Record<string, (each: LogRecord) => LogRecord | undefined>> = {
  timestamp: (each) => ({ ...each, timestamp: each.timestamp + 1n }),
  key: (each) => ({ ...each, key: each.key === null ? Buffer.alloc(0) : null }),
  value: (each) => ({ ...each, value: Buffer.concat([each.value ?? Buffer.alloc(0), Buffer.from('!')]) }),
  headers: (each) => ({ ...each, headers: [...each.headers, [Buffer.from('h'), null]] }),
  missing: () => undefined,
}

describe('two logs', () => {
  it('are equal when they hold the same records, however they are cut, compressed and fetched', () => {
    fc.assert(
      fc.property(log, cuts, cuts, (records, left, right) => {
        const end = endOf(records)
        expect(compared(deliveries(records, end, left), deliveries(records, end, right), whole(end))).toEqual({
          lines: [],
          records: records.size,
        })
      }),
    )
  })

  it('differ by any one change of any record, found at its offset and by its name', () => {
    fc.assert(
      fc.property(
        log,
        fc.nat(),
        fc.constantFrom(...Object.keys(CHANGES)),
        fc.boolean(),
        cuts,
        cuts,
        (records, pick, change, swap, a, b) => {
          const offset = [...records.keys()][pick % records.size]!
          const end = endOf(records)
          const other = new Map(records)
          const changed = CHANGES[change]!(records.get(offset)!)
          if (changed === undefined) other.delete(offset)
          else other.set(offset, changed)
          const [left, right] = swap ? [other, records] : [records, other]
          const { lines } = compared(deliveries(left, end, a), deliveries(right, end, b), whole(end))
          const lacking = swap ? 'source' : 'destination'
          expect(lines).toEqual([change === 'missing' ? `${offset} not on the ${lacking}` : `${offset} ${change}`])
        },
      ),
    )
  })

  it('are compared in their range only', () => {
    fc.assert(
      fc.property(log, cuts, cuts, fc.nat(), fc.nat(), (records, a, b, x, y) => {
        const end = endOf(records)
        const [from, to] = [x % end, y % end].sort((p, q) => p - q) as [number, number]
        const outside = new Map([...records].map(([o, each]) => [o, from <= o && o < to ? each : CHANGES.value!(each)!]))
        const range = { from: BigInt(from), to: BigInt(to) }
        const { lines, records: count } = compared(deliveries(records, end, a), deliveries(outside, end, b), range)
        expect({ lines, count }).toEqual({ lines: [], count: [...records.keys()].filter((o) => from <= o && o < to).length })
      }),
    )
  })
})

describe('what consumers do not see', () => {
  const data: Log = new Map([0, 1, 2, 5, 6].map((offset) => [offset, record(`v${offset}`)]))
  const marker = (offset: number, producerId: bigint, commit: boolean) =>
    writeBatch({
      baseOffset: BigInt(offset),
      lastOffsetDelta: 0,
      records: [[0, markerRecord(commit, 1n)]],
      producerId,
      transactional: true,
      control: true,
    })
  const dark = (offset: number) => marker(offset, 99n, true)

  it('is filled with control records on the destination, and committed data is plain there', () => {
    const source = [
      batchOf(data, 0, 2, { transactional: true, producerId: 7n }),
      batchOf(data, 2, 3),
      marker(3, 7n, true),
      batchOf(new Map([[4, record('aborted')]]), 4, 5, { transactional: true, producerId: 7n }),
      batchOf(data, 5, 7, { transactional: true, producerId: 8n }),
      marker(7, 7n, false),
      marker(8, 8n, true),
    ]
    const aborted = [{ producerId: 7n, firstOffset: 4n }]
    const destination = [batchOf(data, 0, 3), dark(3), dark(4), batchOf(data, 5, 7), dark(7), dark(8)]
    const range = { from: 0n, to: 9n }
    expect(compared([delivery(source, aborted)], [delivery(destination)], range)).toEqual({ lines: [], records: 5 })
    // The same, had the aborted record been copied too.
    const copied = [batchOf(data, 0, 3), dark(3), batchOf(new Map([[4, record('aborted')]]), 4, 5), ...destination.slice(3)]
    expect(compared([delivery(source, aborted)], [delivery(copied)], range).lines).toEqual(['4 not on the source'])
  })

  it('is told apart by its producer: of two transactions at once only one was aborted', () => {
    const source = [
      batchOf(data, 0, 1, { transactional: true, producerId: 1n }),
      batchOf(data, 1, 2, { transactional: true, producerId: 2n }),
      batchOf(data, 2, 3, { transactional: true, producerId: 1n }),
      marker(3, 1n, false),
      marker(4, 2n, true),
      batchOf(data, 5, 6, { transactional: true, producerId: 1n }),
      marker(6, 1n, true),
    ]
    const destination = [dark(0), batchOf(data, 1, 2), dark(2), dark(3), dark(4), batchOf(data, 5, 6), dark(6)]
    const aborted = [{ producerId: 1n, firstOffset: 0n }]
    expect(compared([delivery(source, aborted)], [delivery(destination)], { from: 0n, to: 7n })).toEqual({ lines: [], records: 2 })
  })

  it('must not lie in a transaction on the destination, even if it was committed', () => {
    const destination = [batchOf(data, 0, 3, { transactional: true, producerId: 7n }), marker(3, 7n, true)]
    const { lines } = compared([delivery([batchOf(data, 0, 3), dark(3)])], [delivery(destination)], { from: 0n, to: 4n })
    expect(lines).toEqual(['0 transactional'])
  })
})

describe('formats', () => {
  it('LogAppendTime is what every record of the batch has', () => {
    const times = (...stamps: bigint[]): Log => new Map(stamps.map((stamp, offset) => [offset, record('v', null, stamp)]))
    const source = [batchOf(times(5n, 6n), 0, 2, { appendTime: 99n })]
    const range = { from: 0n, to: 2n }
    expect(compared([delivery(source)], [delivery([batchOf(times(99n, 99n), 0, 2)])], range).lines).toEqual([])
    expect(compared([delivery(source)], [delivery([batchOf(times(5n, 6n), 0, 2)])], range).lines).toEqual(['0 timestamp', '1 timestamp'])
  })

  it.each([
    [0, 'none'],
    [1, 'none'],
    [0, 'gzip'],
    [1, 'gzip'],
    [1, 'snappy'],
    [1, 'lz4'],
  ] as const)('old messages of magic %d in %s are the same records as new ones', (magic, codec) => {
    const stamp = magic === 0 ? -1n : 1_700_000_000_000n
    const records: Log = new Map([3, 4, 6].map((offset) => [offset, record(`v${offset}`, `k${offset}`, stamp)]))
    const old = writeOldMessages({ magic, codec, records: [...records].map(([offset, each]) => [BigInt(offset), each]) })
    const range = { from: 3n, to: 7n }
    expect(compared([delivery(old)], [delivery([batchOf(records, 3, 7)])], range)).toEqual({ lines: [], records: 3 })
    const wrong = new Map([...records, [4, record('other', 'k4', stamp)]] as const)
    expect(compared([delivery(old)], [delivery([batchOf(wrong, 3, 7)])], range).lines).toEqual(['4 value'])
  })

  it('a batch whose records do not add up is named with its place', () => {
    const broken = writeBatch({ baseOffset: 5n, lastOffsetDelta: 1, records: [[0, record('v')]], count: 2 })
    const plain = batchOf(new Map([[5, record('w')]]), 5, 7)
    expect(() => compared([delivery([plain])], [delivery([broken])], { from: 5n, to: 7n })).toThrow(
      /^destination cannot be read: corrupt batch at offset 5: a record ends early/,
    )
  })
})

import { describe, expect, it } from 'vitest'
import { most } from '../../../src/mirror/offsets.js'
import { DifferenceBook } from '../../../src/service/verify/partition-findings.js'
import { type PartitionJob, PartitionVerifier } from '../../../src/service/verify/partition-verifier.js'
import { sampleOf, seededRandom } from '../../../src/service/verify/stretches.js'
import { KeyRoom, SupersededKeys } from '../../../src/service/verify/superseded-keys.js'
import type { LogDifference } from '../../../src/service/verify/types.js'
import type { LogRecord } from '../../support/batch-writer.js'
import { batchOf, type Log, record } from './verify-logs.js'
import { contextOf, ModelLog } from './verify-model.js'

/** Records at these offsets, in batches of so many offsets. */
function logOf(records: Log, end: number, size = 4): ModelLog {
  const batches: Buffer[] = []
  for (let from = 0; from < end; from += size) batches.push(batchOf(records, from, Math.min(end, from + size)))
  return new ModelLog(batches)
}

interface Case {
  source: ModelLog
  destination: ModelLog
  /** Bytes for keys; undefined: not compacted. */
  keyBytes?: number
  tombstonesExpire?: boolean
  job?: Partial<PartitionJob>
  maxDifferences?: number
}

async function verified({ source, destination, keyBytes, tombstonesExpire = false, job, maxDifferences = 10 }: Case) {
  const keys = keyBytes === undefined ? undefined : new SupersededKeys(new KeyRoom(keyBytes))
  const compaction = keys && { keys, mayHaveExpired: () => tombstonesExpire }
  const told: LogDifference[] = []
  const book = new DifferenceBook('t', 0, maxDifferences, (difference) => told.push(difference))
  const from = most(source.start, destination.start)
  const context = contextOf({ source, destination })
  const verifier = new PartitionVerifier(
    {
      topic: 't',
      partition: 0,
      topicIds: { source: '', destination: '' },
      bounds: {
        sourceStart: source.start,
        lastStableOffset: source.lastStableOffset ?? source.end,
        sourceEnd: source.end,
        destinationStart: destination.start,
        destinationEnd: destination.end,
      },
      mirroredEnd: destination.end,
      ownFrom: 0n,
      stretches: [{ from, to: destination.end }],
      belowStart: undefined,
      lost: [],
      compaction,
      ...job,
    },
    book,
    context,
  )
  await verifier.run()
  const lines = book.kept.map(({ offset, kind, message }) => `${offset} ${kind}: ${message}`)
  return { lines, count: book.count, told, superseded: keys?.superseded, verifier, context }
}

/** Offset → value under a key. */
const keyed = (...entries: [offset: number, key: string, value: string | null][]): Log =>
  new Map(entries.map(([offset, key, value]): [number, LogRecord] => [offset, record(value, key)]))

const many = (count: number, change: (offset: number) => string | undefined = () => undefined): Log =>
  new Map(Array.from({ length: count }, (_, offset) => [offset, record(change(offset) ?? `value ${offset}`)]))

describe('a partition', () => {
  it('is equal over many record sets, and every offset counts as progress', async () => {
    const outcome = await verified({ source: logOf(many(500), 500), destination: logOf(many(500), 500, 7) })
    expect(outcome).toMatchObject({ lines: [], count: 0, verifier: { records: 500, offsets: 500 }, context: { moved: 500 } })
  })

  it('tells the first differences at once, counts all, and shows them by offset', async () => {
    const other = many(300, (offset) => (offset % 10 === 3 ? 'x' : undefined))
    const { lines, count, told } = await verified({ source: logOf(many(300), 300), destination: logOf(other, 300), maxDifferences: 2 })
    expect(lines).toEqual([
      '3 record: value "value 3" on the source, "x" on the destination',
      '13 record: value "value 13" on the source, "x" on the destination',
    ])
    expect([count, told.length]).toEqual([30, 2])
  })

  it('shows what is at fault', async () => {
    const source = logOf(
      new Map([
        [0, record('v', 'k', 5n)],
        [2, { ...record(null), headers: [[Buffer.from('h'), Buffer.from([0, 1])]] }],
        [3, record('a'.repeat(100))],
      ]),
      4,
    )
    const destination = logOf(
      new Map([
        [0, record('v', null, 6n)],
        [1, record('w')],
        [2, record(null)],
        [3, record(`${'a'.repeat(60)}b${'a'.repeat(39)}`)],
      ]),
      4,
    )
    expect((await verified({ source, destination })).lines).toEqual([
      '0 record: timestamp 5 on the source, 6 on the destination; key "k" on the source, null on the destination',
      '1 extra: only on the destination: key null, value "w", timestamp 1700000000000; the source shows consumers nothing there',
      '2 record: header 1 "h"=0x0001 on the source, missing on the destination',
      `3 record: value from byte 52 on "${'a'.repeat(40)}"… (48 bytes) on the source, "aaaaaaaab${'a'.repeat(31)}"… (48 bytes) on the destination`,
    ])
  })

  it('may not end past the last stable offset of the source', async () => {
    const source = logOf(many(8), 8)
    source.lastStableOffset = 6n
    const { lines } = await verified({ source, destination: logOf(many(8), 8), job: { stretches: [{ from: 0n, to: 6n }] } })
    expect(lines).toEqual(["8 end: the destination's log ends here, the source's last stable offset is 6"])
  })

  it('may be looked at a moment before a new leader knows how far it is', async () => {
    const source = logOf(many(8), 8)
    source.lastStableOffset = 6n
    setTimeout(() => {
      source.lastStableOffset = 8n
    }, 300)
    expect((await verified({ source, destination: logOf(many(8), 8) })).lines).toEqual([])
  })

  it('may begin later only where the source has nothing before', async () => {
    const destination = logOf(many(20), 20)
    destination.start = 10n
    const belowStart = { from: 0n, to: 10n }
    const hole: Log = new Map([...many(20)].filter(([offset]) => offset >= 10))
    expect((await verified({ source: logOf(hole, 20), destination, job: { belowStart } })).lines).toEqual([])
    expect((await verified({ source: logOf(many(20), 20), destination, job: { belowStart } })).lines).toEqual([
      "10 start: the destination's log starts here, the source has a record at offset 0",
    ])
  })

  it('is compared from where its logs begin when they are cut off meanwhile', async () => {
    const source = logOf(many(400), 400)
    const destination = logOf(
      many(400, (offset) => (offset < 200 ? 'already other' : undefined)),
      400,
    )
    // Nothing is wrong with it: what is left is equal.
    source.beforeAnswer = () => {
      source.start = 200n
    }
    const { lines, verifier } = await verified({ source, destination })
    expect({ lines, floor: verifier.floor, records: verifier.records }).toEqual({ lines: [], floor: 200n, records: 200 })
  })

  it('fails when a log ends earlier than it did', async () => {
    const source = logOf(many(400), 400)
    source.beforeAnswer = ({ offset }) => {
      if (offset > 100n) source.end = 100n
    }
    await expect(verified({ source, destination: logOf(many(400), 400) })).rejects.toThrow(
      /^t-0: offset \d+ cannot be read any more, the source's log now ends at 100 and the destination's at 400$/,
    )
  })

  it('has nothing wrong with a range that was recorded as lost', async () => {
    const source = logOf(new Map([...many(20)].filter(([offset]) => offset >= 10)), 20)
    const lost = [{ from: 0n, to: 9n }]
    expect((await verified({ source, destination: logOf(many(20), 20), job: { lost } })).lines).toEqual([])
  })
})

describe('a compacted topic', () => {
  const PLENTY = 1 << 20
  const full = keyed([0, 'a', '1'], [1, 'b', '1'], [2, 'a', '2'], [3, 'c', '1'], [4, 'b', '2'], [5, 'd', '1'])
  const cleaned = new Map([...full].filter(([offset]) => offset !== 0 && offset !== 1))

  it.each(['source', 'destination'] as const)('may lack what a later record of its key supersedes, on the %s', async (lacking) => {
    const logs = { source: logOf(full, 6), destination: logOf(full, 6), [lacking]: logOf(cleaned, 6) }
    expect(await verified({ ...logs, keyBytes: PLENTY })).toMatchObject({ lines: [], superseded: 2 })
    expect((await verified(logs)).lines).toHaveLength(2)
  })

  it('may not lack a record that nothing supersedes', async () => {
    const lossy = new Map([...full].filter(([offset]) => offset !== 0 && offset !== 3))
    const source = logOf(full, 6)
    expect(await verified({ source, destination: logOf(lossy, 6), keyBytes: PLENTY })).toMatchObject({
      lines: ['3 missing: on the source only: a record, and there is no later one of its key'],
      superseded: 1,
    })
    expect((await verified({ source: logOf(lossy, 6), destination: source, keyBytes: PLENTY })).lines).toEqual([
      '3 extra: on the destination only: a record, and there is no later one of its key',
    ])
  })

  it('finds the later record behind batches that are the same byte for byte, and behind the range', async () => {
    const records = new Map([...keyed([0, 'k', 'old']), ...many(200), [0, record('old', 'k')], [150, record('new', 'k')]] as const)
    const without = new Map([...records].filter(([offset]) => offset !== 0))
    const [source, destination] = [logOf(without, 200), logOf(records, 200)]
    expect(await verified({ source, destination, keyBytes: PLENTY })).toMatchObject({ lines: [], superseded: 1 })
    const job = { stretches: [{ from: 0n, to: 50n }] }
    expect(await verified({ source, destination, keyBytes: PLENTY, job })).toMatchObject({ lines: [], superseded: 1 })
  })

  it('takes no comfort from what was not copied yet', async () => {
    const records = keyed([0, 'k', 'old'], [1, 'j', 'x'], [6, 'k', 'new'])
    const without = new Map([...records].filter(([offset]) => offset !== 0))
    const copied = (log: Log) => logOf(new Map([...log].filter(([offset]) => offset < 4)), 4)
    expect((await verified({ source: logOf(without, 8), destination: copied(records), keyBytes: PLENTY })).lines).toEqual([])
    expect((await verified({ source: logOf(records, 8), destination: copied(without), keyBytes: PLENTY })).lines).toHaveLength(1)
  })

  it('lets tombstones expire, if they can have', async () => {
    const gone = keyed([0, 'a', '1'], [2, 'b', '1'])
    const kept = keyed([0, 'a', '1'], [1, 'c', null], [2, 'b', '1'])
    const logs = { source: logOf(kept, 3), destination: logOf(gone, 3) }
    expect((await verified({ ...logs, keyBytes: PLENTY, tombstonesExpire: true })).lines).toEqual([])
    expect((await verified({ ...logs, keyBytes: PLENTY })).lines).toEqual([
      '1 missing: on the source only: a tombstone too young to have been compacted away, and there is no later one of its key',
    ])
  })

  it('may lack records without a key, which cleaners drop', async () => {
    const logs = { source: logOf(many(4), 4), destination: logOf(new Map(), 4) }
    expect(await verified({ ...logs, keyBytes: PLENTY })).toMatchObject({ lines: [], superseded: 4 })
  })

  it('never excuses a record where the source has an aborted one or a control record', async () => {
    const data = keyed([0, 'k', 'foreign'], [2, 'k', 'later'])
    const control = batchOf(new Map([[0, record('', '\0\0\0\x01')]]), 0, 1, { control: true, transactional: true, producerId: 3n })
    const source = new ModelLog([control, batchOf(data, 1, 3)])
    expect((await verified({ source, destination: logOf(data, 3, 1), keyBytes: PLENTY })).lines).toEqual([
      '0 extra: only on the destination: key "k", value "foreign", timestamp 1700000000000; the source shows consumers nothing there',
    ])
  })

  it('is judged the same with hardly any room for keys', async () => {
    const older = Array.from({ length: 100 }, (_, i): [number, string, string] => [i, `key ${i}`, 'old'])
    const newer = Array.from({ length: 99 }, (_, i): [number, string, string] => [100 + i, `key ${i}`, 'new'])
    const source = logOf(keyed(...newer), 200)
    const destination = logOf(keyed(...older, ...newer), 200)
    const roomy = await verified({ source, destination, keyBytes: PLENTY })
    source.asked.length = 0
    const cramped = await verified({ source, destination, keyBytes: 2_000 })
    expect([cramped.lines, cramped.superseded]).toEqual([roomy.lines, roomy.superseded])
    expect(roomy.lines).toEqual(['99 extra: on the destination only: a record, and there is no later one of its key'])
  })
})

describe('a sample', () => {
  const range = { from: 1_000n, to: 1_000_000n }

  it('is both ends and as many stretches as asked for, the same for the same seed', () => {
    const stretches = sampleOf(range, 5, seededRandom(42))
    expect(stretches).toEqual(sampleOf(range, 5, seededRandom(42)))
    expect(stretches).not.toEqual(sampleOf(range, 5, seededRandom(43)))
    expect(stretches[0]).toMatchObject({ from: 1_000n })
    expect(stretches.at(-1)).toMatchObject({ to: 1_000_000n })
    for (const [i, { from }] of stretches.entries()) if (i > 0) expect(from).toBeGreaterThan(stretches[i - 1]!.to)
  })

  it('of a small range is all of it, and of an empty one nothing', () => {
    expect(sampleOf({ from: 5n, to: 5_000n }, 5, Math.random)).toEqual([{ from: 5n, to: 5_000n }])
    expect(sampleOf({ from: 5n, to: 5n }, 5, Math.random)).toEqual([])
  })

  it('is compared stretch by stretch', async () => {
    const other = many(100, (offset) => (offset === 12 || offset === 55 ? 'x' : undefined))
    const stretches = [
      { from: 10n, to: 20n },
      { from: 80n, to: 90n },
    ]
    const { lines, verifier } = await verified({ source: logOf(many(100), 100), destination: logOf(other, 100, 3), job: { stretches } })
    expect(lines).toEqual(['12 record: value "value 12" on the source, "x" on the destination'])
    expect(verifier).toMatchObject({ offsets: 20, records: 20 })
  })
})

import fc from 'fast-check'
import type { Bytes, RecordPlan, SourceEvent } from './source-log.js'
import type { CopyRound } from './translated-copy.js'

const OLD = 1_262_304_000_000n
const NORMAL = 1_700_000_000_000n
/** None, zero, years old, today's, in the year 9999, as far as doubles are exact, and somebody's nanoseconds. */
const timestamp = fc.oneof(
  { weight: 4, arbitrary: fc.nat(5_000).map((more) => NORMAL + BigInt(more)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(-1n, 0n, OLD, 253_402_300_799_999n, 5n * 10n ** 15n, 2n ** 53n - 1n, 1_700_000_000_123_456_789n),
  },
)

const anyBytes = fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes).toString('latin1'))
const bytes: fc.Arbitrary<Bytes | null> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a', 'b', '', null) },
  { weight: 2, arbitrary: anyBytes },
  { weight: 1, arbitrary: fc.record({ size: fc.integer({ min: 60, max: 400 }), random: fc.boolean() }, { requiredKeys: ['size'] }) },
)
/** Some keys often, so that one comes twice, one of many bytes, one that is not UTF-8. */
const headers = fc.array(fc.tuple(fc.constantFrom('h', 'trace', '', '\xc3\xa4', '\xff'), bytes), { maxLength: 3 })

const record: fc.Arbitrary<RecordPlan> = fc.record(
  { timestamp, key: bytes, value: bytes, headers },
  { requiredKeys: ['timestamp', 'key', 'value'] },
)
const records = fc.array(record, { minLength: 1, maxLength: 6 })
/** Nearly always all, else a pattern of survivors; one that lets none survive makes a batch hollow. */
const kept = fc.array(fc.boolean(), { maxLength: 4 })
const producer = fc.integer({ min: 1, max: 3 })

const batch: fc.Arbitrary<SourceEvent> = fc.record(
  {
    kind: fc.constant('batch' as const),
    records,
    times: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 2, max: 3 }) }, { weight: 1, arbitrary: fc.integer({ min: 30, max: 70 }) }),
    codec: fc.constantFrom('gzip', 'snappy', 'snappy-raw', 'lz4', 'lz4-stored', 'zstd', 'zstd-stored'),
    producer,
    transactional: fc.boolean(),
    appendTime: fc.nat(5_000).map((more) => NORMAL + 1_000_000n + BigInt(more)),
    deleteHorizon: fc.nat(5_000).map((more) => NORMAL + 9_000_000n + BigInt(more)),
    kept,
    removed: fc.boolean(),
    newEpoch: fc.boolean(),
  },
  { requiredKeys: ['kind', 'records'] },
)

/** A plain small batch: long runs of these are what merging is for. */
const small: fc.Arbitrary<SourceEvent> = fc.record(
  { kind: fc.constant('batch' as const), records: fc.array(record, { minLength: 1, maxLength: 2 }), producer, newEpoch: fc.boolean() },
  { requiredKeys: ['kind', 'records'] },
)

const transactional: fc.Arbitrary<SourceEvent> = fc.record(
  {
    kind: fc.constant('batch' as const),
    records: fc.array(record, { minLength: 1, maxLength: 3 }),
    producer,
    transactional: fc.constant(true),
    kept,
    removed: fc.boolean(),
  },
  { requiredKeys: ['kind', 'records', 'producer', 'transactional'] },
)

const end: fc.Arbitrary<SourceEvent> = fc.record(
  {
    kind: fc.constant('end' as const),
    producer,
    commit: fc.boolean(),
    deleteHorizon: fc.constant(NORMAL + 9_000_000n),
    cleaned: fc.constantFrom('hollow', 'removed'),
  },
  { requiredKeys: ['kind', 'producer', 'commit'] },
)

const hole: fc.Arbitrary<SourceEvent> = fc.record({ kind: fc.constant('hole' as const), offsets: fc.integer({ min: 1, max: 40 }) })

const old: fc.Arbitrary<SourceEvent> = fc.record(
  {
    kind: fc.constant('old' as const),
    magic: fc.constantFrom(0, 1),
    records,
    codec: fc.constantFrom('gzip', 'snappy', 'snappy-raw', 'lz4', 'lz4-stored'),
    appendTime: fc.constant(NORMAL + 1_000_000n),
    kept,
  },
  { requiredKeys: ['kind', 'magic', 'records'] },
)

const events: fc.Arbitrary<SourceEvent[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: batch },
    { weight: 3, arbitrary: small },
    { weight: 3, arbitrary: transactional },
    { weight: 4, arbitrary: end },
    { weight: 1, arbitrary: hole },
    { weight: 2, arbitrary: old },
  ),
  { minLength: 1, maxLength: 14, size: 'max' },
)

/** The ends of all transactions that are open: each of these outcomes is of one producer. */
const ends = (...outcomes: boolean[]): SourceEvent[] => outcomes.map((commit, i) => ({ kind: 'end' as const, producer: i + 1, commit }))

/** Everything a log can hold, in any order. In one of five transactions stay open, and hide all that follows. */
export const sourceEvents: fc.Arbitrary<SourceEvent[]> = fc
  .tuple(events, fc.constantFrom([], ends(true, true, true), ends(true, false, true), ends(false, true, false), ends(true, true, false)))
  .map(([some, last]) => [...some, ...last])

/** Log starts where numbers get another width. */
export const logStart = fc.constantFrom(0n, 0n, 5n, 2n ** 31n - 3n, 2n ** 53n - 3n)

/** Fetches cut anywhere, copiers that die anywhere. */
export const arbitraryRounds: fc.Arbitrary<CopyRound[]> = fc.array(
  fc.record(
    {
      batches: fc.integer({ min: 1, max: 6 }),
      torn: fc.boolean(),
      generous: fc.boolean(),
      diesAfter: fc.integer({ min: 1, max: 3 }),
      merges: fc.boolean(),
    },
    { requiredKeys: ['batches'] },
  ),
  { minLength: 1, maxLength: 5 },
)

import { describe, expect, it } from 'vitest'
import { seeWhatDiffers } from '../../../src/engine/alignment.js'
import type { ActiveTopic } from '../../../src/mirror/fold.js'
import type { PartitionStatus } from '../../../src/mirror/state.js'
import { DIAGNOSES, diagnose } from '../../../src/service/recovery/diagnose.js'
import type { PartitionFacts } from '../../../src/service/recovery/examine.js'

const [A, B, OTHER] = ['a', 'b', 'c'].map((letter) => `00000000-0000-0000-0000-00000000000${letter}`) as [string, string, string]

const spec: ActiveTopic = {
  desired: 'MIRRORING',
  sourceTopicId: A,
  destinationTopicId: B,
  partitions: 3,
  producers: [],
  held: {},
  addedAt: 1,
}

const status = (more: Partial<PartitionStatus> = {}): PartitionStatus => ({
  ownerEpoch: 1,
  addedAt: 1,
  destinationTopicId: B,
  owner: 'o',
  state: 'FAILED',
  since: 1,
  sourceLeaderEpochs: [{ epoch: 0, startOffset: 0n }],
  fillMode: 'markers',
  error: { message: 'its words', retries: 3, at: 1 },
  lostRanges: [],
  ...more,
})

const facts = (more: Partial<PartitionFacts> = {}): PartitionFacts => ({
  mirror: 'shop',
  topic: 'orders',
  partition: 2,
  spec,
  status: status(),
  onGap: 'fail',
  wish: undefined,
  source: { topicId: A, logStartOffset: 0n, firstOffset: 0n, lastStableOffset: 60n, highWatermark: 60n },
  destination: { topicId: B, logStartOffset: 0n, logEndOffset: 20n },
  differsFrom: undefined,
  tail: undefined,
  unseen: undefined,
  ...more,
})

const start = (firstOffset: bigint, topicId = A) => ({
  topicId,
  logStartOffset: firstOffset,
  firstOffset,
  lastStableOffset: 60n,
  highWatermark: 60n,
})
const end = (logEndOffset: bigint, topicId = B) => ({ topicId, logStartOffset: 0n, logEndOffset })
const NOTHING = { onGap: false, onDivergence: false }
const ALL = { onGap: true, onDivergence: true }

/** Facts, what is done without options, what with all of them, and what is said without. */
const CASES: ReadonlyArray<
  readonly [problem: string, what: string, facts: PartitionFacts, without: string, withAll: string, said: RegExp]
> = [
  [
    'unfinished',
    'whatever the logs say',
    facts({ spec: { ...spec, desired: 'STOPPING', reseed: { at: 1, tailTopic: 'x', kept: true } }, source: undefined, unseen: 'x' }),
    'on-divergence',
    'reseed',
    /was begun and is not finished; with --on-divergence reseed/,
  ],
  ['unknown', 'the source is away', facts({ source: undefined, unseen: 'it is away' }), 'retry', 'retry', /cannot be compared: it is away/],
  ['source-missing', 'deleted', facts({ source: undefined }), 'none', 'none', /remove the topic from the mirror to keep/],
  ['destination-missing', 'deleted', facts({ destination: undefined }), 'on-divergence', 'reseed', /gone from the destination/],
  [
    'source-recreated',
    'longer than before',
    facts({ source: start(0n, OTHER), differsFrom: 0n, tail: { records: 20, complete: true } }),
    'on-divergence',
    'reseed',
    /created again on the source; .*positions that consumers have committed/,
  ],
  ['destination-recreated', 'with data', facts({ destination: end(5n, OTHER) }), 'on-divergence', 'reseed', /holds data of its own/],
  [
    'divergence',
    'within the source’s range',
    facts({ differsFrom: 7n, tail: { records: 12, complete: false } }),
    'on-divergence',
    'reseed',
    /from offset 7 up to its end at 20 the destination does not hold what the source holds;/,
  ],
  [
    'divergence',
    'beyond the source’s end',
    facts({ destination: end(70n), differsFrom: 60n }),
    'on-divergence',
    'reseed',
    /from offset 60 up to its end at 70 .*, which ends at 60;/,
  ],
  [
    'gap',
    'failed',
    facts({ source: start(50n) }),
    'on-gap',
    'record-gap',
    /offsets 20 to 49 are no longer on the source; .*kafka-mirrors recover --mirror shop --topic orders --partition 2 --on-gap record/,
  ],
  [
    'gap',
    'not even noticed by a runner',
    facts({ source: start(50n), status: status({ state: 'MIRRORING' }) }),
    'on-gap',
    'record-gap',
    /20 to 49/,
  ],
  ['gap', 'that the mirror records anyway', facts({ source: start(50n), onGap: 'record' }), 'retry', 'retry', /mirror.on.gap=record/],
  ['other', 'failed for a reason of its own', facts(), 'retry', 'retry', /tried again: its words/],
]

describe('what is wrong with a partition', () => {
  it.each(CASES)('%s: %s', (problem, _, given, without, withAll, said) => {
    const [plain, full] = [diagnose(given, NOTHING)!, diagnose(given, ALL)!]
    expect([plain.problem, full.problem]).toEqual([problem, problem])
    expect(plain.needs ?? plain.action).toBe(without)
    if (plain.needs !== undefined) expect(plain.action).toBe('none')
    expect([full.action, full.needs]).toEqual([withAll, undefined])
    expect(plain.explanation).toMatch(said)
  })

  it('does not advise to run what is being run', () => {
    const [said, at] = ['orders-2: the destination’s record at offset 7 is not the source’s', { retries: 3, at: 1 }]
    for (const advice of [
      seeWhatDiffers({ mirror: 'shop', topic: 'orders' }),
      'To go on without them: kafka-mirrors recover --mirror shop --topic orders --partition 2 --on-gap record',
    ]) {
      const given = facts({ status: status({ error: { message: `${said}. ${advice}`, ...at } }) })
      expect(diagnose(given, ALL)!.explanation).toBe(`both logs agree, so the partition is tried again: ${said}`)
    }
  })

  it('has a case for every row', () => {
    expect([...new Set(CASES.map(([problem]) => problem))]).toEqual(DIAGNOSES.map(({ problem }) => problem))
  })

  it.each([
    ['it mirrors, and nothing differs', facts({ status: status({ state: 'MIRRORING' }) })],
    ['nobody took it up yet', facts({ status: undefined })],
    [
      'it was never mirrored, so nothing is lost below the source’s start',
      facts({ status: undefined, source: start(50n), destination: end(0n) }),
    ],
    [
      'it is on its way to the source’s start',
      facts({ status: status({ state: 'LOG_ALIGNMENT', fastForward: { target: 50n, done: false } }), source: start(50n) }),
    ],
    [
      'its topic was rebuilt empty and is copied again',
      facts({ status: status({ state: 'MIRRORING', destinationTopicId: OTHER }), destination: end(20n, OTHER) }),
    ],
  ])('is nothing when %s', (_, given) => {
    expect(diagnose(given, ALL)).toBeUndefined()
  })

  it('shows ranges and counts only for the problem they belong to', () => {
    const both = facts({ source: start(50n), differsFrom: 7n, tail: { records: 12, complete: false } })
    expect(diagnose(both, ALL)).toMatchObject({
      wanted: 20n,
      available: 50n,
      lost: undefined,
      differsFrom: 7n,
      divergedOffsets: 13n,
      divergedRecords: 12,
      divergedRecordsComplete: false,
    })
    expect(diagnose(facts({ source: start(50n) }), ALL)).toMatchObject({ lost: { from: 20n, to: 49n }, differsFrom: undefined })
  })
})

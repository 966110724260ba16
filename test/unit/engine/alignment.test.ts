import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ALIGNMENT, type Alignment, type AlignmentFacts, decideAlignment } from '../../../src/engine/alignment.js'

interface Case {
  source: [start: bigint, highWatermark: bigint]
  firstOffset?: bigint
  firstRecord?: bigint
  lastStable?: bigint
  destination: [start: bigint, end: bigint]
  everMirrored?: boolean
  untouchedEnd?: bigint
  fastForwardTarget?: bigint
  onGap?: 'fail' | 'record'
  recordGap?: [from: bigint, to: bigint]
}

const facts = (c: Case): AlignmentFacts => ({
  mirror: 'shop',
  topic: 'orders',
  partition: 2,
  source: {
    logStartOffset: c.source[0],
    firstOffset: c.firstOffset ?? c.source[0],
    firstRecordOffset: c.firstRecord,
    lastStableOffset: c.lastStable ?? c.source[1],
    highWatermark: c.source[1],
  },
  destination: { logStartOffset: c.destination[0], logEndOffset: c.destination[1] },
  everMirrored: c.everMirrored ?? false,
  untouchedEnd: c.untouchedEnd,
  fastForwardTarget: c.fastForwardTarget,
  onGap: c.onGap ?? 'fail',
  recordGap: c.recordGap && { from: c.recordGap[0], to: c.recordGap[1] },
})

const BEYOND_INT32 = 2n ** 31n + 5n

/** One or more for every row of the table, in the table's order. */
const CASES: ReadonlyArray<readonly [row: string, what: string, facts: Case, decision: Alignment | RegExp]> = [
  [
    'fast-forward was interrupted',
    'before its first filler',
    { source: [BEYOND_INT32, BEYOND_INT32 + 9n], destination: [0n, 0n], fastForwardTarget: BEYOND_INT32 },
    { kind: 'fast-forward', target: BEYOND_INT32 },
  ],
  [
    'fast-forward was interrupted',
    'half way, on a source that has gone on, and whatever is to be done with gaps',
    { source: [900n, 2_000n], destination: [300n, 700n], fastForwardTarget: 800n, everMirrored: true, onGap: 'fail' },
    { kind: 'fast-forward', target: 800n },
  ],
  [
    'fast-forward was interrupted',
    'at its target, before the filler was deleted, which consumers would see',
    { source: [0n, 2_000n], destination: [0n, 800n], fastForwardTarget: 800n, everMirrored: true },
    { kind: 'fast-forward', target: 800n },
  ],
  [
    'first time, source starts above an empty destination',
    'whatever is to be done with gaps: nothing was ever promised below',
    { source: [50n, 60n], destination: [0n, 0n], onGap: 'fail' },
    { kind: 'fast-forward', target: 50n },
  ],
  [
    'first time, source starts above an empty destination',
    'to the first offset of the batch that the source’s log start lies in',
    { source: [50n, 60n], firstOffset: 47n, destination: [0n, 0n] },
    { kind: 'fast-forward', target: 47n },
  ],
  [
    'first time, source starts above an empty destination',
    'again, when the source’s start moved while the destination was moved',
    { source: [50n, 60n], destination: [40n, 40n], fastForwardTarget: 40n },
    { kind: 'fast-forward', target: 50n },
  ],
  [
    'first time, source starts above an empty destination',
    'over a hole of millions before the first record',
    { source: [0n, BEYOND_INT32], firstRecord: 4_000_000n, destination: [0n, 0n] },
    { kind: 'fast-forward', target: 4_000_000n },
  ],
  [
    'first time, source starts above an empty destination',
    'and over a hole behind the log start in the same go',
    { source: [50n, 9_000_000n], firstRecord: 4_000_000n, destination: [0n, 0n] },
    { kind: 'fast-forward', target: 4_000_000n },
  ],
  [
    'first time, source starts above an empty destination',
    'but not over a hole that is filled as quickly',
    { source: [50n, 9_000n], firstRecord: 4_000n, destination: [0n, 0n] },
    { kind: 'fast-forward', target: 50n },
  ],
  [
    'first time, source starts above an empty destination',
    'up to the log start when the source has no record at all',
    { source: [50n, 50n], firstRecord: 50n, destination: [0n, 0n] },
    { kind: 'fast-forward', target: 50n },
  ],
  [
    'first time, source starts above an empty destination',
    'and never past the last stable offset',
    { source: [50n, 9_000_000n], firstRecord: 8_000_000n, lastStable: 7_000_000n, destination: [0n, 0n] },
    { kind: 'fast-forward', target: 50n },
  ],
  [
    'destination is ahead of the source',
    'naming both offsets',
    { source: [0n, 90n], destination: [0n, 100n], everMirrored: true },
    /orders-2 ends at offset 100 on the destination but at 90 on the source.*recover --mirror shop --topic orders --dry-run/,
  ],
  ['destination is ahead of the source', 'data from elsewhere', { source: [0n, 0n], destination: [0n, 1n] }, /orders-2 ends at offset 1 /],
  [
    'retention overtook the mirror, gaps are recorded',
    'with the range that is lost',
    { source: [50n, 60n], destination: [0n, 20n], everMirrored: true, onGap: 'record' },
    { kind: 'fast-forward', target: 50n, lost: { from: 20n, to: 50n } },
  ],
  [
    'retention overtook the mirror, gaps are recorded',
    'the one that an operator knows of',
    { source: [50n, 60n], destination: [0n, 20n], everMirrored: true, recordGap: [20n, 50n] },
    { kind: 'fast-forward', target: 50n, lost: { from: 20n, to: 50n } },
  ],
  [
    'retention overtook the mirror, gaps are recorded',
    'also when the source’s log start lies inside a batch, and the gap is smaller than was thought',
    { source: [50n, 60n], firstOffset: 47n, destination: [0n, 21n], everMirrored: true, recordGap: [20n, 50n] },
    { kind: 'fast-forward', target: 47n, lost: { from: 21n, to: 47n } },
  ],
  [
    'retention overtook the mirror',
    'and more of it than the operator knew of',
    { source: [51n, 60n], destination: [0n, 20n], everMirrored: true, recordGap: [20n, 50n] },
    /offsets 20 to 50 \(31\) are lost \(the gap to be recorded was from 20 to 49, which is not this one\)/,
  ],
  [
    'retention overtook the mirror',
    'and the wish is about another gap, further up',
    { source: [50n, 60n], destination: [0n, 20n], everMirrored: true, recordGap: [30n, 50n] },
    /which is not this one/,
  ],
  [
    'retention overtook the mirror',
    'naming wanted, available and how many are lost',
    { source: [50n, 60n], destination: [0n, 20n], everMirrored: true },
    /offset 20 is wanted, the source starts at 50: offsets 20 to 49 \(30\) are lost\./,
  ],
  [
    'retention overtook the mirror',
    'and the destination was emptied by its own retention',
    { source: [50n, 60n], destination: [20n, 20n], everMirrored: true },
    /offset 20 is wanted, the source starts at 50/,
  ],
  [
    'written to since it was added',
    'whatever the source has there',
    { source: [0n, 60n], destination: [0n, 20n], untouchedEnd: 18n },
    /orders-2 ends at offset 20 on the destination but ended at 18 when it was added: something else wrote to it\. See what differs/,
  ],
  [
    'data from before this mirror',
    'within the source’s range',
    { source: [0n, 60n], destination: [0n, 20n] },
    { kind: 'compare', from: 20n },
  ],
  [
    'data from before this mirror',
    'that is what it was when it was added, or lost its end since',
    { source: [0n, 60n], destination: [0n, 20n], untouchedEnd: 20n },
    { kind: 'compare', from: 20n },
  ],
  ['go on', 'where the destination ends', { source: [0n, 60n], destination: [0n, 20n], everMirrored: true }, { kind: 'copy', from: 20n }],
  [
    'go on',
    'below a hole of millions in a log that has been mirrored: it lies between records',
    { source: [0n, BEYOND_INT32], firstRecord: 4_000_000n, destination: [7n, 7n], everMirrored: true },
    { kind: 'copy', from: 7n },
  ],
  ['go on', 'both empty', { source: [0n, 0n], destination: [0n, 0n] }, { kind: 'copy', from: 0n }],
  ['go on', 'both at the end', { source: [7n, 60n], destination: [3n, 60n], everMirrored: true }, { kind: 'copy', from: 60n }],
  [
    'go on',
    'inside the batch that the source’s log start lies in',
    { source: [50n, 60n], firstOffset: 47n, destination: [47n, 47n] },
    { kind: 'copy', from: 47n },
  ],
  [
    'go on',
    'a fast-forward that is over, with nothing copied yet',
    { source: [50n, 60n], destination: [50n, 50n] },
    { kind: 'copy', from: 50n },
  ],
]

describe('alignment', () => {
  it.each(CASES)('%s: %s', (row, _, given, decision) => {
    const f = facts(given)
    expect(ALIGNMENT.find((candidate) => candidate.when(f))?.name).toBe(row)
    const decided = decideAlignment(f)
    if (decision instanceof RegExp) {
      expect(decided.kind).toBe('failed')
      expect(decided.kind === 'failed' && decided.reason).toMatch(decision)
    } else expect(decided).toEqual(decision)
  })

  it('has a case for every row', () => {
    expect([...new Set(CASES.map(([row]) => row))]).toEqual(ALIGNMENT.map(({ name }) => name))
  })

  it('tells how to go on without what is lost', () => {
    const decided = decideAlignment(facts({ source: [5n, 6n], destination: [0n, 1n], everMirrored: true }))
    const command = 'kafka-mirrors recover --mirror shop --topic orders --partition 2 --on-gap record'
    expect(decided.kind === 'failed' && decided.reason).toContain(command)
  })

  const offset = fc.bigInt({ min: 0n, max: 40n })
  const anyFacts = fc
    .tuple(
      offset,
      offset,
      offset,
      offset,
      offset,
      fc.boolean(),
      fc.option(offset, { nil: undefined }),
      fc.constantFrom('fail' as const, 'record' as const),
    )
    .map(([start, inBatch, length, destinationStart, destinationLength, everMirrored, fastForwardTarget, onGap]) =>
      facts({
        source: [start, start + length],
        firstOffset: start > inBatch ? start - inBatch : start,
        destination: [destinationStart, destinationStart + destinationLength],
        everMirrored,
        ...(fastForwardTarget === undefined ? {} : { fastForwardTarget }),
        onGap,
      }),
    )

  it('never copies from anywhere but the destination’s log end, nor what the source no longer has, nor past its end', () => {
    fc.assert(
      fc.property(anyFacts, (f) => {
        const decided = decideAlignment(f)
        if (decided.kind !== 'copy' && decided.kind !== 'compare') return
        expect(decided.from).toBe(f.destination.logEndOffset)
        expect(decided.from).toBeGreaterThanOrEqual(f.source.firstOffset)
        expect(decided.from).toBeLessThanOrEqual(f.source.highWatermark)
      }),
    )
  })

  it('moves the log end forwards only, never over what the source has, and loses nothing unasked', () => {
    fc.assert(
      fc.property(anyFacts, (f) => {
        const decided = decideAlignment(f)
        if (decided.kind !== 'fast-forward') return
        // What a fast-forward left is deleted up to its target, even if the log end is there already.
        expect(decided.target).toBeGreaterThan(f.destination.logStartOffset)
        if (decided.target !== f.fastForwardTarget) {
          expect(decided.target).toBeGreaterThan(f.destination.logEndOffset)
          expect(decided.target).toBe(f.source.firstOffset)
          const hadData = f.everMirrored || f.destination.logStartOffset < f.destination.logEndOffset
          if (hadData) expect([f.onGap, decided.lost]).toEqual(['record', { from: f.destination.logEndOffset, to: decided.target }])
          else expect(decided.lost).toBeUndefined()
        }
      }),
    )
  })

  it('trusts data it did not copy only after a comparison', () => {
    fc.assert(
      fc.property(anyFacts, (f) => {
        if (f.everMirrored || f.fastForwardTarget !== undefined || f.destination.logStartOffset === f.destination.logEndOffset) return
        expect(decideAlignment(f).kind).not.toBe('copy')
      }),
    )
  })
})

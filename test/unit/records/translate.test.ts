import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AbortedTransaction, type AppendStep, type Step, translate } from '../../../src/records/index.js'
import { batch, controlBatch, oldMessage, type TestBatch } from '../../support/batches.js'

const COMPRESSED = JSON.parse(readFileSync(new URL('./fixtures/compressed.json', import.meta.url), 'utf8')) as Record<string, string>
const TRANSACTIONAL = 0x10
const run = (set: Buffer | Buffer[], nextOffset = 0n, abortedTransactions: AbortedTransaction[] = [], maxMessageBytes = 1_000_000) =>
  translate(Array.isArray(set) ? Buffer.concat(set) : set, { nextOffset, abortedTransactions, maxMessageBytes })

const brief = (steps: Step[]) =>
  steps.map((s) =>
    s.kind === 'append'
      ? `append ${s.baseOffset}+${s.count}${s.rewritten ? ' rewritten' : ''}`
      : s.kind === 'fill'
        ? `fill ${s.baseOffset}+${s.count} ${s.why}`
        : `refuse ${s.baseOffset}`,
  )
const hollow = (baseOffset: bigint, offsets: number) => batch({ baseOffset, deltas: [], lastOffsetDelta: offsets - 1, producerId: 8n })

describe('translating a record set', () => {
  it('appends dense batches as views of the same bytes', () => {
    const set = Buffer.concat([batch({ baseOffset: 4n, records: 3, leaderEpoch: 7 }), batch({ baseOffset: 7n })])
    const steps = run(set, 4n)
    expect(brief(steps)).toEqual(['append 4+3', 'append 7+1'])
    const [first] = steps
    if (first?.kind !== 'append') throw new Error('expected an append')
    expect(first.bytes.buffer).toBe(set.buffer)
    expect([first.bytes.length, first.size, first.leaderEpoch]).toEqual([first.size, batch({ records: 3 }).length, 7])
  })

  it('copies a committed transaction plain and fills its marker', () => {
    const set = [
      batch({ baseOffset: 0n, records: 5, attributes: TRANSACTIONAL, producerId: 1n }),
      controlBatch(5n, 1n, 1),
      batch({ baseOffset: 6n }),
    ]
    expect(brief(run(set))).toEqual(['append 0+5', 'fill 5+1 control', 'append 6+1'])
  })

  it('fills aborted data, of that producer and that transaction only', () => {
    const data = (baseOffset: bigint, producerId: bigint, attributes = TRANSACTIONAL) =>
      batch({ baseOffset, records: 2, attributes, producerId })
    const set = [
      data(0n, 1n), // aborted
      data(2n, 2n), // committed, between
      data(4n, 1n), // aborted
      data(6n, 3n, 0), // no transaction
      controlBatch(8n, 1n, 0),
      data(9n, 1n), // same producer, next transaction
      controlBatch(11n, 1n, 1),
      controlBatch(12n, 2n, 1),
      data(13n, 2n), // aborted later
      controlBatch(15n, 2n, 0),
    ]
    const aborted = [
      { producerId: 2n, firstOffset: 13n },
      { producerId: 1n, firstOffset: 0n },
    ]
    const expected = [
      'fill 0+2 aborted',
      'append 2+2',
      'fill 4+2 aborted',
      'append 6+2',
      'fill 8+1 control',
      'append 9+2',
      'fill 11+5 control',
    ]
    expect(brief(run(set, 0n, aborted))).toEqual(expected)
    // Asked again from inside the aborted data, after a crash amid a fill: the rest of the batch is filled.
    expect(brief(run(set, 5n, aborted)).slice(0, 2)).toEqual(['fill 5+1 aborted', 'append 6+2'])
    // A transaction that ended below the wanted offset is not held against the next one of its producer.
    expect(brief(run(set, 9n, aborted))[0]).toBe('append 9+2')
  })

  it('fills hollow batches and holes, and merges neighbouring fills', () => {
    const set = [batch({ baseOffset: 3n }), hollow(4n, 6), controlBatch(12n, 8n, 1), batch({ baseOffset: 13n })]
    expect(brief(run(set))).toEqual(['fill 0+3 hole', 'append 3+1', 'fill 4+9 hollow', 'append 13+1'])
    expect(brief(run(set, 6n))).toEqual(['fill 6+7 hollow', 'append 13+1'])
  })

  it('skips batches that end below the wanted offset and cuts one that reaches beyond', () => {
    const set = [batch({ baseOffset: 0n, records: 10 }), batch({ baseOffset: 10n, records: 10 })]
    expect(brief(run(set, 10n))).toEqual(['append 10+10'])
    expect(brief(run(set, 20n))).toEqual([])
    expect(brief(run(set, 12n))).toEqual(['append 12+8 rewritten'])
  })

  it('opens what must be opened and nothing else', () => {
    const set = [
      batch({ baseOffset: 3n, records: 2 }),
      batch({ baseOffset: 5n, attributes: 8, records: 2 }), // append time
      batch({ baseOffset: 7n, deltas: [1, 2, 5], lastOffsetDelta: 6 }), // thinned
      oldMessage(15n, 1),
      batch({ baseOffset: 16n, attributes: 0x40 }), // delete horizon: the patch clears it
    ]
    const expected = ['append 3+2', 'append 5+2 rewritten', 'fill 7+1 hole', 'append 8+2 rewritten', 'fill 10+2 hole']
    const more = ['append 12+1 rewritten', 'fill 13+2 hole', 'append 15+1 rewritten', 'append 16+1']
    expect(brief(run(set, 3n))).toEqual([...expected, ...more])
  })

  it('refuses one bad batch with a sentence, after what came before', () => {
    const damaged = batch({ baseOffset: 5n })
    damaged[70]! ^= 1
    const cases: [Buffer, RegExp][] = [
      [batch({ baseOffset: 5n, attributes: 4 }), /^append/],
      [batch({ baseOffset: 5n, attributes: 4 | 8 }), /offset 5: its codec zstd can't be opened: /],
      [batch({ baseOffset: 5n, attributes: 5 | 8 }), /offset 5: its codec 5 \(unknown\) can't be opened: /],
      [damaged, /offset 5: its CRC says/],
      [
        batch({ baseOffset: 5n, valueSize: 1000 }),
        /record at offset 5 takes 1072 bytes as a batch of its own, more than .* max.message.bytes=1000/,
      ],
    ]
    for (const [bytes, reason] of cases) {
      const steps = run([batch({ baseOffset: 3n, records: 2 }), bytes, batch({ baseOffset: 50n })], 3n, [], 1000)
      if (reason.source === '^append') expect(brief(steps)).toEqual(['append 3+2', 'append 5+1', 'fill 6+44 hole', 'append 50+1'])
      else {
        expect(brief(steps)).toEqual(['append 3+2', 'refuse 5'])
        expect(steps[1]).toHaveProperty('reason', expect.stringMatching(reason))
      }
    }
  })

  it('takes no hole before an old compressed wrapper, whose offset is that of its last message', () => {
    expect(brief(run(Buffer.from(COMPRESSED['java 2.8.2 magic 1 lz4']!, 'base64'), 1000n))).toEqual(['append 1000+400 rewritten'])
    expect(brief(run(Buffer.from(COMPRESSED['java 2.8.2 magic 1 lz4']!, 'base64'), 990n))).toEqual([
      'fill 990+10 hole',
      'append 1000+400 rewritten',
    ])
  })

  it('makes one step of small batches that follow each other, up to what must stay apart', () => {
    const small = [batch({ records: 2 }), batch({ baseOffset: 2n }), batch({ baseOffset: 3n, records: 4 })]
    const set = [...small, batch({ baseOffset: 7n, leaderEpoch: 4 }), batch({ baseOffset: 8n, leaderEpoch: 4 }), batch({ baseOffset: 10n })]
    const steps = run(set) as AppendStep[]
    expect(brief(steps)).toEqual(['append 0+7', 'append 7+2', 'fill 9+1 hole', 'append 10+1'])
    expect(steps.map(({ batches }) => batches)).toEqual([3, 2, undefined, 1])
    expect(steps[0]!.bytes).toEqual(Buffer.concat(small))
    const broken = Buffer.from(small[1]!)
    broken[broken.length - 1]! ^= 1
    expect(brief(run([small[0]!, broken, small[2]!]))).toEqual(['append 0+2', 'refuse 2'])
  })

  it('cuts a set that ends inside of transactions before them, unless there is nothing before', () => {
    const data = (baseOffset: bigint, producerId: bigint) => batch({ baseOffset, records: 2, attributes: TRANSACTIONAL, producerId })
    const whole = [data(0n, 1n), data(2n, 2n), controlBatch(4n, 1n, 1), controlBatch(5n, 2n, 1)]
    const all = ['append 0+2', 'append 2+2', 'fill 4+2 control']
    expect(brief(run(whole))).toEqual(all)
    expect(brief(run([...whole, data(6n, 1n), data(8n, 2n), controlBatch(10n, 2n, 1)]))).toEqual(all)
    expect(brief(run([...whole, data(6n, 1n)], 6n))).toEqual(['append 6+2'])
    // An aborted one has nothing to show.
    const aborted = [{ producerId: 1n, firstOffset: 6n }]
    expect(brief(run([...whole, data(6n, 1n)], 0n, aborted))).toEqual(['append 0+2', 'append 2+2', 'fill 4+4 control'])
    expect(brief(run(whole.slice(0, 2)))).toEqual(['append 0+2', 'append 2+2'])
  })

  it('handles empty and truncated sets', () => {
    const one = batch({ records: 3 })
    expect(run(Buffer.alloc(0))).toEqual([])
    expect(brief(run([one, batch({ baseOffset: 3n }).subarray(0, 40)]))).toEqual(['append 0+3'])
    expect(run(one.subarray(0, one.length - 1))).toEqual([])
  })

  it('finds a hole where a double can no longer tell offsets apart', () => {
    const start = 2n ** 53n - 2n
    const set = [0n, 1n, 3n, 4n].map((delta) => batch({ baseOffset: start + delta }))
    const steps = brief(run(set, start))
    expect(steps).toEqual([`append ${start}+2`, `fill ${start + 2n}+1 hole`, `append ${start + 3n}+1`, `append ${start + 4n}+1`])
  })

  it('covers every wanted offset exactly once', () => {
    const piece = fc.record({
      gap: fc.constantFrom(0, 0, 0, 3),
      size: fc.integer({ min: 1, max: 5 }),
      kind: fc.constantFrom('data', 'aborted', 'control', 'hollow'),
    })
    const start = fc.constantFrom(0n, 5n, 2n ** 31n - 3n, 2n ** 53n - 3n, 2n ** 62n)
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), start, fc.nat(), (pieces, first, pick) => {
        const aborted: AbortedTransaction[] = []
        const sets: Buffer[] = []
        const boundaries: bigint[] = []
        const kinds = new Map<bigint, boolean>()
        let at = first
        for (const [i, { gap, size, kind }] of pieces.entries()) {
          at += BigInt(gap)
          boundaries.push(at)
          const options: TestBatch = {
            baseOffset: at,
            records: size,
            attributes: kind === 'aborted' ? TRANSACTIONAL : 0,
            producerId: BigInt(i),
          }
          if (kind === 'aborted') aborted.push({ producerId: BigInt(i), firstOffset: at })
          sets.push(kind === 'control' ? controlBatch(at, 99n, 1) : kind === 'hollow' ? hollow(at, size) : batch(options))
          const offsets = BigInt(kind === 'control' ? 1 : size)
          for (let o = at; o < at + offsets; o++) kinds.set(o, kind === 'data')
          at += offsets
        }
        const from = boundaries[pick % Math.max(1, boundaries.length)] ?? first
        let next = from
        for (const step of run(sets, from, aborted)) {
          if (step.kind === 'refuse') throw new Error(step.reason)
          expect(step.baseOffset).toBe(next)
          expect(step.count).toBeGreaterThan(0)
          for (let o = next; o < next + BigInt(step.count); o++) expect(kinds.get(o) ?? false).toBe(step.kind === 'append')
          next += BigInt(step.count)
        }
        expect(next).toBe(sets.length === 0 ? from : at)
      }),
      { numRuns: 500 },
    )
  })
})

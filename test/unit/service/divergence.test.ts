import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Cluster } from '../../../src/client/cluster.js'
import type { OpenRecord } from '../../../src/records/open-records.js'
import { reEncode } from '../../../src/records/re-encode.js'
import { countVisible, findDivergence, firstDifference } from '../../../src/service/recovery/divergence.js'
import type { PartitionLog } from '../../../src/service/recovery/visible-batches.js'

const NO_RECORDS = Buffer.alloc(0)
const TOPIC_ID = '00000000-0000-0000-0000-00000000000a'

const record = (offset: number, text: string, timestamp = 1_000): OpenRecord => ({
  offset: BigInt(offset),
  timestamp: BigInt(timestamp),
  content: Buffer.concat([Buffer.from([1, text.length * 2]), Buffer.from(text), Buffer.from([0])]),
})

/** A log of one record a batch; an undefined text is an offset that shows consumers nothing. */
function logOf(texts: readonly (string | undefined)[], fetches: bigint[] = []): PartitionLog {
  const batches = texts.map((text, offset) =>
    text === undefined ? NO_RECORDS : [...reEncode([record(offset, text)], { compression: 'none', leaderEpoch: 0 }, 1e6)][0]!.bytes,
  )
  const answer = (fetchOffset: bigint) => {
    fetches.push(fetchOffset)
    const records = Buffer.concat(batches.slice(Number(fetchOffset), Number(fetchOffset) + 500))
    return { errorCode: 0, responses: [{ partitions: [{ errorCode: 0, records, abortedTransactions: [] }] }] }
  }
  const cluster = {
    leader: async (_topic: string, _partition: number, _api: unknown, request: { topics: [{ partitions: [{ fetchOffset: bigint }] }] }) =>
      answer(request.topics[0].partitions[0].fetchOffset),
  }
  return { cluster: cluster as unknown as Cluster, topic: 't', topicId: TOPIC_ID, partition: 0 }
}

const texts = (length: number, text: (offset: number) => string) => Array.from({ length }, (_, offset) => text(offset))

async function* batches(...list: OpenRecord[][]) {
  for (const records of list) yield { records, isHidden: false }
}

async function* hidden(...offsets: number[]) {
  for (const offset of offsets) yield { records: [record(offset, 'marker')], isHidden: true }
}

async function* inTurn(...parts: ReturnType<typeof batches>[]) {
  for (const part of parts) yield* part
}

describe('the first difference of two logs', () => {
  it.each([
    ['content', [record(1, 'a'), record(2, 'b')], [record(1, 'a'), record(2, 'c')], { differsFrom: 2n, afterEqual: true }],
    ['timestamp', [record(1, 'a', 5)], [record(1, 'a', 6)], { differsFrom: 1n, afterEqual: false }],
    ['one more on the destination', [record(1, 'a')], [record(1, 'a'), record(2, 'b')], { differsFrom: 2n, afterEqual: true }],
    ['one more on the source', [record(1, 'a'), record(3, 'b')], [record(3, 'b')], { differsFrom: 1n, afterEqual: false }],
  ])('%s', async (_, there, here, expected) => {
    expect(await firstDifference(batches(there), batches(here), true)).toEqual(expected)
  })

  it('does not mind what was compacted on one side only, unless strict', async () => {
    const there = [record(2, 'b'), record(9, 'x')]
    const here = [record(1, 'a'), record(2, 'b'), record(5, 'c'), record(9, 'x')]
    expect(await firstDifference(batches(there), batches(here), false)).toEqual({ differsFrom: undefined, afterEqual: true })
    expect(await firstDifference(batches(here), batches(there), false)).toEqual({ differsFrom: undefined, afterEqual: true })
    expect(await firstDifference(batches(there), batches(here), true)).toEqual({ differsFrom: 1n, afterEqual: false })
  })

  it.each([false, true])('is a record where the other log holds what consumers do not see, strict: %s', async (strict) => {
    const dark = () => inTurn(batches([record(1, 'a')]), hidden(2), batches([record(3, 'c')]))
    const lit = () => batches([record(1, 'a'), record(2, 'foreign'), record(3, 'c')])
    expect(await firstDifference(dark(), lit(), strict)).toEqual({ differsFrom: 2n, afterEqual: true })
    expect(await firstDifference(lit(), dark(), strict)).toEqual({ differsFrom: 2n, afterEqual: true })
    // Aborted records are filled with markers, and a hole of the source too.
    expect(await firstDifference(hidden(1, 2), hidden(1, 2, 3), strict)).toEqual({ differsFrom: undefined, afterEqual: false })
  })

  it('does not take what is hidden in both for records that are equal', async () => {
    const of = (text: string) => inTurn(hidden(1, 2), batches([record(3, text)]))
    expect(await firstDifference(of('a'), of('b'), true)).toEqual({ differsFrom: 3n, afterEqual: false })
  })

  it('is the same however the records are batched', async () => {
    const offsets = fc.uniqueArray(fc.nat(30), { maxLength: 20 }).map((list) => list.sort((a, b) => a - b))
    const letters = fc.constantFrom('a', 'b')
    await fc.assert(
      fc.asyncProperty(offsets, offsets, letters, letters, fc.integer({ min: 1, max: 5 }), async (ours, theirs, a, b, size) => {
        const [here, there] = [ours.map((o) => record(o, a)), theirs.map((o) => record(o, o < 15 ? a : b))]
        const cut = (list: OpenRecord[]) =>
          Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size))
        const whole = await firstDifference(batches(there), batches(here), true)
        expect(await firstDifference(batches(...cut(there)), batches(...cut(here)), true)).toEqual(whole)
        const expected = Array.from({ length: 31 }, (_, o) => o).find((o) => {
          const [has, had] = [ours.includes(o), theirs.includes(o)]
          return has !== had || (has && had && o >= 15 && a !== b)
        })
        expect(whole.differsFrom).toEqual(expected === undefined ? undefined : BigInt(expected))
      }),
    )
  })
})

describe('where two logs diverge', () => {
  const source = texts(5_000, (o) => `r${o}`)
  const range = (sourceEnd: number, destinationEnd: number, more: object = {}) => ({
    from: 0n,
    sourceEnd: BigInt(sourceEnd),
    destinationEnd: BigInt(destinationEnd),
    strict: true,
    ...more,
  })

  it('is nowhere when the destination is the beginning of the source, which costs one short look', async () => {
    const fetches: bigint[] = []
    expect(await findDivergence(logOf(source), logOf(source.slice(0, 4_000), fetches), range(5_000, 4_000))).toBeUndefined()
    expect(fetches).toEqual([3_900n])
  })

  it.each([0, 1, 500, 3_899, 3_999])('is found at %i, whatever follows', async (at) => {
    const shifted = [...source.slice(0, at), 'foreign', ...source.slice(at, 3_999)]
    expect(await findDivergence(logOf(source), logOf(shifted), range(5_000, 4_000))).toBe(BigInt(at))
  })

  it('is looked for further back where compaction has left nothing on both sides', async () => {
    const cleaned = (keep: (offset: number) => boolean, text: (offset: number) => string) =>
      Array.from({ length: 4_000 }, (_, offset) => (keep(offset) ? text(offset) : undefined))
    const [there, here] = [(offset: number) => offset < 50 || offset % 2 === 0, (offset: number) => offset < 50 || offset % 2 === 1]
    const original = (offset: number) => `r${offset}`
    const lost = (offset: number) => (offset < 40 ? `r${offset}` : `other${offset}`)
    const compacted = range(4_000, 3_998, { strict: false })
    expect(await findDivergence(logOf(cleaned(there, original)), logOf(cleaned(here, lost)), compacted)).toBe(40n)
    expect(await findDivergence(logOf(cleaned(there, original)), logOf(cleaned(here, original)), compacted)).toBeUndefined()
  })

  it('is at the source’s end when the destination goes on behind it', async () => {
    const longer = [...source, 'foreign', 'foreign']
    expect(await findDivergence(logOf(source), logOf(longer), range(5_000, 5_002))).toBe(5_000n)
    expect(await findDivergence(logOf([]), logOf(['foreign']), range(0, 1))).toBe(0n)
  })

  it('is where both begin when nothing is equal, or nothing is left to compare', async () => {
    const other = texts(4_000, (o) => `other${o}`)
    expect(await findDivergence(logOf(source), logOf(other), range(5_000, 4_000, { from: 10n }))).toBe(10n)
    expect(await findDivergence(logOf(source), logOf(other), range(5, 4_000, { from: 10n }))).toBe(10n)
  })

  it('counts what consumers see of it', async () => {
    expect(await countVisible(logOf(texts(700, String)), 100n, 650n, 1e6)).toEqual({ records: 550, complete: true })
    expect((await countVisible(logOf(texts(700, String)), 0n, 700n, 100)).complete).toBe(false)
  })
})

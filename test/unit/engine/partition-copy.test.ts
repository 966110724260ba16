import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ConnectionError } from '../../../src/client/errors.js'
import { ByteBudget, Slab } from '../../../src/engine/byte-budget.js'
import type { CopyEnd, CopyPorts, CopyStart, FetchedPartition } from '../../../src/engine/copy-session.js'
import { PartitionCopy } from '../../../src/engine/partition-copy.js'
import { RateLimit } from '../../../src/engine/rate-limit.js'
import { batch, controlBatch, oldMessage } from '../../support/batches.js'
import { expectedLog, ModelDestination, type SourceEntry, TIMESTAMP_ORIGIN } from './model-destination.js'

const turn = () => new Promise((resolve) => setImmediate(resolve))
const PRODUCER = 4711n
const LOST = new ConnectionError({ kind: 'closed', address: { host: 'b', port: 9092 }, reason: 'gone', uncertain: true })

const START: CopyStart = {
  topic: 'orders',
  partition: 0,
  sourceTopicId: 's',
  destinationTopicId: 'd',
  sourceLeaderEpoch: 1,
  from: 0n,
  fetchFrom: 0n,
  lastEpoch: -1,
  everMirrored: true,
  producerId: PRODUCER,
  producerEpoch: 0,
  nextSequence: 0,
  producerKnown: true,
  maxMessageBytes: 1_000_000,
}

/** Says zstd, so that it is sent by itself: only plain batches are merged. */
const dataBatch = (baseOffset: bigint, records: number, leaderEpoch = 0) =>
  batch({ baseOffset, records, leaderEpoch, timestamp: TIMESTAMP_ORIGIN + baseOffset, attributes: 4 })
const plainBatch = (baseOffset: bigint, records: number, leaderEpoch = 0) =>
  batch({ baseOffset, records, leaderEpoch, timestamp: TIMESTAMP_ORIGIN + baseOffset })

const fetchedOf = (records: Buffer, more: Partial<FetchedPartition> = {}): FetchedPartition => ({
  records,
  highWatermark: 1_000n,
  lastStableOffset: 1_000n,
  logStartOffset: 0n,
  abortedTransactions: [],
  ...more,
})

type Taken = NonNullable<ReturnType<PartitionCopy['takeBatch']>>

/** One session with ports that a test answers by hand. */
class Session {
  readonly calls: string[] = []
  readonly budget: ByteBudget
  ready = false
  ended: CopyEnd | undefined
  settled = false
  pending: { readonly what: 'fill' | 'epoch'; readonly count: number; done(): void; fail(error: Error): void } | undefined
  readonly copy: PartitionCopy
  readonly clock = { now: 0 }

  constructor(start: Partial<CopyStart> = {}, budget = new ByteBudget(1 << 20)) {
    this.budget = budget
    const wait = (what: 'fill' | 'epoch', count: number) =>
      new Promise<void>((resolve, reject) => {
        expect(this.pending).toBeUndefined()
        const end = (over: () => void) => () => {
          this.pending = undefined
          over()
        }
        this.pending = { what, count, done: end(resolve), fail: (error) => end(() => reject(error))() }
      })
    const ports: CopyPorts = {
      fill: (baseOffset, count) => {
        this.calls.push(`fill ${baseOffset}+${count}`)
        return wait('fill', count)
      },
      recordEpoch: (epoch, startOffset) => {
        this.calls.push(`epoch ${epoch}@${startOffset}`)
        return wait('epoch', 0)
      },
      ready: () => {
        this.ready = true
      },
      logStartMoved: () => {},
      worked: () => {},
      classify: (error) => ({ kind: 'retry', reason: (error as Error).message }),
    }
    this.copy = new PartitionCopy({ ...START, ...start }, ports, { bytes: 0, records: 0, rewritten: 0 }, () => this.clock.now)
    void this.copy.whenOver().then((end) => {
      this.ended = end
    })
  }

  fetch(records: Buffer, more: Partial<FetchedPartition> = {}): void {
    const slab = new Slab(this.budget, records.length)
    try {
      this.copy.fetched(fetchedOf(records, more), slab)
    } finally {
      slab.release()
    }
  }

  /** As a lane pulls: only after it was told, and until there is nothing. */
  take(): Taken | undefined {
    if (!this.ready) return undefined
    const taken = this.copy.takeBatch()
    if (taken === undefined) this.ready = false
    return taken
  }

  takeAll(): Taken[] {
    const all: Taken[] = []
    for (let taken = this.take(); taken !== undefined; taken = this.take()) all.push(taken)
    return all
  }

  answer({ step, slab }: Taken, answer: { errorCode?: number; baseOffset?: bigint; message?: string } = {}): void {
    this.copy.answered(step, slab, { errorCode: 0, baseOffset: step.baseOffset, message: null, ...answer })
  }
}

describe('copying one partition', () => {
  it('sends up to five batches ahead, in order, with sequences counted modulo 2^31', () => {
    const session = new Session({ nextSequence: 2 ** 31 - 3, lastEpoch: 0 })
    session.fetch(Buffer.concat([0, 2, 4, 6, 8, 10, 12].map((base) => dataBatch(BigInt(base), 2))))
    const taken = session.takeAll()
    expect(taken.map(({ step }) => [step.baseOffset, step.bytes.readInt32BE(53)])).toEqual([
      [0n, 2 ** 31 - 3],
      [2n, 2 ** 31 - 1],
      [4n, 1],
      [6n, 3],
      [8n, 5],
    ])
    expect(taken.every(({ step }) => step.bytes.readBigInt64BE(43) === PRODUCER)).toBe(true)
    session.answer(taken[0]!)
    expect(session.copy.logEndOffset).toBe(2n)
    expect(session.takeAll().map(({ step }) => step.baseOffset)).toEqual([10n])
  })

  it('sends one batch alone while the broker may not know the producer, which would take the second for the first', () => {
    const session = new Session({ producerKnown: false, lastEpoch: 0 })
    session.fetch(Buffer.concat([0n, 1n, 2n].map((base) => dataBatch(base, 1))))
    const first = session.takeAll()
    expect(first.length).toBe(1)
    session.answer(first[0]!)
    expect(session.takeAll().length).toBe(2)
  })

  it('sends one batch alone again after a silence in which the producer may have been forgotten', () => {
    const session = new Session({ lastEpoch: 0 })
    session.clock.now = 24 * 3_600_000
    session.fetch(Buffer.concat([0n, 1n, 2n].map((base) => dataBatch(base, 1))))
    expect(session.takeAll().length).toBe(1)
  })

  it('sends small plain neighbours as one batch, up to what is not to be merged with them', () => {
    const session = new Session({ from: 5n, fetchFrom: 5n, lastEpoch: 0, nextSequence: 7 })
    const records = [
      plainBatch(5n, 2),
      plainBatch(7n, 1),
      plainBatch(8n, 3),
      dataBatch(11n, 1),
      plainBatch(12n, 1),
      controlBatch(13n, 1n, 1),
      plainBatch(14n, 1),
    ]
    session.fetch(Buffer.concat(records))
    const taken = session.takeAll()
    expect(taken.map(({ step }) => [step.baseOffset, step.count, step.bytes.readInt32BE(53)])).toEqual([
      [5n, 6, 7],
      [11n, 1, 13],
      [12n, 1, 14],
    ])
    for (const one of taken) session.answer(one)
    expect(session.copy.logEndOffset).toBe(13n)
    session.copy.finish({ kind: 'retry', reason: 'over' })
    expect(session.budget.usedBytes).toBe(0)
  })

  it('sends small batches one by one where they cannot be merged, and counts what was encoded anew as memory of its own', () => {
    const session = new Session({ lastEpoch: 0, nextSequence: 7 })
    const far = batch({ baseOffset: 1n, records: 2, leaderEpoch: 0, timestamp: 1n << 60n })
    const cut = batch({ baseOffset: 3n, deltas: [0, 1], lastOffsetDelta: 2, leaderEpoch: 0 })
    session.fetch(Buffer.concat([plainBatch(0n, 1), far, cut]))
    const taken = session.takeAll()
    expect(taken.map(({ step }) => [step.baseOffset, step.count, step.batches, step.rewritten])).toEqual([
      [0n, 1, 1, false],
      [1n, 2, 1, false],
      [3n, 2, 1, true],
    ])
    session.answer(taken[0]!)
    session.answer(taken[1]!)
    expect(session.budget.usedBytes).toBe(taken[2]!.step.bytes.length)
    session.answer(taken[2]!)
    expect(session.budget.usedBytes).toBe(0)
    expect(session.calls).toEqual(['fill 5+1'])
  })

  it('puts a new leader epoch on record before its first batch, while older ones are in flight', async () => {
    const session = new Session({ lastEpoch: 3 })
    session.fetch(Buffer.concat([dataBatch(0n, 1, 3), dataBatch(1n, 1, 4), dataBatch(2n, 1, 4)]))
    expect(session.takeAll().map(({ step }) => step.baseOffset)).toEqual([0n])
    session.fetch(dataBatch(3n, 1, 4))
    expect(session.takeAll()).toEqual([])
  })

  it('puts on record that something was copied even where the format has no leader epochs', async () => {
    const session = new Session({ everMirrored: false })
    session.fetch(Buffer.concat([oldMessage(0n, 1), oldMessage(1n, 1)]))
    expect(session.calls).toEqual(['epoch -1@0'])
    expect(session.takeAll()).toEqual([])
    session.pending!.done()
    await turn()
    expect(session.takeAll().reduce((sum, { step }) => sum + step.count, 0)).toBe(2)
    expect(session.copy.lastFetchedEpoch).toBe(-1)
  })

  it('does not try again and again to merge what cannot be merged', () => {
    const session = new Session({ lastEpoch: 0 })
    const far = (base: number) => batch({ baseOffset: BigInt(base), leaderEpoch: 0, timestamp: base % 2 === 0 ? 1n << 60n : 0n })
    session.fetch(Buffer.concat(Array.from({ length: 400 }, (_, base) => far(base))))
    let merges = 0
    const real = Buffer.allocUnsafe
    Buffer.allocUnsafe = (size) => {
      if (size > 10_000) merges++
      return real(size)
    }
    try {
      for (let sent = 0; sent < 400; sent++) session.answer(session.take()!)
    } finally {
      Buffer.allocUnsafe = real
    }
    expect(session.copy.logEndOffset).toBe(400n)
    expect(merges).toBeLessThan(3)
  })

  it('fills only with nothing in flight, and sends nothing before the fill is over', async () => {
    const session = new Session({ lastEpoch: 3 })
    session.fetch(Buffer.concat([dataBatch(0n, 2, 3), controlBatch(2n, 1n, 1), dataBatch(3n, 1, 3)]))
    const [taken] = session.takeAll()
    expect(session.calls).toEqual([])
    session.answer(taken!)
    expect(session.calls).toEqual(['fill 2+1'])
    expect(session.takeAll()).toEqual([])
    session.pending!.done()
    await turn()
    expect(session.copy.logEndOffset).toBe(3n)
    expect(session.takeAll().map(({ step }) => step.baseOffset)).toEqual([3n])
  })

  it.each([
    ['an offset above the expected one', { baseOffset: 7n }, 'failed'],
    ['an offset below the expected one', { baseOffset: 0n }, 'failed'],
    ['out of order', { errorCode: 45 }, 'realign'],
    ['not enough replicas', { errorCode: 19 }, 'realign'],
    ['another leader', { errorCode: 6 }, 'moved'],
    ['a fenced producer', { errorCode: 47 }, 'fenced'],
    ['a bad timestamp', { errorCode: 32, message: 'too far ahead' }, 'failed'],
    ['no right', { errorCode: 29 }, 'retry'],
  ] as const)('ends at an answer of %s', async (_, answer, kind) => {
    const session = new Session({ from: 5n, fetchFrom: 5n, lastEpoch: 0 })
    session.fetch(Buffer.concat([dataBatch(5n, 1), dataBatch(6n, 1)]))
    const taken = session.takeAll()
    session.answer(taken[0]!, answer)
    await turn()
    expect(session.ended?.kind).toBe(kind)
    let settled = false
    void session.copy.settled().then(() => {
      settled = true
    })
    await turn()
    expect(settled).toBe(false)
    session.answer(taken[1]!, { errorCode: 45 })
    await turn()
    expect([settled, session.ended?.kind, session.budget.usedBytes]).toEqual([true, kind, 0])
  })

  it('names the refused offset with the broker’s words', async () => {
    const session = new Session({ lastEpoch: 0 })
    session.fetch(dataBatch(0n, 1))
    session.answer(session.take()!, { errorCode: 32, message: 'Timestamp 99 of message with offset 0 is out of range.' })
    await turn()
    expect(session.ended).toMatchObject({ kind: 'failed', reason: expect.stringMatching(/Timestamp 99.*offset 0/) })
  })

  it('copies up to what it cannot copy, then fails with a sentence, and asks for nothing behind it', async () => {
    const session = new Session({ lastEpoch: 0 })
    session.fetch(Buffer.concat([dataBatch(0n, 1), batch({ baseOffset: 1n, attributes: 8 | 5 })]))
    expect([session.copy.wantsData, session.copy.fetchOffset]).toEqual([false, 1n])
    expect(session.ended).toBeUndefined()
    session.answer(session.take()!)
    await turn()
    expect(session.ended).toMatchObject({ kind: 'failed', reason: expect.stringContaining('its codec 5 (unknown)') })
  })

  it('fails with the offset when the source’s bytes are corrupt, after what was whole', async () => {
    const session = new Session({ lastEpoch: 0 })
    const corrupt = dataBatch(1n, 1)
    corrupt[corrupt.length - 1]! ^= 1
    session.fetch(corrupt)
    await turn()
    expect(session.ended).toMatchObject({ kind: 'failed', reason: expect.stringContaining('offset 1') })
  })

  it('knows whether an append may still land', () => {
    const refused = new ConnectionError({ kind: 'closed', address: { host: 'b', port: 9092 }, reason: 'never written' })
    for (const [error, uncertain] of [
      [refused, false],
      [LOST, true],
    ] as const) {
      const session = new Session({ lastEpoch: 0 })
      session.fetch(dataBatch(0n, 1))
      const { step, slab } = session.take()!
      session.copy.unanswered(step, slab, error)
      expect(session.copy.uncertain).toBe(uncertain)
    }
  })

  it('drains what was read and ignores what is read later', async () => {
    const session = new Session({ lastEpoch: 3 })
    session.fetch(Buffer.concat([dataBatch(0n, 1), controlBatch(1n, 1n, 1)]))
    session.copy.drain()
    session.fetch(dataBatch(2n, 1))
    expect(session.copy.wantsData).toBe(false)
    session.answer(session.take()!)
    session.pending!.done()
    await turn()
    await session.copy.settled()
    expect([session.ended?.kind, session.copy.logEndOffset]).toEqual(['drained', 2n])
  })

  it('wants no more while much is waiting, and again once that is appended', () => {
    const session = new Session({ lastEpoch: 0 }, new ByteBudget(64 << 20))
    const big = (base: bigint) => batch({ baseOffset: base, records: 1, leaderEpoch: 0, valueSize: 900_000 })
    session.fetch(Buffer.concat([0n, 1n, 2n, 3n, 4n].map(big)))
    expect(session.copy.wantsData).toBe(false)
    const taken = session.takeAll()
    for (const one of taken) session.answer(one)
    expect(session.copy.wantsData).toBe(true)
  })

  it('reads no further ahead of a throttle than a tenth of a second', () => {
    const session = new Session({ lastEpoch: 0 }, new ByteBudget(64 << 20))
    session.copy.limit = new RateLimit(1_000_000, () => 0)
    session.fetch(batch({ baseOffset: 0n, records: 1, leaderEpoch: 0, valueSize: 90_000 }))
    expect([session.copy.wantsData, session.copy.bytesAhead]).toEqual([true, 100_000])
    session.fetch(batch({ baseOffset: 1n, records: 1, leaderEpoch: 0, valueSize: 20_000 }))
    expect(session.copy.wantsData).toBe(false)
  })

  it('lets go of everything when it is finished from outside', async () => {
    const session = new Session({ lastEpoch: 0 })
    session.fetch(Buffer.concat([0n, 1n, 2n, 3n, 4n, 5n, 6n].map((base) => dataBatch(base, 1))))
    const taken = session.takeAll()
    session.copy.finish({ kind: 'retry', reason: 'x' })
    session.copy.finish({ kind: 'failed', reason: 'too late' })
    expect(session.take()).toBeUndefined()
    for (const { step, slab } of taken) session.copy.unanswered(step, slab, LOST)
    await session.copy.settled()
    expect([session.ended?.kind, session.budget.usedBytes]).toEqual(['retry', 0])
  })
})

const entry = fc.record({
  kind: fc.constantFrom('data' as const, 'data' as const, 'data' as const, 'control' as const, 'hole' as const),
  count: fc.integer({ min: 1, max: 4 }),
  newEpoch: fc.boolean(),
  plain: fc.boolean(),
})

type Drawn = typeof entry extends fc.Arbitrary<infer T> ? T : never

function sourceOf(drawn: readonly Drawn[]): SourceEntry[] {
  let [baseOffset, leaderEpoch] = [0n, 0]
  return [...drawn, { kind: 'data' as const, count: 1, newEpoch: false, plain: true }].map(({ kind, count, newEpoch, plain }) => {
    if (newEpoch) leaderEpoch++
    const size = kind === 'control' ? 1 : count
    const bytes =
      kind === 'data'
        ? (plain ? plainBatch : dataBatch)(baseOffset, size, leaderEpoch)
        : kind === 'control'
          ? controlBatch(baseOffset, 9n, 1)
          : undefined
    const made = { kind, baseOffset, count: size, leaderEpoch, bytes }
    baseOffset += BigInt(size)
    return made
  })
}

/** What the source's leader gives from `offset` on: whole batches, the first one holding `offset`. */
function read(source: readonly SourceEntry[], offset: bigint, batches: number): Buffer {
  const from = source.filter(({ baseOffset, count, bytes }) => bytes !== undefined && baseOffset + BigInt(count) > offset)
  return Buffer.concat(from.slice(0, batches).map(({ bytes }) => Buffer.from(bytes!)))
}

/** Producer state and log end as alignment reads them: of one moment, however late appends land between the reads. */
function snapshot(destination: ModelDestination, between: () => void) {
  for (;;) {
    const before = destination.producer
    between()
    const { logEndOffset } = destination
    between()
    if (before?.nextSequence === destination.producer?.nextSequence) return { producer: before, logEndOffset }
  }
}

/** Sessions over one partition until all is copied, every fault at any point. */
async function copyAll(source: readonly SourceEntry[], chance: () => number): Promise<{ sessions: number; destination: ModelDestination }> {
  const destination = new ModelDestination()
  const wanted = expectedLog(source)
  const budget = new ByteBudget(1 << 20)
  const epochs: Array<{ epoch: number; startOffset: bigint }> = []
  /** Requests that a lost connection still holds: they land, in order, at some time. */
  const late: Buffer[] = []
  let faults = 12
  const fault = (percent: number) => faults > 0 && chance() < percent && faults-- > 0
  const checkPrefix = () => expect(destination.log).toEqual(wanted.slice(0, destination.log.length))
  const landLate = () => {
    for (let left = chance() % 3; left > 0 && late.length > 0; left--) destination.append(late.shift()!)
    checkPrefix()
  }
  for (let sessions = 1; sessions <= 60; sessions++) {
    landLate()
    const lateBefore = late.length
    const { producer, logEndOffset: from } = snapshot(destination, landLate)
    const lastEpoch = epochs.filter(({ startOffset }) => startOffset < from).at(-1)?.epoch ?? -1
    landLate()
    const start = { from, fetchFrom: from, lastEpoch, nextSequence: producer?.nextSequence ?? 0, producerKnown: producer !== undefined }
    const session = new Session(start, budget)
    const { copy } = session
    const outstanding: Taken[] = []
    let drainedAt: bigint | undefined
    for (let idle = 0; session.ended === undefined; ) {
      if (++idle > 2_000) throw new Error(`stuck at ${destination.logEndOffset} of ${wanted.length}: ${session.calls.slice(-3)}`)
      const action = chance() % 6
      if (action === 0 && copy.wantsData) session.fetch(read(source, copy.fetchOffset, 1 + (chance() % 4)))
      else if (action === 1) {
        const taken = session.take()
        if (taken !== undefined) outstanding.push(taken)
      } else if (action === 2 && outstanding.length > 0) {
        expect(session.pending?.what).not.toBe('fill')
        if (fault(6)) {
          // The connection is gone: a first part has landed, a second will, the rest never does.
          const landed = chance() % (outstanding.length + 1)
          const lost = outstanding.splice(0)
          lost.forEach(({ step }, i) => {
            if (i < landed) destination.append(step.bytes)
            else if (chance() < 50) late.push(Buffer.from(step.bytes))
          })
          for (const { step, slab } of lost) copy.unanswered(step, slab, LOST)
        } else {
          const taken = outstanding.shift()!
          const refused = fault(5)
          const answer = refused && chance() < 50 ? { errorCode: 19, baseOffset: -1n } : destination.append(taken.step.bytes)
          session.answer(taken, refused ? { errorCode: 20, baseOffset: -1n } : answer)
        }
      } else if (action === 3 && session.pending !== undefined) {
        const { pending } = session
        if (pending.what === 'fill') expect(outstanding).toEqual([])
        const [fails, lands] = [fault(8), chance() < 50]
        if (pending.what === 'fill' && (!fails || lands)) destination.mark(pending.count)
        if (pending.what === 'epoch' && (!fails || lands)) {
          const [epoch, startOffset] = session.calls.at(-1)!.slice(6).split('@')
          epochs.push({ epoch: Number(epoch), startOffset: BigInt(startOffset!) })
        }
        if (fails) pending.fail(new Error('no answer'))
        else pending.done()
      } else if (action === 4 && fault(3)) copy.finish({ kind: 'retry', reason: 'the source is gone' })
      else if (action === 5 && drainedAt === undefined && (fault(2) || destination.log.length === wanted.length)) {
        drainedAt = copy.fetchOffset
        copy.drain()
      } else if (late.length > 0 && chance() < 20) landLate()
      await turn()
      checkPrefix()
    }
    for (const taken of outstanding.splice(0)) session.answer(taken, destination.append(taken.step.bytes))
    session.pending?.done()
    await copy.settled()
    checkPrefix()
    expect(budget.usedBytes).toBe(0)
    expect(session.ended.kind).not.toBe('failed')
    // While an earlier append may still land, nobody confirms a removal: the life cycle keeps count of that.
    if (session.ended.kind === 'drained' && late.length === lateBefore) expect(destination.logEndOffset).toBe(drainedAt)
    if (destination.log.length === wanted.length && late.length === 0) return { sessions, destination }
  }
  throw new Error(`not copied after 60 sessions: ${destination.log.length} of ${wanted.length}`)
}

describe('copying one partition, whatever happens', () => {
  it('keeps the destination a prefix of the source, gets to its end, and lets go of all memory', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 25 }), fc.infiniteStream(fc.nat(99)), async (drawn, stream) => {
        const source = sourceOf(drawn)
        const { destination } = await copyAll(source, () => stream.next().value!)
        expect(destination.log).toEqual(expectedLog(source))
      }),
      { numRuns: 300 },
    )
  }, 60_000)
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FetchChange, type FetchPosition, FetchSession } from '../../../src/engine/fetch-session.js'

type Answer = { readonly error: 'none' | 'not found' | 'epoch'; readonly sessionId: number }

/** A broker's half of KIP-227, as `FetchManager.newContext` and `FetchSession` have it. */
class ModelBroker {
  private sessions = new Map<number, { epoch: number; partitions: Map<string, FetchPosition> }>()
  private nextId = 7

  fetch(change: FetchChange, keepSession: boolean): { answer: Answer; answersFor: Map<string, FetchPosition> } {
    const { sessionId, sessionEpoch, positions, forgotten } = change
    if (sessionEpoch <= 0) {
      this.sessions.delete(sessionId)
      const partitions = new Map(positions.map((p) => [keyOf(p), p]))
      const id = keepSession && sessionEpoch === 0 ? this.nextId++ : 0
      if (id !== 0) this.sessions.set(id, { epoch: 1, partitions })
      return { answer: { error: 'none', sessionId: id }, answersFor: partitions }
    }
    const session = this.sessions.get(sessionId)
    if (session === undefined) return { answer: { error: 'not found', sessionId: 0 }, answersFor: new Map() }
    if (session.epoch !== sessionEpoch) return { answer: { error: 'epoch', sessionId: 0 }, answersFor: new Map() }
    session.epoch++
    for (const position of positions) session.partitions.set(keyOf(position), position)
    for (const position of forgotten) session.partitions.delete(keyOf(position))
    return { answer: { error: 'none', sessionId }, answersFor: session.partitions }
  }

  evict(): void {
    this.sessions.clear()
  }
}

const keyOf = (p: { topicId: string; partition: number }) => `${p.topicId}/${p.partition}`
const position = (partition: number, fetchOffset: bigint, lastFetchedEpoch = 0, currentLeaderEpoch = 0): FetchPosition => ({
  topic: 'orders',
  topicId: 'id',
  partition,
  fetchOffset,
  lastFetchedEpoch,
  currentLeaderEpoch,
  maxBytes: 100,
})

const round = fc.record({
  wanted: fc.uniqueArray(fc.nat(5), { minLength: 1 }),
  moved: fc.array(fc.nat(5)),
  newEpoch: fc.option(fc.nat(5), { nil: undefined }),
  fault: fc.constantFrom('none', 'none', 'none', 'evicted', 'lost request', 'lost answer', 'no session'),
})

describe('a fetch session', () => {
  it('makes the broker read exactly what is wanted, wherever it is wanted, through evictions and lost requests', () => {
    fc.assert(
      fc.property(fc.array(round, { maxLength: 40 }), (rounds) => {
        const session = new FetchSession()
        const broker = new ModelBroker()
        const offsets = Array.from({ length: 6 }, () => 0n)
        const epochs = Array.from({ length: 6 }, () => 0)
        for (const { wanted, moved, newEpoch, fault } of rounds) {
          for (const partition of moved) offsets[partition]!++
          if (newEpoch !== undefined) epochs[newEpoch]!++
          const positions = wanted.map((partition) => position(partition, offsets[partition]!, epochs[partition], epochs[partition]))
          if (fault === 'evicted') broker.evict()
          const change = session.next(positions)
          if (fault === 'lost request') {
            session.reset()
            continue
          }
          const { answer, answersFor } = broker.fetch(change, fault !== 'no session')
          if (fault === 'lost answer' || answer.error !== 'none') {
            // An eviction is the only error a client that counts right ever sees.
            if (fault !== 'lost answer') expect(answer.error).toBe('not found')
            session.reset()
            continue
          }
          session.answered(answer.sessionId)
          expect(new Map([...answersFor].sort())).toEqual(new Map(positions.map((p) => [keyOf(p), p] as const).sort()))
        }
      }),
    )
  })

  it('names only what changed', () => {
    const session = new FetchSession()
    const first = session.next([position(0, 5n), position(1, 5n)])
    expect([first.sessionId, first.sessionEpoch, first.positions.length]).toEqual([0, 0, 2])
    session.answered(42)
    const second = session.next([position(0, 6n), position(1, 5n)])
    expect([second.sessionId, second.sessionEpoch, second.positions, second.forgotten]).toEqual([42, 1, [position(0, 6n)], []])
    session.answered(42)
    const third = session.next([position(1, 5n, 3)])
    expect(third.sessionEpoch).toBe(2)
    expect(third.positions).toEqual([position(1, 5n, 3)])
    expect(third.forgotten.map(({ partition }) => partition)).toEqual([0])
  })

  it('names everything to a broker that keeps no sessions', () => {
    const session = new FetchSession()
    for (let i = 0; i < 3; i++) {
      expect(session.next([position(0, 5n)])).toMatchObject({ sessionId: 0, sessionEpoch: 0, positions: [position(0, 5n)] })
      session.answered(0)
    }
  })

  it('goes on at 1 after the largest epoch, 0 being a new session', () => {
    const session = new FetchSession()
    session.next([position(0, 0n)])
    session.answered(9)
    Object.assign(session, { epoch: 0x7fffffff })
    session.answered(9)
    expect(session.next([]).sessionEpoch).toBe(1)
  })
})

import { describe, expect, it } from 'vitest'
import type { Connection } from '../../../src/client/connection.js'
import { ByteBudget } from '../../../src/engine/byte-budget.js'
import type { CopyEnd, CopyStart } from '../../../src/engine/copy-session.js'
import { Fetcher } from '../../../src/engine/fetcher.js'
import { PartitionCopy } from '../../../src/engine/partition-copy.js'
import { Errors } from '../../../src/protocol/errors.js'
import { batch } from '../../support/batches.js'

const turn = () => new Promise((resolve) => setImmediate(resolve))
const TOPIC_ID = '00000000-0000-0000-0000-00000000000a'
const NO_ID = '00000000-0000-0000-0000-000000000000'

interface Sent {
  readonly request: {
    sessionId: number
    sessionEpoch: number
    topics: Array<{
      topic: string
      topicId: string
      partitions: Array<{ partition: number; fetchOffset: bigint; lastFetchedEpoch: number }>
    }>
    forgottenTopicsData: Array<{ topic: string; partitions: number[] }>
  }
  readonly options: { maxVersion?: number; timeoutMs: number }
  answer(partitions: Record<string, unknown>[], more?: object): void
  fail(error: Error): void
}

/** A source leader whose answers the test gives. */
class FakeSource {
  readonly sent: Sent[] = []
  connections = 0
  open = true

  readonly connect = async (): Promise<Connection> => {
    this.connections++
    this.open = true
    const rejects = new Set<(error: Error) => void>()
    const isOpen = () => this.open
    const connection = {
      address: { host: 'source', port: 9092 },
      get open() {
        return isOpen()
      },
      versionOf: () => 17,
      send: (_api: unknown, request: Sent['request'], options: Sent['options']) =>
        new Promise((resolve, reject) => {
          rejects.add(reject)
          this.sent.push({
            request,
            options,
            fail: reject,
            answer: (partitions, more = {}) => {
              const byId = (options.maxVersion ?? 17) >= 13
              resolve({
                throttleTimeMs: 0,
                errorCode: 0,
                sessionId: 5,
                responses: [
                  {
                    topic: byId ? '' : 'orders',
                    topicId: byId ? TOPIC_ID : NO_ID,
                    partitions: partitions.map((p) => ({ ...ANSWER, ...p })),
                  },
                ],
                ...more,
              })
            },
          })
        }),
      close: async () => {
        this.open = false
        for (const reject of rejects) reject(new Error('closed'))
      },
    }
    return connection as unknown as Connection
  }

  get last(): Sent {
    return this.sent.at(-1)!
  }

  positions(): Record<string, bigint> {
    return Object.fromEntries(this.last.request.topics.flatMap((t) => t.partitions.map((p) => [p.partition, p.fetchOffset])))
  }
}

const ANSWER = {
  partitionIndex: 0,
  errorCode: 0,
  highWatermark: 100n,
  lastStableOffset: 100n,
  logStartOffset: 0n,
  divergingEpoch: { epoch: -1, endOffset: -1n },
  abortedTransactions: null,
  records: Buffer.alloc(0),
}

function copyOf(partition: number, from: bigint, start: Partial<CopyStart> = {}) {
  const calls: string[] = []
  let end: CopyEnd | undefined
  const copy = new PartitionCopy(
    {
      topic: 'orders',
      partition,
      sourceTopicId: TOPIC_ID,
      destinationTopicId: 'd',
      sourceLeaderEpoch: 3,
      from,
      fetchFrom: from,
      lastEpoch: 3,
      everMirrored: true,
      producerId: 1n,
      producerEpoch: 0,
      nextSequence: 0,
      producerKnown: true,
      maxMessageBytes: 1_000_000,
      ...start,
    },
    {
      fill: async (baseOffset, count) => void calls.push(`fill ${baseOffset}+${count}`),
      recordEpoch: async () => {},
      ready: () => void calls.push('ready'),
      logStartMoved: () => {},
      worked: () => {},
      classify: () => ({ kind: 'retry', reason: 'x' }),
    },
    { bytes: 0, records: 0, rewritten: 0 },
  )
  void copy.whenOver().then((reason) => {
    end = reason
  })
  return { copy, calls, end: () => end }
}

function setUp() {
  const source = new FakeSource()
  const budget = new ByteBudget(64 << 20)
  const fetcher = new Fetcher(source.connect, budget, (error) => ({ kind: 'retry', reason: (error as Error).message }))
  return { source, budget, fetcher }
}

describe('a fetcher', () => {
  it('asks for what comes next while the last is being appended, naming only what changed', async () => {
    const { source, fetcher } = setUp()
    fetcher.add(copyOf(0, 10n).copy)
    fetcher.add(copyOf(1, 20n).copy)
    await turn()
    expect(source.positions()).toEqual({ 0: 10n, 1: 20n })
    source.last.answer([{ partitionIndex: 1, records: batch({ baseOffset: 20n, records: 5 }) }])
    await turn()
    expect([source.last.request.sessionId, source.last.request.sessionEpoch, source.positions()]).toEqual([5, 1, { 1: 25n }])
    await fetcher.close()
  })

  it('gives nothing to a copy of the same partition that was added while the answer was under way', async () => {
    const { source, fetcher, budget } = setUp()
    const old = copyOf(0, 10n)
    fetcher.add(old.copy)
    fetcher.add(copyOf(1, 0n).copy)
    await turn()
    old.copy.finish({ kind: 'realign', reason: 'x' })
    const renewed = copyOf(0, 4n)
    fetcher.add(renewed.copy)
    await turn()
    source.last.answer([{ partitionIndex: 0, records: batch({ baseOffset: 10n, records: 5 }) }])
    await turn()
    expect([renewed.calls, renewed.copy.fetchOffset, budget.usedBytes]).toEqual([[], 4n, 0])
    expect(source.positions()).toEqual({ 0: 4n })
    await fetcher.close()
  })

  it('starts a new session when the broker has lost the old one', async () => {
    const { source, fetcher } = setUp()
    fetcher.add(copyOf(0, 10n).copy)
    await turn()
    source.last.answer([])
    await turn()
    expect(source.last.request.sessionEpoch).toBe(1)
    source.last.answer([], { errorCode: Errors.FETCH_SESSION_ID_NOT_FOUND, sessionId: 0, responses: [] })
    await turn()
    expect([source.last.request.sessionId, source.last.request.sessionEpoch, source.positions()]).toEqual([0, 0, { 0: 10n }])
    await fetcher.close()
  })

  it.each([
    [
      'a diverging epoch',
      { divergingEpoch: { epoch: 2, endOffset: 7n } },
      'failed',
      /truncated.*epoch 2 ends at offset 7, copied is up to 10/,
    ],
    ['an offset out of range', { errorCode: 1 }, 'realign', /offset 10 is out of/],
    ['a leader that moved', { errorCode: 6 }, 'moved', /NOT_LEADER/],
    ['a fenced epoch', { errorCode: 74 }, 'moved', /FENCED_LEADER_EPOCH/],
    ['a topic made anew', { errorCode: 100 }, 'moved', /UNKNOWN_TOPIC_ID/],
    ['a right that is missing', { errorCode: 29 }, 'retry', /TOPIC_AUTHORIZATION_FAILED/],
  ] as const)('ends one partition at %s, and goes on with the others', async (_, answer, kind, reason) => {
    const { source, fetcher } = setUp()
    const [bad, good] = [copyOf(0, 10n), copyOf(1, 20n)]
    fetcher.add(bad.copy)
    fetcher.add(good.copy)
    await turn()
    source.last.answer([answer, { partitionIndex: 1, records: batch({ baseOffset: 20n }) }])
    await turn()
    expect(bad.end()?.kind).toBe(kind)
    expect((bad.end() as { reason: string }).reason).toMatch(reason)
    expect([good.end(), good.copy.fetchOffset]).toEqual([undefined, 21n])
    expect(source.last.request.forgottenTopicsData).toMatchObject([{ topic: 'orders', partitions: [0] }])
    await fetcher.close()
  })

  it('tells all its partitions when the connection is lost, except those that only drain, and connects anew for the next', async () => {
    const { source, fetcher } = setUp()
    const [running, draining] = [copyOf(0, 10n), copyOf(1, 20n)]
    fetcher.add(running.copy)
    fetcher.add(draining.copy)
    await turn()
    source.last.answer([{ partitionIndex: 1, records: batch({ baseOffset: 20n }) }])
    await turn()
    draining.copy.drain()
    source.last.fail(new Error('connection reset'))
    await turn()
    expect(running.end()).toEqual({ kind: 'retry', reason: 'connection reset' })
    expect(draining.end()).toBeUndefined()
    const again = copyOf(0, 10n)
    fetcher.add(again.copy)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect([source.connections, source.last.request.sessionEpoch, source.positions()]).toEqual([2, 0, { 0: 10n }])
    const { step, slab } = draining.copy.takeBatch()!
    draining.copy.answered(step, slab, { errorCode: 0, baseOffset: 20n, message: null })
    await turn()
    expect(draining.end()).toEqual({ kind: 'drained' })
    await fetcher.close()
  })

  it('asks nothing over a connection that was lost between two fetches, since another cluster may answer there now', async () => {
    const { source, fetcher } = setUp()
    const { copy, end } = copyOf(0, 10n)
    fetcher.add(copy)
    await turn()
    source.open = false
    source.last.answer([])
    await turn()
    expect(end()).toEqual({ kind: 'retry', reason: 'source:9092: the connection was lost between two fetches' })
    expect([source.connections, source.sent.length]).toEqual([1, 1])
    await fetcher.close()
  })

  it('names topics by name where the source has given them no ids', async () => {
    const { source, fetcher } = setUp()
    const { copy } = copyOf(0, 10n, { sourceTopicId: NO_ID })
    fetcher.add(copy)
    await turn()
    expect(source.last.options.maxVersion).toBe(12)
    source.last.answer([{ records: batch({ baseOffset: 10n, records: 3 }) }])
    await turn()
    expect(copy.fetchOffset).toBe(13n)
    await fetcher.close()
  })

  it('waits longer for a broker that says it throttles us', async () => {
    const { source, fetcher } = setUp()
    fetcher.add(copyOf(0, 10n).copy)
    await turn()
    const before = source.last.options.timeoutMs
    source.last.answer([], { throttleTimeMs: 9_000 })
    await turn()
    expect(source.last.options.timeoutMs).toBe(before + 9_000)
    await fetcher.close()
  })

  it('stops asking while the budget is used up, and goes on when it is not', async () => {
    const { source, fetcher, budget } = setUp()
    const { copy } = copyOf(0, 10n)
    fetcher.add(copy)
    await turn()
    budget.take(40 << 20)
    source.last.answer([])
    await turn()
    expect(source.sent.length).toBe(1)
    budget.release(40 << 20)
    await turn()
    expect(source.sent.length).toBe(2)
    await fetcher.close()
  })

  it('leaves nobody waiting when it is closed: in a poll, in a connection attempt, for the budget, or added later', async () => {
    const polling = setUp()
    const inPoll = copyOf(0, 0n)
    polling.fetcher.add(inPoll.copy)
    await turn()
    await polling.fetcher.close()
    await turn()
    expect(inPoll.end()?.kind).toBe('retry')
    const late = copyOf(0, 0n)
    polling.fetcher.add(late.copy)
    await turn()
    expect(late.end()?.kind).toBe('realign')

    const waiting = setUp()
    waiting.budget.take(60 << 20)
    const forBudget = copyOf(0, 0n)
    waiting.fetcher.add(forBudget.copy)
    await turn()
    await waiting.fetcher.close()
    await turn()
    expect(forBudget.end()?.kind).toBe('realign')

    let connect = (_connection: Connection) => {}
    const opening = new Promise<Connection>((resolve) => {
      connect = resolve
    })
    const fetcher = new Fetcher(
      () => opening,
      new ByteBudget(1 << 20),
      (error) => ({ kind: 'retry', reason: String(error) }),
    )
    const inConnect = copyOf(0, 0n)
    fetcher.add(inConnect.copy)
    await turn()
    const closing = fetcher.close()
    const source = new FakeSource()
    connect(await source.connect())
    await closing
    await turn()
    expect([inConnect.end()?.kind, source.open, source.sent.length]).toEqual(['realign', false, 0])
  })
})

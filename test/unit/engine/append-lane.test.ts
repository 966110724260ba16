import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Cluster } from '../../../src/client/cluster.js'
import type { Connection } from '../../../src/client/connection.js'
import { ConnectionError } from '../../../src/client/errors.js'
import { AppendLane } from '../../../src/engine/append-lane.js'
import { ByteBudget, Slab } from '../../../src/engine/byte-budget.js'
import type { CopyEnd } from '../../../src/engine/copy-session.js'
import { DestinationLink } from '../../../src/engine/destination-link.js'
import { PartitionCopy } from '../../../src/engine/partition-copy.js'
import { RateLimit } from '../../../src/engine/rate-limit.js'
import { batch } from '../../support/batches.js'

/** Says zstd, so that batches are sent one by one: only plain ones are merged. */
const COMPRESSED = 4

const ADDRESS = { host: 'b', port: 9092 }
const TOPIC_ID = '00000000-0000-0000-0000-00000000000b'

interface Sent {
  /** Partition and source offset of each batch. */
  readonly batches: string[]
  answer(...errorCodes: number[]): void
  fail(error: Error): void
}

function setUp(mayAppend: () => boolean = () => true) {
  const sent: Sent[] = []
  const state = { open: true, closed: 0 }
  const connection = {
    get open() {
      return state.open
    },
    versionOf: () => 13,
    send: (
      _api: unknown,
      request: { topicData: Array<{ name: string; topicId: string; partitionData: Array<{ index: number; records: Buffer[] }> }> },
    ) =>
      new Promise((resolve, reject) => {
        const parts = request.topicData.flatMap((topic) => topic.partitionData)
        sent.push({
          batches: parts.map(({ index, records }) => `${index}@${offsetOf(records[0]!)}`),
          fail: reject,
          answer: (...errorCodes) =>
            resolve({
              responses: request.topicData.map(({ topicId, partitionData }) => ({
                name: '',
                topicId,
                partitionResponses: partitionData.map(({ index, records }, i) => ({
                  index,
                  errorCode: errorCodes[i] ?? 0,
                  baseOffset: offsetOf(records[0]!),
                  errorMessage: null,
                })),
              })),
            }),
        })
      }),
    close: async () => {
      state.open = false
      state.closed++
    },
  } as unknown as Connection
  const lane = new AppendLane(connection, mayAppend)
  const budget = new ByteBudget(1 << 30)
  const copyOf = (partition: number, batches: number, valueSize = 100) => {
    const seen: { end?: CopyEnd } = {}
    const copy: PartitionCopy = new PartitionCopy(
      {
        topic: 'orders',
        partition,
        sourceTopicId: 's',
        destinationTopicId: TOPIC_ID,
        sourceLeaderEpoch: 0,
        from: 0n,
        fetchFrom: 0n,
        lastEpoch: 0,
        everMirrored: true,
        producerId: 1n,
        producerEpoch: 0,
        nextSequence: 0,
        producerKnown: true,
        maxMessageBytes: 10_000_000,
      },
      {
        fill: async () => {},
        recordEpoch: async () => {},
        ready: () => lane.push(copy),
        logStartMoved: () => {},
        worked: () => {},
        classify: (error) => ({ kind: 'retry', reason: (error as Error).message }),
      },
      { bytes: 0, records: 0, rewritten: 0 },
      () => 0,
    )
    void copy.whenOver().then((end) => {
      seen.end = end
    })
    const records = Buffer.concat(
      Array.from({ length: batches }, (_, i) =>
        batch({ baseOffset: BigInt(i), records: 1, leaderEpoch: 0, timestamp: BigInt(i), valueSize, attributes: COMPRESSED }),
      ),
    )
    const fetch = () => {
      const slab = new Slab(budget, records.length)
      copy.fetched({ records, highWatermark: 9n, lastStableOffset: 9n, logStartOffset: 0n, abortedTransactions: [] }, slab)
      slab.release()
    }
    return { copy, fetch, seen }
  }
  return { lane, sent, state, copyOf, budget }
}

const offsetOf = (records: Buffer) => records.readBigInt64BE(27)
const turn = () => vi.advanceTimersByTimeAsync(0)

describe('an append lane', () => {
  beforeEach(() => void vi.useFakeTimers({ now: 1_000 }))
  afterEach(() => void vi.useRealTimers())

  it('puts one batch of every ready partition into a request, and sends at most five requests ahead', async () => {
    const { sent, copyOf } = setUp()
    for (const { fetch } of [copyOf(0, 7), copyOf(1, 2)]) fetch()
    await turn()
    expect(sent.map(({ batches }) => batches)).toEqual([['0@0', '1@0'], ['0@1', '1@1'], ['0@2'], ['0@3'], ['0@4']])
    sent[0]!.answer()
    await turn()
    expect(sent.slice(5).map(({ batches }) => batches)).toEqual([['0@5']])
  })

  it('takes partitions in turn where one request cannot hold all of them', async () => {
    const { sent, copyOf } = setUp()
    for (const partition of [0, 1, 2]) copyOf(partition, 2, 1_200_000).fetch()
    await turn()
    expect(sent.map(({ batches }) => batches)).toEqual([
      ['0@0', '1@0'],
      ['2@0', '0@1'],
      ['1@1', '2@1'],
    ])
  })

  it('gives every partition its own answer', async () => {
    const { sent, copyOf, budget } = setUp()
    const [good, bad] = [copyOf(0, 1), copyOf(1, 1)]
    for (const { fetch } of [good, bad]) fetch()
    await turn()
    sent[0]!.answer(0, 32)
    await turn()
    expect([good.seen.end, good.copy.logEndOffset, bad.seen.end?.kind]).toEqual([undefined, 1n, 'failed'])
    expect(budget.usedBytes).toBe(0)
  })

  it('closes a connection on which an answer is late, and tells all that wait', async () => {
    const { sent, copyOf, state, budget } = setUp()
    const { fetch, seen, copy } = copyOf(0, 3)
    fetch()
    await turn()
    sent[0]!.fail(new ConnectionError({ kind: 'timeout', address: ADDRESS, reason: 'no answer', uncertain: true }))
    for (const one of sent.slice(1)) one.fail(new ConnectionError({ kind: 'closed', address: ADDRESS, reason: 'closed', uncertain: true }))
    await turn()
    expect([state.open, seen.end?.kind, copy.uncertain, budget.usedBytes]).toEqual([false, 'retry', true, 0])
  })

  it('is not alarmed when the broker closed its idle connection', async () => {
    const { sent, copyOf, state } = setUp()
    const { fetch, seen, copy } = copyOf(0, 1)
    state.open = false
    fetch()
    await turn()
    expect([sent.length, seen.end?.kind, copy.uncertain]).toEqual([0, 'realign', false])
  })

  it('sends nothing once the group session is over', async () => {
    let alive = true
    const { sent, copyOf, budget } = setUp(() => alive)
    const first = copyOf(0, 1)
    first.fetch()
    await turn()
    alive = false
    const late = copyOf(1, 1)
    late.fetch()
    await turn()
    expect([sent.length, late.seen.end?.kind]).toEqual([1, 'retry'])
    sent[0]!.answer()
    await turn()
    expect(budget.usedBytes).toBe(0)
  })

  it('waits off a throttle, and notices within a fraction of a second that it was lifted', async () => {
    const { sent, copyOf } = setUp()
    const limit = new RateLimit(10, () => Date.now())
    const throttled = copyOf(0, 3, 10_000)
    throttled.copy.limit = limit
    const free = copyOf(1, 3)
    for (const { fetch } of [throttled, free]) fetch()
    await turn()
    expect(sent.flatMap(({ batches }) => batches).sort()).toEqual(['0@0', '1@0', '1@1', '1@2'])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(sent.flatMap(({ batches }) => batches).length).toBe(4)
    for (const one of sent) one.answer()
    throttled.copy.limit = undefined
    await vi.advanceTimersByTimeAsync(250)
    expect(sent.flatMap(({ batches }) => batches).length).toBe(6)
  })

  it('leaves no timer behind when it is closed', async () => {
    const { lane, copyOf } = setUp()
    const throttled = copyOf(0, 2, 10_000)
    throttled.copy.limit = new RateLimit(1, () => Date.now())
    throttled.fetch()
    await turn()
    expect(vi.getTimerCount()).toBe(1)
    await lane.close()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('the link to the destination', () => {
  it('has one lane for each leader and index, made anew once for all when it is lost', async () => {
    const opened: Array<{ open: boolean; brokerId: number; clientId: string }> = []
    const cluster = {
      dedicated: async (brokerId: number, { clientId }: { clientId: string }) => {
        const connection = { open: true, brokerId, clientId, close: async () => {} }
        opened.push(connection)
        return connection
      },
    } as unknown as Cluster
    const link = new DestinationLink(cluster, 'runner', () => true)
    const [a, b, other] = await Promise.all([link.lane(1, 0), link.lane(1, 0), link.lane(1, 1)])
    expect([a === b, a === other, opened.map(({ clientId }) => clientId)]).toEqual([true, false, ['runner-append-0', 'runner-append-1']])
    opened[0]!.open = false
    const renewed = await Promise.all([link.lane(1, 0), link.lane(1, 0), link.lane(1, 0)])
    expect([new Set(renewed).size, renewed[0] === a, opened.length]).toEqual([1, false, 3])
    await link.close()
  })

  it('tries again after an attempt that failed', async () => {
    let attempts = 0
    const cluster = {
      dedicated: async () => {
        if (++attempts === 1) throw new ConnectionError({ kind: 'refused', address: ADDRESS, reason: 'refused' })
        return { open: true, close: async () => {} }
      },
    } as unknown as Cluster
    const link = new DestinationLink(cluster, 'runner', () => true)
    await expect(link.lane(1, 0)).rejects.toThrow('refused')
    expect((await link.lane(1, 0)).open).toBe(true)
    await link.close()
  })
})

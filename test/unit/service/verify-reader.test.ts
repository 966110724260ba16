import { describe, expect, it } from 'vitest'
import type { Cluster } from '../../../src/client/cluster.js'
import type { Connection } from '../../../src/client/connection.js'
import { ConnectionError } from '../../../src/client/errors.js'
import { ByteBudget } from '../../../src/engine/byte-budget.js'
import type { MirrorError } from '../../../src/mirror/errors.js'
import { Errors } from '../../../src/protocol/errors.js'
import { LogFeed, OutOfRangeError } from '../../../src/service/verify/log-feed.js'
import { LogReader } from '../../../src/service/verify/log-reader.js'
import { batchOf, record } from './verify-logs.js'

type Answer = { errorCode?: number; records?: Buffer } | ConnectionError

const lost = () => new ConnectionError({ kind: 'closed', address: { host: 'h', port: 1 }, reason: 'the broker closed the connection' })

/** A cluster of brokers 1 and 2, whose answers to Fetch a test writes; leadership moves with each refresh. */
function clusterOf(answer: (broker: number, offset: bigint) => Answer | Promise<Answer>) {
  const seen = { opened: [] as number[], refreshes: 0, underWay: 0, most: 0, versions: [] as (number | undefined)[] }
  const connectionTo = (broker: number): Connection => {
    let open = true
    return {
      get open() {
        return open
      },
      close: async () => {
        open = false
      },
      send: async (_api: unknown, request: { topics: { partitions: { fetchOffset: bigint }[] }[] }, options: { maxVersion?: number }) => {
        seen.versions.push(options.maxVersion)
        seen.most = Math.max(seen.most, ++seen.underWay)
        const given = await answer(broker, request.topics[0]!.partitions[0]!.fetchOffset)
        seen.underWay--
        if (given instanceof ConnectionError) {
          open = false
          throw given
        }
        const { errorCode = 0, records = Buffer.alloc(0) } = given
        return { errorCode: 0, responses: [{ partitions: [{ errorCode, records, abortedTransactions: null }] }] }
      },
    } as unknown as Connection
  }
  const cluster = {
    leaderOf: () => (seen.refreshes === 0 ? undefined : { brokerId: 1 + ((seen.refreshes - 1) % 2), leaderEpoch: 5, topicId: '' }),
    refresh: async () => void seen.refreshes++,
    dedicated: async (broker: number) => {
      seen.opened.push(broker)
      return connectionTo(broker)
    },
  } as unknown as Cluster
  return { cluster, seen }
}

function readerOf(cluster: Cluster, signal = new AbortController().signal): LogReader {
  const place = { side: 'source', name: 'the source of mirror m' } as const
  return new LogReader(cluster, { clientId: 'c', place, isolation: 'read_committed', budget: new ByteBudget(64 << 20), signal })
}

const position = { topic: 't', topicId: '01020304-0000-0000-0000-000000000000', partition: 0, offset: 0n, maxBytes: 1000 }

describe('reading a log to verify it', () => {
  it('follows a leader that moves, and survives a connection that is lost', async () => {
    const answers: Answer[] = [{ errorCode: Errors.NOT_LEADER_OR_FOLLOWER }, lost(), { records: Buffer.from('x') }]
    const { cluster, seen } = clusterOf(() => answers.shift()!)
    expect((await readerOf(cluster).read(position)).records.toString()).toBe('x')
    expect(seen).toMatchObject({ refreshes: 3, opened: [1, 2] })
  })

  it('has a few fetches under way at a broker, on one connection', async () => {
    const waiting: (() => void)[] = []
    const { cluster, seen } = clusterOf(() => new Promise((resolve) => waiting.push(() => resolve({}))))
    const reader = readerOf(cluster)
    await cluster.refresh([])
    const reads = Array.from({ length: 20 }, () => reader.read(position))
    while (waiting.length < 8) await new Promise(setImmediate)
    expect(seen).toMatchObject({ most: 8, opened: [1] })
    const answering = setInterval(() => waiting.shift()?.(), 1)
    await Promise.all(reads)
    clearInterval(answering)
    expect(seen.most).toBeLessThanOrEqual(9)
  })

  it('asks by name where topics have no ids', async () => {
    const { cluster, seen } = clusterOf(() => ({}))
    await readerOf(cluster).read({ ...position, topicId: '00000000-0000-0000-0000-000000000000' })
    await readerOf(cluster).read(position)
    expect(seen.versions[0]).toBe(12)
    expect(seen.versions[1]).toBeGreaterThan(12)
  })

  it('gives up when it is interrupted', async () => {
    const { cluster } = clusterOf(() => lost())
    const interrupt = new AbortController()
    const read = readerOf(cluster, interrupt.signal).read(position)
    setTimeout(() => interrupt.abort(new Error('enough')), 20)
    await expect(read).rejects.toThrow()
  })
})

describe('a feed', () => {
  const log = new Map(Array.from({ length: 30 }, (_, offset) => [offset, record(`v${offset}`)]))
  const set = (from: number) => ({ records: batchOf(log, from, from + 10) })
  const feedOf = (answer: Parameters<typeof clusterOf>[0]) => new LogFeed(readerOf(clusterOf(answer).cluster), position)

  it('gives one record set after the other, the next one under way meanwhile', async () => {
    const asked: bigint[] = []
    const feed = feedOf((_, offset) => {
      asked.push(offset)
      return set(Number(offset))
    })
    await feed.seek({ from: 0n, to: 25n })
    expect((await feed.next())?.nextOffset).toBe(10n)
    await new Promise(setImmediate)
    expect(asked).toEqual([0n, 10n])
    expect([(await feed.next())?.nextOffset, (await feed.next())?.nextOffset, await feed.next()]).toEqual([20n, 30n, undefined])
  })

  it('says where a log does not go on, and can go on behind that', async () => {
    const feed = feedOf((_, offset) => (offset < 20n ? { errorCode: Errors.OFFSET_OUT_OF_RANGE } : set(20)))
    await feed.seek({ from: 0n, to: 30n })
    await expect(feed.next()).rejects.toEqual(new OutOfRangeError(0n))
    await feed.skipTo(20n)
    expect((await feed.next())?.nextOffset).toBe(30n)
  })

  it('names the side and the partition of what cannot be read', async () => {
    const broken = batchOf(log, 0, 10)
    broken[70] = broken[70]! ^ 1
    const failed = async (answer: Answer): Promise<MirrorError> => {
      const feed = feedOf(() => answer)
      await feed.seek({ from: 0n, to: 10n })
      return feed.next().then(
        () => Promise.reject(new Error('it was read')),
        (error) => error,
      )
    }
    const refused = await failed({ errorCode: Errors.TOPIC_AUTHORIZATION_FAILED })
    expect([refused.code, refused.message]).toEqual([
      'RIGHTS_MISSING',
      expect.stringMatching(/^t-0 cannot be read on the source of mirror m: TOPIC_AUTHORIZATION_FAILED/),
    ])
    expect((await failed({ records: broken })).message).toMatch(
      /^t-0 cannot be read on the source of mirror m: corrupt batch at offset 0: its CRC/,
    )
  })
})

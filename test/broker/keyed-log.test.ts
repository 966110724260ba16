import { afterEach, describe, expect, it } from 'vitest'
import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import { KeyedLog, type LogRecord } from '../../src/client/keyed-log.js'
import { useBroker } from '../support/brokers.js'
import { readLog } from '../support/kafka-log.js'
import { eventually } from '../support/wait.js'

const kafka = useBroker()
const clusters: Cluster[] = []

function keyedLog(topic: string): KeyedLog {
  const cluster = new Cluster(clientConfigOf(new Map([['bootstrap.servers', kafka.bootstrap]])).config)
  clusters.push(cluster)
  return new KeyedLog(cluster, topic)
}

async function newTopic(name: string, partitions = 50): Promise<KeyedLog> {
  await kafka.admin.createTopic(name, { partitions, configs: { 'cleanup.policy': 'compact' } })
  return keyedLog(name)
}

const entries = (records: readonly LogRecord[] | undefined) => records?.map(({ partition, key, value }) => [partition, key, value])

afterEach(async () => {
  await Promise.all(clusters.splice(0).map((cluster) => cluster.close()))
})

describe('KeyedLog', () => {
  it('knows that a topic does not exist', async () => {
    const log = keyedLog('absent')
    expect(await log.load()).toBeUndefined()
    expect(await log.snapshot(0)).toBeUndefined()
    await expect(log.append(0, [{ key: 'a', value: 'b' }])).rejects.toThrow(/UNKNOWN_TOPIC_OR_PARTITION/)
  })

  it('knows when a follower has caught up, and when it has not', async () => {
    const log = await newTopic('caught-up', 2)
    await log.load()
    const seen: LogRecord[] = []
    const stop = new AbortController()
    const following = log.follow((records) => seen.push(...records), stop.signal)
    for (let i = 0; i < 20; i++) await log.append(i % 2, [{ key: `k${i}`, value: 'v' }])
    await log.caughtUp([0, 1], 10_000)
    expect(seen).toHaveLength(20)
    stop.abort()
    await following
    await log.append(0, [{ key: 'late', value: 'v' }])
    await expect(log.caughtUp([0], 200)).rejects.toThrow(/REQUEST_TIMED_OUT/)
  })

  it('loads what was appended to every partition, as Kafka’s own consumer sees it', async () => {
    const log = await newTopic('loads')
    for (let partition = 0; partition < 50; partition++) {
      await log.append(partition, [
        { key: `k${partition}`, value: 'grün' },
        { key: 'gone', value: null },
      ])
    }
    const loaded = await log.load()
    expect(
      entries(loaded)
        ?.sort((a, b) => Number(a[0]) - Number(b[0]))
        .slice(0, 3),
    ).toEqual([
      [0, 'k0', 'grün'],
      [0, 'gone', null],
      [1, 'k1', 'grün'],
    ])
    expect(loaded).toHaveLength(100)
    const [first] = await readLog(kafka.worker, kafka, { topic: 'loads', partition: 0 })
    expect(first?.records.map(({ key, value }) => [key, value])).toEqual([
      [`x${Buffer.from('k0').toString('hex')}`, `x${Buffer.from('grün').toString('hex')}`],
      [`x${Buffer.from('gone').toString('hex')}`, '-'],
    ])
  })

  it('lets exactly one of many writers at once through, each time', async () => {
    const log = await newTopic('races', 1)
    const rivals = Array.from({ length: 6 }, () => keyedLog('races'))
    let wins = 0
    for (let round = 0; round < 5; round++) {
      const snapshots = await Promise.all(rivals.map((rival) => rival.snapshot(0)))
      // The same number of records from all, so that the broker takes the losers' batches for duplicates, and different numbers.
      const results = await Promise.all(
        rivals.map((rival, i) =>
          rival.compareAndAppend(
            snapshots[i]!,
            Array.from({ length: i < 4 ? 1 : 2 }, (_, n) => ({ key: `round-${round}`, value: `${i}/${n}` })),
          ),
        ),
      )
      expect(results.filter(Boolean)).toHaveLength(1)
      const winner = results.indexOf(true)
      const records = (await log.load())?.filter(({ key }) => key === `round-${round}`)
      expect(records?.map(({ value }) => value?.split('/')[0])).toEqual(records?.map(() => String(winner)))
      expect(records).toHaveLength(winner < 4 ? 1 : 2)
      wins++
    }
    expect(wins).toBe(5)
  })

  it('is not disturbed by unconditional appends, and refuses a snapshot that is used twice', async () => {
    const log = await newTopic('mixed', 1)
    const snapshot = await log.snapshot(0)
    await log.append(0, [{ key: 'status', value: '1' }])
    expect(await log.compareAndAppend(snapshot!, [{ key: 'spec', value: '1' }])).toBe(true)
    expect(await log.compareAndAppend(snapshot!, [{ key: 'spec', value: '2' }])).toBe(false)
    expect(await log.compareAndAppend((await log.snapshot(0))!, [{ key: 'spec', value: '3' }])).toBe(true)
    expect(entries(await log.load())).toEqual([
      [0, 'status', '1'],
      [0, 'spec', '1'],
      [0, 'spec', '3'],
    ])
  })

  it('follows from where loading ended, within a moment, until it is told to stop', async () => {
    const log = await newTopic('follows', 3)
    await log.append(0, [{ key: 'old', value: '' }])
    await log.load()
    const seen: LogRecord[] = []
    const stop = new AbortController()
    const following = log.follow((records) => seen.push(...records), stop.signal)
    const writer = keyedLog('follows')
    for (const partition of [0, 1, 2]) await writer.append(partition, [{ key: `new-${partition}`, value: 'x' }])
    await eventually(() => seen.length === 3, { within: 2_000 })
    expect(seen.map(({ key }) => key).sort()).toEqual(['new-0', 'new-1', 'new-2'])
    stop.abort()
    await following
  })

  it('ends following with the error of the callback, and tells errors of the cluster', async () => {
    const log = await newTopic('fails', 1)
    await log.append(0, [{ key: 'a', value: 'b' }])
    const signal = new AbortController().signal
    const broken = log.follow(() => {
      throw new Error('mine')
    }, signal)
    await expect(broken).rejects.toThrow('mine')
    const stop = new AbortController()
    const told: unknown[] = []
    const following = keyedLog('absent').follow(
      () => {},
      stop.signal,
      (error) => told.push(error),
    )
    await eventually(() => told.length > 1)
    stop.abort()
    await following
  })
})

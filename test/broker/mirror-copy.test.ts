import { beforeAll, expect, test } from 'vitest'
import { useBrokers } from '../support/brokers.js'
import { beginTransaction, endTransaction, writeLog, writeTransactions } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { raiseLogStart } from '../support/segments.js'
import { eventually } from '../support/wait.js'

const brokers = useBrokers({ destination: { properties: DESTINATION_PROPERTIES } })
const mirroring = useMirroring(brokers)

const KEPT = { 'retention.ms': '-1' }
const YEARS_AGO = 1_500_000_000_000
const BEYOND_INT32 = 2n ** 31n + 5_000_000n
/** Far enough below that a kill meets the fast-forward at work, and the filler's batches cross 2^31. */
const FORWARD_FROM = BEYOND_INT32 - 25_000_000n

beforeAll(async () => {
  const { source, destination, worker } = brokers
  await source.admin.createTopic('high', { configs: KEPT })
  await destination.admin.createTopic('high', { configs: KEPT })
  await writeLog(worker, source, { topic: 'high', records: 5_000, codec: 'lz4' })
  await Promise.all([source.broker.stop(), destination.broker.stop()])
  await raiseLogStart(source.broker, 'high', 0, BEYOND_INT32)
  await raiseLogStart(destination.broker, 'high', 0, FORWARD_FROM)
  await Promise.all([source.broker.start(), destination.broker.start()])
  await mirroring.create()
  await mirroring.startRunner()
})

test('a log that begins beyond 2^31 begins there on the destination too, a kill on the way notwithstanding', async () => {
  const { destination } = brokers
  await mirroring.add('high')
  const logEnd = async () => (await destination.admin.offsets('high'))[0]!.endOffset
  await eventually(async () => (await logEnd()) > FORWARD_FROM + 1_000_000n, { every: 5 })
  await mirroring.runners[0]!.kill()
  expect(await logEnd()).toBeLessThan(BEYOND_INT32)
  expect(await mirroring.status('high')).toMatchObject({ fastForward: { target: BEYOND_INT32, done: false } })
  await mirroring.startRunner()
  await mirroring.caughtUp('high')
  expect(await mirroring.differences('high')).toEqual([])
  expect(await destination.admin.offsets('high')).toEqual([
    { partition: 0, beginningOffset: BEYOND_INT32, endOffset: BEYOND_INT32 + 5_000n },
  ])
})

test('100,000 records of every codec and of years ago are the same on both sides, and retention leaves them alone', async () => {
  const { source, destination, worker } = brokers
  await source.admin.createTopic('varied', { partitions: 8, configs: KEPT })
  const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
  const write = (codec: (typeof codecs)[number], seed: number) =>
    writeLog(worker, source, { topic: 'varied', records: 20_000, partitions: 8, codec, seed, timestamp: YEARS_AGO + seed })
  for (const [seed, codec] of codecs.slice(0, 3).entries()) await write(codec, seed)
  await mirroring.add('varied')
  for (const [seed, codec] of codecs.slice(3).entries()) await write(codec, seed + 3)
  await mirroring.caughtUp('varied')
  await destination.admin.createTopic('canary')
  // The second death proves that the check which took the first one has been everywhere.
  for (const deaths of [1n, 2n]) {
    await writeLog(worker, destination, { topic: 'canary', records: 1, timestamp: YEARS_AGO })
    await eventually(async () => (await destination.admin.offsets('canary'))[0]!.beginningOffset === deaths, { within: 60_000 })
  }
  expect(await mirroring.differences('varied')).toEqual([])
  expect((await source.admin.offsets('varied')).map(({ endOffset }) => endOffset)).toEqual(Array(8).fill(12_500n))
})

test('a log that begins above zero begins there on the destination, and its start is followed', async () => {
  const { source, destination, worker } = brokers
  await source.admin.createTopic('shortened', { partitions: 2, configs: KEPT })
  await writeLog(worker, source, { topic: 'shortened', records: 2_000, partitions: 2 })
  await source.admin.deleteRecords('shortened', 0, 400n)
  await source.admin.deleteRecords('shortened', 1, 1_000n)
  await mirroring.add('shortened')
  await mirroring.caughtUp('shortened')
  expect(await mirroring.differences('shortened')).toEqual([])
  await source.admin.deleteRecords('shortened', 0, 700n)
  await eventually(async () => (await destination.admin.offsets('shortened'))[0]!.beginningOffset === 700n)
  expect(await mirroring.differences('shortened')).toEqual([])
})

test('committed transactions are copied, aborted ones are not, and nothing passes an open one', async () => {
  const { source, destination, worker } = brokers
  await source.admin.createTopic('transactions', { partitions: 2, configs: KEPT })
  await mirroring.add('transactions')
  const options = { topic: 'transactions', partitions: 2, transactionalId: 'many', transactions: 20, records: 50, abortEvery: 3 }
  await writeTransactions(worker, source, options)
  await mirroring.caughtUp('transactions')
  expect(await mirroring.differences('transactions')).toEqual([])
  await beginTransaction(worker, source, 'open')
  const open = await writeLog(worker, source, { topic: 'transactions', transactionalId: 'open', records: 10 })
  await writeLog(worker, source, { topic: 'transactions', records: 100, partitions: 2 })
  const lastStable = open.partitions[0]!.firstOffset
  const [, neighbour] = await source.admin.offsets('transactions')
  await eventually(async () => (await destination.admin.offsets('transactions'))[1]!.endOffset === neighbour!.endOffset)
  expect((await destination.admin.offsets('transactions'))[0]!.endOffset).toBe(lastStable)
  await endTransaction(worker, 'open', 'commit')
  await mirroring.caughtUp('transactions')
  expect(await mirroring.differences('transactions')).toEqual([])
})

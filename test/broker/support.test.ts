import { expect, test } from 'vitest'
import { useBrokers } from '../support/brokers.js'
import { runKafkaTool } from '../support/java-tools.js'
import {
  beginTransaction,
  endTransaction,
  logDifferences,
  readLog,
  writeLog,
  writeRecords,
  writeSteadily,
  writeTransactions,
} from '../support/kafka-log.js'
import { eventually } from '../support/wait.js'

const brokers = useBrokers()

// Records dated years back would be deleted while we look.
const KEPT = { 'retention.ms': '-1' }

test('what the independent writer writes, the independent reader reads', async () => {
  const { source, destination, worker } = brokers
  for (const { admin } of [source, destination]) await admin.createTopic('varied', { partitions: 3, configs: KEPT })
  const options = { topic: 'varied', records: 10_000, partitions: 3, codec: 'zstd' as const, timestamp: 1_500_000_000_000 }
  await writeLog(worker, source, options)
  const written = await writeLog(worker, destination, options)
  expect(written.count).toBe(10_000)
  expect(written.partitions[0]).toEqual({ partition: 0, firstOffset: 0n, lastOffset: 3333n })
  expect(await logDifferences(worker, source, destination, { topic: 'varied' })).toEqual([])
  const [partition] = await readLog(worker, source, { topic: 'varied', partition: 1 })
  expect(partition!.records[0]).toMatchObject({ offset: 0n, timestamp: 1_500_000_000_001n, key: 'x', value: 'x' })
  expect(partition!.records[0]!.headers).toBe('x7472616365=x0000000000000001')
})

test('a difference is found and told', async () => {
  const { source, destination, worker } = brokers
  for (const { admin } of [source, destination]) await admin.createTopic('differs', { configs: KEPT })
  await writeRecords(worker, source, { topic: 'differs', list: [{ key: null, value: '', timestamp: 1, headers: [['a', null]] }] })
  await writeRecords(worker, destination, { topic: 'differs', list: [{ key: '', value: null, timestamp: 1, headers: [['a', '']] }] })
  const differences = await logDifferences(worker, source, destination, { topic: 'differs' })
  expect(differences).toEqual(['partition 0, record 0: 0 1 - x x61=- against 0 1 x - x61=x'])
})

test('transactions are committed, aborted and left open', async () => {
  const { source, worker } = brokers
  await source.admin.createTopic('transactions')
  await writeTransactions(worker, source, { topic: 'transactions', transactionalId: 'many', transactions: 4, records: 10, abortEvery: 2 })
  await beginTransaction(worker, source, 'open')
  await writeLog(worker, source, { topic: 'transactions', transactionalId: 'open', records: 5 })
  const [all] = await readLog(worker, source, { topic: 'transactions' })
  const [committed] = await readLog(worker, source, { topic: 'transactions', isolation: 'read_committed' })
  expect([all!.count, all!.endOffset]).toEqual([45, 49n])
  expect([committed!.count, committed!.endOffset]).toEqual([20, 44n])
  await endTransaction(worker, 'open', 'abort')
})

test('the steady writer tells what was acknowledged', async () => {
  const { source, worker } = brokers
  await source.admin.createTopic('steady', { partitions: 2 })
  const writer = await writeSteadily(worker, source, { topic: 'steady', partitions: 2, recordsPerSecond: 200, events: true })
  await eventually(() => writer.acknowledged.length > 20)
  const result = await writer.stop()
  expect(result.acknowledged).toBe(writer.acknowledged.length)
  expect((await readLog(worker, source, { topic: 'steady', content: 'none' })).reduce((sum, { count }) => sum + count, 0)).toBe(result.sent)
})

test("Kafka's own tools run in both versions", async () => {
  for (const cluster of [brokers.source, brokers.destination]) {
    const { broker } = cluster
    await cluster.admin.createTopic('dumped')
    await writeLog(brokers.worker, cluster, { topic: 'dumped', records: 100 })
    const result = await runKafkaTool(broker.version, 'kafka-topics', ['--bootstrap-server', broker.bootstrap, '--list'])
    expect(result.stdout).toContain('varied')
    // A topic whose records are of today: the others were deleted by retention.
    const segment = `${broker.dataDir}/logs/dumped-0/00000000000000000000.log`
    const dump = await runKafkaTool(broker.version, 'kafka-dump-log', ['--files', segment])
    expect(dump.stdout).toContain('isvalid: true')
  }
})

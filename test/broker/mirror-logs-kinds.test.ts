import { beforeAll, expect, test } from 'vitest'
import { batch } from '../support/batches.js'
import { useBrokers } from '../support/brokers.js'
import {
  beginTransaction,
  endTransaction,
  readLog,
  writeLog,
  writeRecords,
  writeSteadily,
  writeTransactions,
} from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { plantLog } from '../support/segments.js'
import { storedBatches } from '../support/stored-log.js'
import { eventually } from '../support/wait.js'

const brokers = useBrokers({
  source: {
    properties: { 'log.retention.check.interval.ms': '500', 'transaction.abort.timed.out.transaction.cleanup.interval.ms': '200' },
  },
  destination: { properties: DESTINATION_PROPERTIES },
})
const mirroring = useMirroring(brokers)

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
const KEPT = { 'retention.ms': '-1' }
const YEARS_AGO = 1_500_000_000_000
const FIRST_RECORD = 3_000_000n
const GAP = 100_000n
const hex = (text: string) => Buffer.from(text).toString('hex')

beforeAll(async () => {
  const { source } = brokers
  for (const topic of ['holed', 'timeless']) await source.admin.createTopic(topic, { configs: KEPT })
  for (const topic of ['gap', 'broken']) await source.admin.createTopic(topic, { partitions: 2, configs: KEPT })
  await source.broker.stop()
  const common = { leaderEpoch: 0, timestamp: BigInt(YEARS_AGO) }
  const holed = [FIRST_RECORD, FIRST_RECORD + 1_000n].map((baseOffset) => batch({ ...common, baseOffset, records: 10 }))
  await plantLog(source.broker, 'holed', 0, 0n, Buffer.concat(holed))
  const absent = { ...common, timestamp: -1n }
  const timeless = [batch({ ...absent, baseOffset: 0n, records: 3 }), batch({ ...absent, baseOffset: 3n, deltas: [0, 2, 5] })]
  await plantLog(source.broker, 'timeless', 0, 0n, Buffer.concat(timeless))
  const gap = [0n, GAP].map((baseOffset) => batch({ ...common, baseOffset }))
  await plantLog(source.broker, 'gap', 0, 0n, Buffer.concat(gap))
  // Says that its records are gzipped; they are not, and its timestamps need it to be opened.
  const broken = [batch({ ...common, baseOffset: 0n, records: 5 }), batch({ ...common, baseOffset: 5n, attributes: 1 | 8 })]
  await plantLog(source.broker, 'broken', 0, 0n, Buffer.concat(broken))
  await source.broker.start()
  await mirroring.create()
  // Runners look at settings when something is added, and not in the middle of a test that lowers a limit: it would be raised again.
  await mirroring.admin.alterMirror(mirroring.mirror, { set: { 'mirror.metadata.refresh.interval.ms': '3600000' } })
  await mirroring.startRunner()
})

/** Adds a topic and waits until both logs are the same. */
async function same(topic: string): Promise<void> {
  await mirroring.caughtUp(topic)
  expect(await mirroring.differences(topic)).toEqual([])
}

test('a hole of millions before the first record is passed over quickly, and leaves nothing to read', async () => {
  const { source, destination, worker } = brokers
  expect((await source.admin.offsets('holed'))[0]).toMatchObject({ beginningOffset: 0n, endOffset: FIRST_RECORD + 1_010n })
  await mirroring.add('holed')
  await mirroring.caughtUp('holed')
  const [there, here] = await Promise.all([source, destination].map((cluster) => readLog(worker, cluster, { topic: 'holed' })))
  expect(here![0]!.records.map((record) => ({ ...record, timestampType: '' }))).toEqual(
    there![0]!.records.map((record) => ({ ...record, timestampType: '' })),
  )
  expect(here![0]!.count).toBe(20)
  // Where nothing is below, the log begins at the record; markers for each offset would take 78 bytes each.
  expect(here![0]!.beginningOffset).toBe(FIRST_RECORD)
  const size = (await storedBatches(destination.broker, 'holed')).reduce((sum, stored) => sum + stored.size, 0)
  expect(size).toBeLessThan(12_000_000)
})

test('a hole between two records is filled without holding other partitions up', async () => {
  const { source, destination, worker } = brokers
  await writeLog(worker, source, { topic: 'gap', partition: 1, records: 1_000 })
  await mirroring.add('gap')
  const ends = async () => (await destination.admin.offsets('gap')).map(({ endOffset }) => endOffset)
  const [filled] = await eventually(
    async () => {
      const found = await ends()
      return found[1] === 1_000n && found
    },
    { every: 10 },
  )
  expect(filled).toBeLessThan(GAP)
  await mirroring.caughtUp('gap', 60_000)
  expect(await mirroring.differences('gap')).toEqual([])
})

test('a batch that cannot be opened fails its partition alone, with a sentence', async () => {
  const { source, destination, worker } = brokers
  await mirroring.add('broken')
  const status = await eventually(async () => {
    const found = await mirroring.status('broken')
    return found?.state === 'FAILED' && found
  })
  expect(status.error!.message).toMatch(/offset 5: its codec gzip can't be opened/)
  await writeLog(worker, source, { topic: 'broken', partition: 1, records: 100 })
  await eventually(async () => (await destination.admin.offsets('broken'))[1]!.endOffset === 100n)
  expect((await destination.admin.offsets('broken'))[0]!.endOffset).toBe(5n)
})

test('records that were given the time of appending have it on the destination, in every codec', async () => {
  const { source, destination, worker } = brokers
  const partitions = CODECS.length
  await source.admin.createTopic('stamped', { partitions, configs: { ...KEPT, 'message.timestamp.type': 'LogAppendTime' } })
  const small = { ...source, properties: { 'batch.size': '8000', 'linger.ms': '20' } }
  const write = (seed: number) =>
    Promise.all(
      CODECS.map((codec, partition) =>
        writeLog(worker, small, { topic: 'stamped', codec, partition, records: 300, seed, timestamp: YEARS_AGO }),
      ),
    )
  await write(1)
  await mirroring.add('stamped')
  await source.admin.alterTopicConfigs('stamped', { 'message.timestamp.type': 'CreateTime' })
  await write(2)
  await source.admin.alterTopicConfigs('stamped', { 'message.timestamp.type': 'LogAppendTime' })
  await write(3)
  await same('stamped')
  const log = await readLog(worker, destination, { topic: 'stamped' })
  for (const { records } of log) {
    expect(new Set(records.map(({ timestampType }) => timestampType))).toEqual(new Set(['CreateTime']))
    expect(records.filter(({ timestamp }) => timestamp < BigInt(YEARS_AGO + 1_000)).length).toBe(300)
  }
  for (const partition of CODECS.keys()) {
    expect(new Set((await storedBatches(destination.broker, 'stamped', partition)).map(({ codec }) => codec))).toEqual(
      new Set([CODECS[partition]]),
    )
  }
})

test('times long past, far ahead and absent are equal to the millisecond', async () => {
  const { source, worker } = brokers
  await source.admin.createTopic('times', { configs: KEPT })
  const YEAR = 365 * 86_400_000
  const times = [Date.now() + 10 * YEAR, 0, 1, Date.now(), Date.now() - 30 * YEAR, 253_402_300_799_999, 2 ** 53 - 1, 5]
  for (const codec of ['none', 'zstd']) {
    await writeRecords(worker, source, {
      topic: 'times',
      codec,
      list: times.map((timestamp) => ({ timestamp, key: hex('k'), value: '00' })),
    })
  }
  await mirroring.add('times', 'timeless')
  await same('times')
  await same('timeless')
  const [log] = await readLog(worker, brokers.destination, { topic: 'timeless' })
  expect(log!.records.map(({ offset, timestamp }) => [offset, timestamp])).toEqual([0n, 1n, 2n, 3n, 5n, 8n].map((offset) => [offset, -1n]))
})

test('records without keys from before a topic was compacted are copied, and its policy comes with the failover', async () => {
  const { source, destination, worker } = brokers
  await source.admin.createTopic('became', { partitions: 2, configs: KEPT })
  await writeLog(worker, source, { topic: 'became', partitions: 2, records: 500 })
  await source.admin.alterTopicConfigs('became', { 'cleanup.policy': 'compact' })
  await mirroring.add('became')
  await writeLog(worker, source, { topic: 'became', partitions: 2, records: 500, style: 'keyed' })
  await same('became')
  await expect.poll(() => destination.admin.topicConfigs('became')).toMatchObject({ 'cleanup.policy': 'delete' })
  const { topics } = await mirroring.admin.removeTopicsFromMirror(mirroring.mirror, ['became'])
  expect(topics).toMatchObject([{ ok: true }])
  await expect.poll(() => destination.admin.topicConfigs('became')).toMatchObject({ 'cleanup.policy': 'compact' })
})

test('the size limit follows the source’s; where it is lower, batches are split, and a record above it fails alone', async () => {
  const { source, destination, worker } = brokers
  const LIMIT = 100_000
  await source.admin.createTopic('large', { partitions: 2, configs: { ...KEPT, 'max.message.bytes': '6000000' } })
  const properties = { 'batch.size': '3000000', 'linger.ms': '300', 'max.request.size': '6000000', 'max.partition.fetch.bytes': '6000000' }
  const large = { ...source, properties }
  const write = async (seed: number) => {
    for (const codec of ['none', 'zstd'] as const) {
      await writeLog(worker, large, { topic: 'large', codec, seed, records: 2_500, style: 'plain', valueBytes: 1_000 })
    }
  }
  const largest = async (from: bigint) =>
    Math.max(...(await storedBatches(destination.broker, 'large')).filter(({ baseOffset }) => baseOffset >= from).map(({ size }) => size))
  await write(1)
  await mirroring.add('large')
  await same('large')
  await expect.poll(() => destination.admin.topicConfigs('large')).toMatchObject({ 'max.message.bytes': '6000000' })
  expect(await largest(0n)).toBeGreaterThan(2_000_000)
  await destination.admin.alterTopicConfigs('large', { 'max.message.bytes': String(LIMIT) })
  const { endOffset } = (await source.admin.offsets('large'))[0]!
  await write(2)
  await same('large')
  expect(await largest(endOffset)).toBeLessThanOrEqual(LIMIT)
  const written = await writeLog(worker, large, { topic: 'large', records: 1, style: 'plain', valueBytes: 150_000 })
  const status = await eventually(async () => {
    const found = await mirroring.status('large')
    return found?.state === 'FAILED' && found
  })
  expect(status.error!.message).toMatch(
    new RegExp(`offset ${written.partitions[0]!.firstOffset} takes 1500\\d\\d bytes .*max.message.bytes=${LIMIT}`),
  )
  await writeLog(worker, large, { topic: 'large', partition: 1, records: 100 })
  await eventually(async () => (await destination.admin.offsets('large'))[1]!.endOffset === 100n)
  await destination.admin.alterTopicConfigs('large', { 'max.message.bytes': '6000000' })
  await mirroring.caughtUp('large', 10_000)
  expect(await mirroring.differences('large')).toEqual([])
})

/** Batches of a few records. */
const small = () => ({ ...brokers.source, properties: { 'batch.size': '3000' } })

test('transactions of several producers, cut by many batches and fetches, committed and aborted', async () => {
  const { source, worker } = brokers
  await source.admin.createTopic('interleaved', { configs: KEPT })
  await mirroring.add('interleaved')
  const write = (transactionalId: string, records: number, valueBytes = 200) =>
    writeLog(worker, small(), { topic: 'interleaved', transactionalId, records, valueBytes, seed: records })
  const begin = (...ids: string[]) => Promise.all(ids.map((id) => beginTransaction(worker, small(), id)))
  await begin('a', 'b', 'c')
  for (let round = 0; round < 5; round++) await Promise.all([write('a', 100 + round), write('b', 80), write('c', 60)])
  await endTransaction(worker, 'b', 'abort')
  await writeLog(worker, small(), { topic: 'interleaved', records: 100, codec: 'lz4' })
  await Promise.all([endTransaction(worker, 'a', 'commit'), endTransaction(worker, 'c', 'commit')])
  // Two that no fetch holds whole, side by side.
  for (const id of ['long', 'gone']) await beginTransaction(worker, source, id)
  await Promise.all([write('long', 5_000, 1_000), write('gone', 5_000, 1_000)])
  await endTransaction(worker, 'gone', 'abort')
  await endTransaction(worker, 'long', 'commit')
  await same('interleaved')
})

test('a transaction that its producer left holds its partition alone, until the source gives up on it', async () => {
  const { source, destination, worker } = brokers
  await source.admin.createTopic('held', { partitions: 2, configs: KEPT })
  await mirroring.add('held')
  await writeLog(worker, small(), { topic: 'held', partitions: 2, records: 100 })
  await mirroring.caughtUp('held')
  await beginTransaction(worker, { ...source, properties: { 'transaction.timeout.ms': '10000' } }, 'left')
  await writeLog(worker, source, { topic: 'held', transactionalId: 'left', records: 50 })
  await writeTransactions(worker, small(), { topic: 'held', transactionalId: 'other', transactions: 3, records: 20, abortEvery: 2 })
  await writeLog(worker, small(), { topic: 'held', partitions: 2, records: 100 })
  await endTransaction(worker, 'left', 'abandon')
  const ends = async () => (await destination.admin.offsets('held')).map(({ endOffset }) => endOffset)
  await eventually(async () => (await ends())[1] === 100n, { every: 20 })
  expect(await ends()).toEqual([50n, 100n])
  const { endOffset } = (await source.admin.offsets('held'))[0]!
  await eventually(async () => (await source.admin.offsets('held'))[0]!.endOffset > endOffset)
  await same('held')
})

test('retention moves the destination’s log start too, while the mirror copies', async () => {
  const { source, destination, worker } = brokers
  const configs = { 'segment.bytes': '200000', 'retention.bytes': '600000', 'file.delete.delay.ms': '0' }
  await source.admin.createTopic('retained', { partitions: 2, configs })
  await mirroring.add('retained')
  const rate = { topic: 'retained', partitions: 2, recordsPerSecond: 3_000, valueBytes: 500 }
  const writer = await writeSteadily(worker, source, rate)
  const starts = async () => (await destination.admin.offsets('retained')).map(({ beginningOffset }) => beginningOffset)
  await eventually(async () => (await starts()).every((start) => start > 2_000n))
  await writer.stop()
  await eventually(async () => {
    expect(await mirroring.differences('retained')).toEqual([])
    return true
  })
})

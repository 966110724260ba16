import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { castagnoli } from '../support/batches.js'
import { useBrokers } from '../support/brokers.js'
import { runKafkaTool } from '../support/java-tools.js'
import { readLog, writeLog, writeRecords, writeTransactions } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { plantLog } from '../support/segments.js'
import { cleaned, forgetCleaning, rollLog, type StoredBatch, storedBatches } from '../support/stored-log.js'

const brokers = useBrokers({
  source: { properties: { 'log.cleaner.backoff.ms': '100' } },
  destination: { properties: DESTINATION_PROPERTIES },
})
const mirroring = useMirroring(brokers)

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
/** Partitions of the compacted topics: one for each codec, and one with transactions. */
const TRANSACTIONS = CODECS.length
const PARTITIONS = CODECS.length + 1
/** `fleeting` forgets tombstones at once, `lasting` keeps them with the time until which. */
const TOPICS = ['fleeting', 'lasting'] as const
const COMPACT = { 'cleanup.policy': 'compact', 'min.cleanable.dirty.ratio': '0.001' }

const partitions = Array.from({ length: PARTITIONS }, (_, partition) => partition)
const hex = (text: string) => Buffer.from(text).toString('hex')
const isThinned = ({ baseOffset, lastOffset, count }: StoredBatch) => count > 0 && BigInt(count) < lastOffset - baseOffset + 1n

/** Batches of about 2 kB in every partition, the last of which holds nothing but tombstones. */
async function writeKeyed(topic: string, seed: number): Promise<void> {
  const { source, worker } = brokers
  const small = { ...source, properties: { 'batch.size': '2000', 'linger.ms': '20' } }
  const keyed = { topic, style: 'keyed', seed, records: 600 } as const
  await Promise.all(CODECS.map((codec, partition) => writeLog(worker, small, { ...keyed, codec, partition })))
  const transactional = { partition: TRANSACTIONS, transactionalId: `${topic}-${seed}`, transactions: 12, records: 50, abortEvery: 3 }
  await writeTransactions(worker, small, { ...keyed, ...transactional, codec: 'lz4' })
  const tombstones = [1, 2, 3].map((key) => ({ key: hex(`key-${key}`), value: null, headers: [['why', hex('deleted')]] as const }))
  for (const [partition, codec] of CODECS.entries()) {
    await writeRecords(worker, source, { topic, codec, list: tombstones.map((record) => ({ ...record, partition })) })
  }
}

/** Compacts logs of the source to their very ends. */
async function compact(logs: readonly Log[], whileStopped = async () => {}): Promise<void> {
  const { broker } = brokers.source
  await broker.stop()
  await whileStopped()
  for (const { topic, partition } of logs) await rollLog(broker, topic, partition)
  await forgetCleaning(broker)
  await broker.start()
  for (const { topic, partition } of logs) await cleaned(broker, topic, partition)
}

interface Log {
  readonly topic: string
  readonly partition: number
}

const logsOf = (topic: string, count: number): Log[] => Array.from({ length: count }, (_, partition) => ({ topic, partition }))

/** Wrappers of the old formats know no others. */
const OLD_CODECS = ['gzip', 'snappy', 'lz4'] as const
/** 400 records in each batch, written by Kafka's own library 2.8.2 for offset 1000. */
const WRITTEN = JSON.parse(readFileSync(new URL('../unit/records/fixtures/compressed.json', import.meta.url), 'utf8')) as Record<
  string,
  string
>

/** A log that has gone through all formats, or some of them: magic 0 at offset 1000, magic 1 at 1400, v2 at 1800, each one batch. */
function formats(codec: string, magics: readonly number[] = [0, 1, 2]): Buffer {
  const [magic0, magic1, magic2] = [0, 1, 2].map((magic) => Buffer.from(WRITTEN[`java 2.8.2 magic ${magic} ${codec}`]!, 'base64'))
  // A wrapper has the offset of its last message. Only those of magic 0 have it inside too.
  magic1!.writeBigInt64BE(1_799n)
  magic2!.writeBigInt64BE(1_800n)
  magic2!.writeInt32BE(0, 12)
  return Buffer.concat(magics.map((magic) => [magic0!, magic1!, magic2!][magic]!))
}

const GO_CODECS = ['gzip', 'snappy', 'lz4', 'zstd'] as const

/** What franz-go wrote (snappy without Java's framing, for one), given a time of appending: it has to be opened. */
function stampedByGo(codec: string): Buffer {
  const batch = Buffer.from(WRITTEN[`franz-go magic 2 ${codec}`]!, 'base64')
  batch.writeInt16BE(batch.readInt16BE(21) | 8, 21)
  batch.writeBigInt64BE(1_650_000_000_000n, 35)
  batch.writeUInt32BE(castagnoli(batch.subarray(21)), 17)
  return batch
}

/** One format in each partition: all have the same keys. */
const CLEANED_FORMATS = OLD_CODECS.flatMap((codec) => [0, 1].map((magic) => ({ codec, magic })))

beforeAll(async () => {
  const { source } = brokers
  await source.admin.createTopic('fleeting', { partitions: PARTITIONS, configs: { ...COMPACT, 'delete.retention.ms': '0' } })
  await source.admin.createTopic('lasting', { partitions: PARTITIONS, configs: COMPACT })
  await source.admin.createTopic('formats', { partitions: OLD_CODECS.length, configs: { 'retention.ms': '-1' } })
  await source.admin.createTopic('go', { partitions: GO_CODECS.length, configs: { 'retention.ms': '-1' } })
  await source.admin.createTopic('cleaned-formats', { partitions: CLEANED_FORMATS.length, configs: COMPACT })
  for (const topic of TOPICS) await writeKeyed(topic, 1)
  const compacted = [...TOPICS.flatMap((topic) => logsOf(topic, PARTITIONS)), ...logsOf('cleaned-formats', CLEANED_FORMATS.length)]
  const plant = async () => {
    for (const [partition, codec] of OLD_CODECS.entries()) await plantLog(source.broker, 'formats', partition, 1_000n, formats(codec))
    for (const [partition, codec] of GO_CODECS.entries()) await plantLog(source.broker, 'go', partition, 0n, stampedByGo(codec))
    for (const [partition, { codec, magic }] of CLEANED_FORMATS.entries()) {
      await plantLog(source.broker, 'cleaned-formats', partition, 1_000n, formats(codec, [magic]))
    }
  }
  // The first cleaning sets the time until which tombstones stay, the second finds it gone by.
  await compact(compacted, plant)
  await compact(compacted)
  await mirroring.create()
  await mirroring.startRunner()
})

describe('compacted logs', () => {
  test('thinned and emptied batches up to the very end, in every codec, are the same log', async () => {
    const { source } = brokers
    const seen = { thinned: new Set<string>(), hollow: new Set<string>() }
    for (const topic of TOPICS) {
      for (const partition of partitions) {
        const batches = await storedBatches(source.broker, topic, partition)
        for (const batch of batches.filter(isThinned)) seen.thinned.add(batch.codec)
        for (const batch of batches.filter(({ count }) => count === 0)) seen.hollow.add(batch.codec)
      }
    }
    expect([...seen.thinned].sort()).toEqual([...CODECS].sort())
    expect(seen.hollow.size).toBeGreaterThan(0)
    expect((await storedBatches(source.broker, 'fleeting')).at(-1)!.count).toBe(0)
    expect((await storedBatches(source.broker, 'lasting')).at(-1)!.deleteHorizon).toBe(true)
    await mirroring.add(...TOPICS)
    for (const topic of TOPICS) await mirroring.caughtUp(topic)
    for (const topic of TOPICS) expect(await mirroring.differences(topic), topic).toEqual([])
  })

  test('the destination’s cleaner is not told when the source’s tombstones go', async () => {
    const { destination } = brokers
    for (const partition of partitions) {
      const batches = await storedBatches(destination.broker, 'lasting', partition)
      expect(batches.some(({ deleteHorizon }) => deleteHorizon)).toBe(false)
      expect(batches.filter(({ control }) => !control).every((batch) => !isThinned(batch) && batch.count > 0)).toBe(true)
      if (partition < TRANSACTIONS)
        expect(new Set(batches.filter(({ control }) => !control).map(({ codec }) => codec))).toEqual(new Set([CODECS[partition]]))
    }
  })

  test('Kafka’s own tool finds every batch of the destination valid', async () => {
    const { broker } = brokers.destination
    const files = partitions.map((partition) => join(broker.dataDir, 'logs', `lasting-${partition}`, '00000000000000000000.log'))
    const { stdout } = await runKafkaTool('4.4.0', 'kafka-dump-log', ['--deep-iteration', '--files', files.join(',')])
    const batches = stdout.split('\n').filter((line) => line.startsWith('baseOffset: '))
    expect(batches.length).toBeGreaterThan(100)
    expect(batches.filter((line) => !line.includes('isvalid: true'))).toEqual([])
    expect(stdout.match(/\| offset: /g)?.length).toBeGreaterThan(200)
  })

  test('cleaned again while it is mirrored, the log goes on where it was', async () => {
    const { source, destination, worker } = brokers
    await writeKeyed('fleeting', 2)
    await compact(logsOf('fleeting', PARTITIONS))
    await mirroring.caughtUp('fleeting')
    const [there, here] = await Promise.all(
      [source, destination].map((cluster) => readLog(worker, cluster, { topic: 'fleeting', isolation: 'read_committed' })),
    )
    for (const partition of partitions) {
      const ours = new Map(here![partition]!.records.map((record) => [record.offset, record]))
      for (const record of there![partition]!.records) expect(ours.get(record.offset)).toEqual(record)
      // What only the destination has was superseded, or removed by one of the tombstones.
      const latest = new Map(here![partition]!.records.map(({ key, offset }) => [key, offset]))
      const kept = new Set(there![partition]!.records.map(({ offset }) => offset))
      for (const { key, offset, value } of ours.values()) {
        if (!kept.has(offset)) expect(latest.get(key)! > offset || value === '-', `${partition}: ${offset}`).toBe(true)
      }
    }
  })

  test('cleaned on one side only, the topic can be removed and added again', async () => {
    const removed = await mirroring.admin.removeTopicsFromMirror(mirroring.mirror, ['fleeting'])
    expect(removed.topics).toMatchObject([{ ok: true }])
    await mirroring.add('fleeting')
    await writeKeyed('fleeting', 3)
    await mirroring.caughtUp('fleeting')
    for (const partition of partitions)
      expect(await mirroring.status('fleeting', partition), `${partition}`).toMatchObject({ state: 'MIRRORING' })
  })
})

test.each(['formats', 'cleaned-formats'])(
  'a log in old formats, whole or thinned by compaction, is the same, and goes on (%s)',
  async (topic) => {
    const { source, worker } = brokers
    const cleanedFormats = topic === 'cleaned-formats'
    for (const { partition, count } of await readLog(worker, source, { topic, content: 'none' })) {
      const magics = (await storedBatches(source.broker, topic, partition)).map(({ magic }) => magic)
      expect(magics).toEqual(cleanedFormats ? [CLEANED_FORMATS[partition]!.magic] : [0, 1, 2])
      if (cleanedFormats) expect(count).toBeLessThan(400)
      else expect(count).toBe(1_200)
    }
    await mirroring.add(topic)
    await writeLog(worker, source, {
      topic,
      style: 'keyed',
      partitions: cleanedFormats ? CLEANED_FORMATS.length : OLD_CODECS.length,
      records: 300,
    })
    await mirroring.caughtUp(topic)
    expect(await mirroring.differences(topic)).toEqual([])
    const { equal, partitions } = await mirroring.admin.verifyMirror(mirroring.mirror, { topics: [topic] })
    expect([equal, partitions.every(({ records }) => records > 0n)]).toEqual([true, true])
  },
)

test('what another client compressed is opened too', async () => {
  const { destination, worker } = brokers
  await mirroring.add('go')
  await mirroring.caughtUp('go')
  expect(await mirroring.differences('go')).toEqual([])
  for (const { count, records } of await readLog(worker, destination, { topic: 'go', content: 'hash' })) {
    expect(count).toBe(400)
    expect(new Set(records.map(({ timestamp }) => timestamp))).toEqual(new Set([1_650_000_000_000n]))
  }
})

import { beforeAll, describe, expect, test } from 'vitest'
import { useBrokers } from '../support/brokers.js'
import { readLog, writeLog, writeRecords, writeTransactions } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
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

/** Compacts the source's logs to their very ends. */
async function compact(topics: readonly string[]): Promise<void> {
  const { broker } = brokers.source
  await broker.stop()
  for (const topic of topics) for (const partition of partitions) await rollLog(broker, topic, partition)
  await forgetCleaning(broker)
  await broker.start()
  for (const topic of topics) for (const partition of partitions) await cleaned(broker, topic, partition)
}

beforeAll(async () => {
  const { source } = brokers
  await source.admin.createTopic('fleeting', { partitions: PARTITIONS, configs: { ...COMPACT, 'delete.retention.ms': '0' } })
  await source.admin.createTopic('lasting', { partitions: PARTITIONS, configs: COMPACT })
  for (const topic of TOPICS) await writeKeyed(topic, 1)
  // The first cleaning sets the time until which tombstones stay, the second finds it gone by.
  await compact(TOPICS)
  await compact(TOPICS)
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

  test('cleaned again while it is mirrored, the log goes on where it was', async () => {
    const { source, destination, worker } = brokers
    await writeKeyed('fleeting', 2)
    await compact(['fleeting'])
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
})

import { beforeAll, expect, test } from 'vitest'
import { useBrokers } from '../support/brokers.js'
import { writeLog } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { storedBatches } from '../support/stored-log.js'
import { eventually } from '../support/wait.js'

/** The last line of brokers that store the old formats; it does so for a topic that asks for one when it is created. */
const brokers = useBrokers({ source: { version: '2.8.2' }, destination: { properties: DESTINATION_PROPERTIES } })
const mirroring = useMirroring(brokers)

/** The old formats know no others. */
const CODECS = ['none', 'gzip', 'snappy', 'lz4'] as const
const LONG_AGO = 1_400_000_000_000

beforeAll(async () => {
  await mirroring.create()
  await mirroring.startRunner()
})

test.each<{ topic: string; magic: number; configs: Record<string, string> }>([
  { topic: 'magic0', magic: 0, configs: { 'message.format.version': '0.9.0' } },
  { topic: 'magic1', magic: 1, configs: { 'message.format.version': '0.10.2' } },
  { topic: 'stamped', magic: 1, configs: { 'message.format.version': '0.10.2', 'message.timestamp.type': 'LogAppendTime' } },
])('$topic, plain and as wrappers of every codec, is the same log', async ({ topic, magic, configs }) => {
  const { source, destination, worker } = brokers
  await source.admin.createTopic(topic, { partitions: CODECS.length, configs: { ...configs, 'retention.ms': '-1' } })
  // Batches of about 3 kB. KRaft's preview gives no producer ids, and old formats have no headers.
  const plain = { ...source, properties: { 'enable.idempotence': 'false', 'batch.size': '3000', 'linger.ms': '20' } }
  const write = (seed: number) =>
    Promise.all(
      CODECS.map((codec, partition) =>
        writeLog(worker, plain, { topic, codec, partition, seed, records: 400, timestamp: LONG_AGO, headers: false }),
      ),
    )
  await write(1)
  await mirroring.add(topic)
  await write(2)
  await mirroring.caughtUp(topic)
  expect(await mirroring.differences(topic)).toEqual([])
  for (const [partition, codec] of CODECS.entries()) {
    const [there, here] = await Promise.all([source, destination].map(({ broker }) => storedBatches(broker, topic, partition)))
    expect(new Set(there!.map((batch) => `${batch.codec} ${batch.magic}`))).toEqual(new Set([`${codec} ${magic}`]))
    expect(new Set(here!.map((batch) => `${batch.codec} ${batch.magic}`))).toEqual(new Set([`${codec} 2`]))
  }
})

test('a copy of an old format is known as one: a gap that opens while no runner runs is no fast-forward', async () => {
  const { source, worker } = brokers
  const configs = { 'message.format.version': '0.10.2', 'retention.ms': '-1' }
  await source.admin.createTopic('kept', { partitions: 1, configs })
  const plain = { ...source, properties: { 'enable.idempotence': 'false' } }
  const write = (seed: number) => writeLog(worker, plain, { topic: 'kept', records: 20, headers: false, seed })
  await write(1)
  await mirroring.add('kept')
  await mirroring.caughtUp('kept')
  // Both logs are empty then, and begin at the same offset.
  await source.admin.deleteRecords('kept', 0, 20n)
  await eventually(async () => (await brokers.destination.admin.offsets('kept'))[0]!.beginningOffset === 20n)
  expect(await mirroring.runners[0]!.stop()).toBe(0)
  await write(2)
  await source.admin.deleteRecords('kept', 0, 30n)
  await mirroring.startRunner()
  const failed = await eventually(async () => {
    const status = await mirroring.status('kept')
    return status?.state === 'FAILED' && status
  })
  expect(failed.error!.message).toMatch(/\b20\b.*\b30\b/)
})

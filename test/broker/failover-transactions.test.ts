import { expect, test } from 'vitest'
import { useBrokers } from '../support/brokers.js'
import { beginTransaction, endTransaction, readLog, recordDifferences, writeLog } from '../support/kafka-log.js'
import { Load } from '../support/load.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { eventually } from '../support/wait.js'

const brokers = useBrokers({ destination: { properties: DESTINATION_PROPERTIES } })
const mirroring = useMirroring(brokers)
const TRANSACTION = 20
const PARTITIONS = 4

test('a failover in the middle of transactions leaves whole ones, nothing open, and a topic that takes transactions of its own', async () => {
  const { source, destination, worker } = brokers
  const topic = 'moved'
  await source.admin.createTopic(topic, { partitions: PARTITIONS })
  await mirroring.create()
  await mirroring.add(topic)
  await mirroring.startRunner()
  const load = await Load.start(brokers, { transactions: { topic, partitions: PARTITIONS } })
  // One more that is open while the others go on: nothing behind its first record is copied there.
  const open = { transactionalId: 'left-open' }
  try {
    await eventually(async () => (await destination.admin.offsets(topic)).every(({ endOffset }) => endOffset > 50n))
    await beginTransaction(worker, source, open.transactionalId)
    await writeLog(worker, source, { topic, records: 3, partition: 0, ...open })
    await eventually(async () => (await destination.admin.offsets(topic))[1]!.endOffset > 200n)
    const { topics } = await mirroring.admin.removeTopicsFromMirror(mirroring.mirror, [topic])
    expect(topics).toMatchObject([{ ok: true, how: 'confirmed' }])
  } finally {
    await load.stop()
    await endTransaction(worker, open.transactionalId, 'commit')
  }
  const [committed, all] = await Promise.all(
    (['read_committed', 'read_uncommitted'] as const).map((isolation) => readLog(worker, destination, { topic, isolation })),
  )
  const there = await readLog(worker, source, { topic, isolation: 'read_committed' })
  for (const { partition, records, endOffset } of committed!) {
    expect(all![partition]!.records).toEqual(records)
    expect(records.length % (TRANSACTION / PARTITIONS)).toBe(0)
    expect(recordDifferences(partition, there[partition]!.records.slice(0, records.length), records)).toEqual([])
    expect(records.at(-1)!.offset).toBeLessThan(endOffset)
  }
  const own = { transactionalId: 'own' }
  await beginTransaction(worker, destination, own.transactionalId)
  await writeLog(worker, destination, { topic, records: PARTITIONS, partitions: PARTITIONS, ...own })
  await endTransaction(worker, own.transactionalId, 'commit')
  // The marker is written some time after the end was answered.
  await eventually(async () => {
    const after = await readLog(worker, destination, { topic, isolation: 'read_committed' })
    expect(after.map(({ records }, partition) => records.length - committed![partition]!.records.length)).toEqual([1, 1, 1, 1])
    return true
  })
})

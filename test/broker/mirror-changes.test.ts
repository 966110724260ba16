import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { useBrokers } from '../support/brokers.js'
import { readLog, recordDifferences, writeLog, writeRecords, writeSteadily } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { eventually } from '../support/wait.js'

const brokers = useBrokers({ destination: { properties: DESTINATION_PROPERTIES } })
const mirroring = useMirroring(brokers)

/** A topic that others go on with while something happens to their neighbour. */
const NEIGHBOUR = 'neighbour'

beforeAll(async () => {
  const { source, worker } = brokers
  await source.admin.createTopic(NEIGHBOUR, { partitions: 2 })
  await writeLog(worker, source, { topic: NEIGHBOUR, records: 100, partitions: 2 })
  await mirroring.create()
  await mirroring.startRunner()
  await mirroring.add(NEIGHBOUR)
})

/** New records of the neighbour arrive. */
async function neighbourGoesOn(): Promise<void> {
  await writeLog(brokers.worker, brokers.source, { topic: NEIGHBOUR, records: 200, partitions: 2 })
  await mirroring.caughtUp(NEIGHBOUR)
  expect(await mirroring.differences(NEIGHBOUR)).toEqual([])
}

/** A source topic with records, mirrored and caught up. */
async function mirrored(topic: string, partitions: number, records = 1_000): Promise<void> {
  await brokers.source.admin.createTopic(topic, { partitions })
  await writeLog(brokers.worker, brokers.source, { topic, records, partitions })
  await mirroring.add(topic)
  await mirroring.caughtUp(topic)
}

const logEnds = async (topic: string) => (await brokers.destination.admin.offsets(topic)).map(({ endOffset }) => endOffset)

test('a removed topic is writable and no longer copied, and the others go on', async () => {
  const { source, destination, worker } = brokers
  await mirrored('left', 2)
  const writer = await writeSteadily(worker, source, { topic: 'left', partitions: 2, recordsPerSecond: 500 })
  await eventually(async () => (await logEnds('left'))[0]! > 600n)
  const { topics } = await mirroring.admin.removeTopicsFromMirror(mirroring.mirror, ['left'])
  expect(topics).toMatchObject([{ ok: true, topic: 'left', how: 'confirmed' }])
  const promoted = topics[0]!.ok ? topics[0]!.partitions.map(({ destinationOffset }) => destinationOffset) : []
  expect(await logEnds('left')).toEqual(promoted)
  const own = await writeLog(worker, destination, { topic: 'left', records: 2, partitions: 2 })
  expect(own.partitions.map(({ firstOffset }) => firstOffset)).toEqual(promoted)
  await neighbourGoesOn()
  await writer.stop()
  await neighbourGoesOn()
  expect(await logEnds('left')).toEqual(promoted.map((end) => end! + 1n))
  await expect.poll(() => destination.admin.topicConfigs('left')).not.toHaveProperty('retention.ms')
  const [ours, theirs] = await Promise.all([readLog(worker, source, { topic: 'left' }), readLog(worker, destination, { topic: 'left' })])
  for (const { partition, records } of theirs) {
    const copied = records.filter(({ offset }) => offset < promoted[partition]!)
    expect(recordDifferences(partition, ours[partition]!.records.slice(0, copied.length), copied)).toEqual([])
    expect(copied.length).toBe(Number(promoted[partition]))
  }
})

test('a throttle is obeyed within a second and within a tenth, changed, and lifted', async () => {
  const { source, worker } = brokers
  const records = 100_000
  await source.admin.createTopic('slow', { partitions: 2 })
  const batches = { ...source, properties: { 'batch.size': '65536', 'linger.ms': '50' } }
  await writeLog(worker, batches, { topic: 'slow', records, partitions: 2, style: 'plain', valueBytes: 1_000 })
  const { size } = await stat(join(source.broker.dataDir, 'logs', 'slow-0', '00000000000000000000.log'))
  const end = async () => (await logEnds('slow')).reduce((sum, logEnd) => sum + Number(logEnd), 0)
  const rateOver = async (milliseconds: number) => {
    const look = async () => ({ at: performance.now(), bytes: ((await end()) * size) / (records / 2) })
    const first = await look()
    const last = await eventually(async () => performance.now() - first.at > milliseconds && look(), { every: 10 })
    return ((last.bytes - first.bytes) / (last.at - first.at)) * 1000
  }
  const tooFast: number[] = []
  const asked = async (rate: number) => {
    await mirroring.admin.setThrottle({ kind: 'broker', broker: 1 }, { rate })
    const setAt = performance.now()
    if ((await end().catch(() => 0)) === 0) await mirroring.add('slow')
    await eventually(async () => (await end()) > 0 && performance.now() - setAt >= 1_000)
    return (await rateOver(2_500)) / rate
  }
  try {
    for (const rate of [2_000_000, 5_000_000, 3_000_000]) {
      // Never more; a machine that is busy elsewhere may give less for a while.
      await eventually(async () => {
        const obeyed = await asked(rate)
        if (obeyed >= 1.1) tooFast.push(obeyed)
        expect(obeyed).toBeGreaterThan(0.9)
        return true
      })
    }
    expect(tooFast).toEqual([])
    expect(await end()).toBeLessThan(records)
  } finally {
    await mirroring.admin.setThrottle({ kind: 'broker', broker: 1 }, null)
  }
  await mirroring.caughtUp('slow', 5_000)
  expect(await mirroring.differences('slow')).toEqual([])
})

test('a destination topic that is deleted and made again empty is copied again', async () => {
  const { destination } = brokers
  await mirrored('rebuilt', 2)
  await destination.admin.deleteTopic('rebuilt')
  await destination.admin.createTopic('rebuilt', { partitions: 2 })
  await mirroring.caughtUp('rebuilt')
  expect(await mirroring.differences('rebuilt')).toEqual([])
  await expect.poll(() => destination.admin.topicConfigs('rebuilt')).toMatchObject({ 'retention.ms': '-1' })
  await neighbourGoesOn()
})

test('a destination topic that is made again with other data fails, and stays as it is', async () => {
  const { destination, worker } = brokers
  const [runner] = mirroring.runners
  await mirrored('replaced', 1)
  // So that it can't be faster than the foreign writer.
  runner!.freeze()
  try {
    await destination.admin.deleteTopic('replaced')
    await destination.admin.createTopic('replaced')
    await writeLog(worker, destination, { topic: 'replaced', records: 5 })
  } finally {
    runner!.thaw()
  }
  await eventually(async () => (await mirroring.status('replaced'))?.state === 'FAILED')
  expect((await mirroring.status('replaced'))!.error!.message).toMatch(/created again on the destination.*offset 5/)
  await neighbourGoesOn()
  expect(await logEnds('replaced')).toEqual([5n])
})

test('a foreign write on the destination fails its partition alone, names the offset, and is never forgotten', async () => {
  const { source, destination, worker } = brokers
  await mirrored('foreign', 2)
  await writeRecords(worker, destination, { topic: 'foreign', list: [{ key: null, value: '666f726569676e', timestamp: 1 }] })
  await writeLog(worker, source, { topic: 'foreign', records: 20, partitions: 2 })
  const status = await eventually(async () => {
    const found = await mirroring.status('foreign', 0)
    return found?.state === 'FAILED' && found
  })
  expect(status.error!.message).toMatch(/\b500\b/)
  const [end] = await logEnds('foreign')
  // The source grows past what is on the destination: no retry may take that for health.
  await writeLog(worker, source, { topic: 'foreign', records: 2_000, partitions: 2 })
  const later = await eventually(async () => {
    const found = await mirroring.status('foreign', 0)
    return (found?.error?.retries ?? 0) >= status.error!.retries + 3 && found
  })
  expect(later.state).toBe('FAILED')
  expect(await logEnds('foreign')).toEqual([end, 1_510n])
  expect((await mirroring.differences('foreign')).join()).toMatch(/partition 0, record 500: .*x666f726569676e/)
  await neighbourGoesOn()
  // Nor may a new owner.
  await mirroring.runners[0]!.kill()
  await mirroring.startRunner()
  await eventually(async () => {
    const found = await mirroring.status('foreign', 0)
    return found?.state === 'FAILED' && found.ownerEpoch > later.ownerEpoch
  })
  await neighbourGoesOn()
  expect((await logEnds('foreign'))[0]).toBe(end)
})

test('a foreign write while no runner is alive is found by the next one', async () => {
  const { source, destination, worker } = brokers
  await mirrored('unwatched', 1)
  await mirroring.runners.at(-1)!.kill()
  await writeRecords(worker, destination, { topic: 'unwatched', list: [{ key: null, value: '666f726569676e', timestamp: 1 }] })
  await writeLog(worker, source, { topic: 'unwatched', records: 20 })
  await mirroring.startRunner()
  await eventually(async () => (await mirroring.status('unwatched'))?.state === 'FAILED')
  expect((await mirroring.status('unwatched'))!.error!.message).toMatch(/offset 1000\b/)
  await neighbourGoesOn()
  expect(await logEnds('unwatched')).toEqual([1_001n])
})

test('two runners share the work, and one that is told to stop hands it over in a moment', async () => {
  const { source, worker } = brokers
  await mirrored('shared', 12)
  const first = mirroring.runners.at(-1)!
  const second = await mirroring.startRunner()
  const owners = async () => {
    const state = await mirroring.state()
    return new Set(Array.from({ length: 12 }, (_, partition) => state.status(mirroring.mirror, 'shared', partition)!.owner))
  }
  await eventually(async () => (await owners()).size === 2)
  const writer = await writeSteadily(worker, source, { topic: 'shared', partitions: 12, recordsPerSecond: 2_000 })
  await eventually(async () => (await logEnds('shared')).every((end) => end > 200n))
  const stoppedAt = Date.now()
  expect(await first.stop()).toBe(0)
  const leftAt = Date.now()
  const taken = await eventually(() => second.log.find(({ msg, time }) => /\b50 held/.test(msg) && time > stoppedAt))
  expect(taken.time - leftAt).toBeLessThan(2_000)
  expect(leftAt - stoppedAt).toBeLessThan(5_000)
  expect((await writer.stop()).failed).toBe(0)
  await mirroring.caughtUp('shared')
  expect(await mirroring.differences('shared')).toEqual([])
  expect((await owners()).size).toBe(1)
})

test('a removal relies on an owner that took over from one that stopped, and fences where the last one died', async () => {
  await mirrored('handed', 2)
  await mirrored('orphaned', 2)
  const takenUp = async (topic: string, owner: string | undefined) => {
    const { partitions } = await mirroring.admin.describeMirrors([mirroring.mirror], { topics: [topic] })
    return partitions.every((one) => one.state === 'MIRRORING' && one.owner !== owner) && partitions[0]!.owner!
  }
  const remove = async (topic: string) => (await mirroring.admin.removeTopicsFromMirror(mirroring.mirror, [topic])).topics
  const first = await takenUp('handed', undefined)
  if (first === false) throw new Error('nobody owns the topic')
  expect(await mirroring.runners.at(-1)!.stop()).toBe(0)
  await mirroring.startRunner()
  const second = await eventually(() => takenUp('handed', first))
  expect(await remove('handed')).toMatchObject([{ ok: true, how: 'confirmed' }])
  await eventually(() => takenUp('orphaned', first))
  await mirroring.runners.at(-1)!.kill()
  await mirroring.startRunner()
  await eventually(() => takenUp('orphaned', second))
  const before = Date.now()
  expect(await remove('orphaned')).toMatchObject([{ ok: true, how: 'fenced' }])
  // Its live owner says at once that it cannot answer for the dead one.
  expect(Date.now() - before).toBeLessThan(14_000)
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import type { Runner } from '../../src/engine/runner.js'
import { fencePartition } from '../../src/service/fence.js'
import { MirrorAdmin, type MirrorError } from '../../src/service/index.js'
import { runMirrors } from '../../src/service/run-mirrors.js'
import { StateStore } from '../../src/service/state-store.js'
import { useBrokers } from '../support/brokers.js'
import { readLog, type SpelledRecord, writeLog, writeRecords } from '../support/kafka-log.js'
import { eventually } from '../support/wait.js'

const kafka = useBrokers({ destination: { properties: { 'group.min.session.timeout.ms': '1000' } } })
let admin: MirrorAdmin

beforeAll(async () => {
  admin = new MirrorAdmin({ 'bootstrap.servers': kafka.destination.bootstrap })
  await admin.createMirror('m', { 'bootstrap.servers': kafka.source.bootstrap })
  await admin.createMirror('n', { 'bootstrap.servers': kafka.source.bootstrap })
})
afterAll(() => admin?.close())

/** Young enough that the brokers' retention leaves the records alone. */
const START = Date.now()

/** The one error of a call about one topic. */
async function errorOf(promise: ReturnType<MirrorAdmin['addTopicsToMirror']>): Promise<MirrorError> {
  const { topics } = await promise
  expect(topics).toHaveLength(1)
  const [result] = topics
  if (result!.ok) throw new Error(`topic ${result!.topic} was added`)
  return result!.error
}

const spelled = (from: number, to: number, value = 'v'): SpelledRecord[] =>
  Array.from({ length: to - from }, (_, i) => ({
    partition: 0,
    timestamp: START + from + i,
    key: Buffer.from(`k${from + i}`).toString('hex'),
    value: Buffer.from(value).toString('hex'),
  }))

async function writeBoth(topic: string, list: readonly SpelledRecord[]): Promise<void> {
  for (const cluster of [kafka.source, kafka.destination]) await writeRecords(kafka.worker, cluster, { topic, list })
}

describe('addTopicsToMirror', () => {
  it('creates the topic complete, holds what would hurt old data, and pins both ids', async () => {
    await kafka.source.admin.createTopic('held', {
      partitions: 3,
      configs: { 'retention.ms': '1000', 'cleanup.policy': 'compact', 'segment.bytes': '1048576', 'max.message.bytes': '2000000' },
    })
    const dry = await admin.addTopicsToMirror({ held: 'm' }, { dryRun: true })
    expect(dry.topics).toMatchObject([{ ok: true, how: 'created', partitions: 3, destinationTopicId: undefined }])
    expect(Object.keys(await kafka.destination.admin.topics())).not.toContain('held')
    const { topics } = await admin.addTopicsToMirror({ held: 'm' })
    const ids = { there: (await kafka.source.admin.topics()).held, here: (await kafka.destination.admin.topics()).held }
    expect(topics).toEqual([
      {
        topic: 'held',
        mirror: 'm',
        ok: true,
        how: 'created',
        partitions: 3,
        sourceTopicId: ids.there,
        destinationTopicId: ids.here,
        fastForward: undefined,
      },
    ])
    await expect
      .poll(() => kafka.destination.admin.topicConfigs('held'))
      .toMatchObject({
        'retention.ms': '-1',
        'retention.bytes': '-1',
        'cleanup.policy': 'delete',
        'compression.type': 'producer',
        'message.timestamp.type': 'CreateTime',
        'message.timestamp.after.max.ms': '9223372036854775807',
        'segment.bytes': '1048576',
        'max.message.bytes': '2000000',
      })
    expect(await kafka.destination.admin.offsets('held')).toHaveLength(3)
    const { partitions, warnings } = await admin.describeMirrors(['m'], { topics: ['held'] })
    expect(partitions.map(({ partition, state, lag }) => [partition, state, lag])).toEqual([0, 1, 2].map((p) => [p, 'LOG_ALIGNMENT', 0n]))
    expect(partitions[0]?.held).toMatchObject({ 'retention.ms': '1000', 'cleanup.policy': 'compact', 'retention.bytes': null })
    expect(warnings.join()).toContain('no runner is alive')
    expect((await admin.addTopicsToMirror({ held: 'm' })).topics).toMatchObject([
      { ok: true, how: 'unchanged', destinationTopicId: ids.here },
    ])
  })

  it('gives every topic its own outcome, and the good ones are added', async () => {
    for (const topic of ['many-a', 'many-b', 'many.c', 'manyxc', '__many', '_app']) await kafka.source.admin.createTopic(topic)
    const { topics } = await admin.addTopicsToMirror(
      { 'many-.*': 'm', 'many.c': 'm', absent: 'm', 'nothing.*': 'm', __consumer_offsets: 'm' },
      { exclude: ['.*-b'] },
    )
    expect(topics.map(({ topic, ok }) => [topic, ok])).toEqual([
      ['__consumer_offsets', false],
      ['absent', false],
      ['many-a', true],
      ['many.c', true],
      ['nothing.*', false],
    ])
    // A pattern leaves out what looks internal; a name does not.
    expect((await admin.addTopicsToMirror({ '_.*': 'n' }, { dryRun: true })).topics.map(({ topic }) => topic)).toEqual(['_app'])
    expect((await admin.addTopicsToMirror({ __many: 'n' })).topics).toMatchObject([{ topic: '__many', ok: true }])
  })

  it('names what is wrong with an id, a replication factor, a topic of another mirror', async () => {
    await kafka.source.admin.createTopic('picky')
    const id = (await kafka.source.admin.topics()).picky!
    expect((await errorOf(admin.addTopicsToMirror({ picky: 'm' }, { topicIds: { picky: 'AAAAAAAAAAAAAAAAAAAAAQ' } }))).code).toBe(
      'TOPIC_ID_MISMATCH',
    )
    await expect(admin.addTopicsToMirror({ picky: 'm' }, { topicIds: { picky: 'x' } })).rejects.toMatchObject({ kind: 'usage' })
    await expect(admin.addTopicsToMirror({ picky: 'm' }, { replicationFactor: 2 })).rejects.toMatchObject({ code: 'REPLICATION_FACTOR' })
    await expect(admin.addTopicsToMirror({ 'pic ky': 'm' })).rejects.toMatchObject({ code: 'INVALID_NAME' })
    await expect(admin.addTopicsToMirror({ picky: 'm' }, { remoteBootstrapServer: kafka.destination.bootstrap })).rejects.toMatchObject({
      code: 'OTHER_CLUSTER',
    })
    expect(Object.keys(await kafka.destination.admin.topics())).not.toContain('picky')
    expect((await admin.addTopicsToMirror({ picky: 'm' }, { topicIds: { picky: id }, replicationFactor: 1 })).topics).toMatchObject([
      { ok: true },
    ])
    const taken = await errorOf(admin.addTopicsToMirror({ picky: 'n' }))
    expect([taken.code, taken.message]).toEqual(['TOPIC_ALREADY_MIRRORED', 'topic picky is already mirrored by mirror m'])
  })

  it('lets one mirror win when two want the same topic at once', async () => {
    await kafka.source.admin.createTopic('contested', { partitions: 2 })
    const results = await Promise.all(['m', 'n', 'm', 'n'].map((mirror) => admin.addTopicsToMirror({ contested: mirror })))
    const winners = new Set(results.flatMap(({ topics }) => topics.filter(({ ok }) => ok).map(({ mirror }) => mirror)))
    expect(winners.size).toBe(1)
    for (const { topics } of results) {
      if (!topics[0]!.ok) expect(topics[0]!.error).toMatchObject({ code: expect.stringMatching(/^(TOPIC_ALREADY_MIRRORED)$/) })
    }
  })

  it('takes over an empty topic with its own settings kept for failover, and grows it', async () => {
    await kafka.source.admin.createTopic('empty', { partitions: 3 })
    await kafka.destination.admin.createTopic('empty', { partitions: 2, configs: { 'retention.ms': '77000', 'segment.bytes': '1048576' } })
    expect((await admin.addTopicsToMirror({ empty: 'm' })).topics).toMatchObject([{ ok: true, how: 'taken-over', partitions: 3 }])
    expect(await kafka.destination.admin.offsets('empty')).toHaveLength(3)
    await expect
      .poll(() => kafka.destination.admin.topicConfigs('empty'))
      .toMatchObject({ 'retention.ms': '-1', 'segment.bytes': '1048576' })
    await admin.removeTopicsFromMirror('m', ['empty'])
    const configs = await kafka.destination.admin.topicConfigs('empty')
    expect(configs).toMatchObject({ 'retention.ms': '77000', 'segment.bytes': '1048576' })
    expect(configs).not.toHaveProperty('compression.type')
  })

  it('refuses a topic with more partitions than the source', async () => {
    await kafka.source.admin.createTopic('wide', { partitions: 1 })
    await kafka.destination.admin.createTopic('wide', { partitions: 2 })
    expect((await errorOf(admin.addTopicsToMirror({ wide: 'm' }))).code).toBe('PARTITIONS_MISMATCH')
  })

  it('continues a topic that holds the beginning of the source, and refuses other data untouched', async () => {
    for (const topic of ['prefix', 'other', 'ahead']) {
      for (const { admin: kafkaAdmin } of [kafka.source, kafka.destination]) await kafkaAdmin.createTopic(topic)
    }
    await writeBoth('prefix', spelled(0, 10))
    await writeRecords(kafka.worker, kafka.source, { topic: 'prefix', list: spelled(10, 20) })
    await writeBoth('other', spelled(0, 9))
    await writeRecords(kafka.worker, kafka.source, { topic: 'other', list: spelled(9, 20) })
    await writeRecords(kafka.worker, kafka.destination, { topic: 'other', list: spelled(9, 10, 'foreign') })
    await writeBoth('ahead', spelled(0, 5))
    await writeRecords(kafka.worker, kafka.destination, { topic: 'ahead', list: spelled(5, 6) })
    expect((await admin.addTopicsToMirror({ prefix: 'm' })).topics).toMatchObject([{ ok: true, how: 'continued' }])
    const other = await errorOf(admin.addTopicsToMirror({ other: 'm' }))
    expect(other.code).toBe('TOPIC_HAS_OTHER_DATA')
    expect(other.message).toContain('offset 9')
    expect((await errorOf(admin.addTopicsToMirror({ ahead: 'm' }))).message).toContain('ends at offset 6 there, at 5 on the source')
    await expect.poll(() => kafka.destination.admin.topicConfigs('other')).toEqual({})
  })

  it('says how long a fast-forward will take', async () => {
    await kafka.source.admin.createTopic('late')
    await writeLog(kafka.worker, kafka.source, { topic: 'late', records: 1000, partitions: 1 })
    await kafka.source.admin.deleteRecords('late', 0, 700n)
    const { topics } = await admin.addTopicsToMirror({ late: 'm' }, { dryRun: true })
    expect(topics).toMatchObject([{ ok: true, fastForward: { offsets: 700n, bytes: 980n } }])
  })
})

describe('many topics and circles', () => {
  it('adds and removes many topics in one call', async () => {
    const names = Array.from({ length: 16 }, (_, i) => `bulk-${i}`)
    for (const topic of names) await kafka.source.admin.createTopic(topic)
    const added = await admin.addTopicsToMirror({ 'bulk-.*': 'n' })
    expect(added.topics.filter(({ ok }) => ok).map(({ topic }) => topic)).toEqual([...names].sort())
    const removed = await admin.removeTopicsFromMirror('n', ['bulk-.*'])
    expect(removed.topics.filter(({ ok }) => ok)).toHaveLength(16)
  })

  it('refuses to mirror back what is mirrored from here', async () => {
    await kafka.destination.admin.createTopic('circle')
    const there = new MirrorAdmin({ 'bootstrap.servers': kafka.source.bootstrap })
    try {
      await there.createMirror('back', { 'bootstrap.servers': kafka.destination.bootstrap })
      expect((await there.addTopicsToMirror({ circle: 'back' })).topics).toMatchObject([{ ok: true }])
      const error = await errorOf(admin.addTopicsToMirror({ circle: 'm' }))
      expect(error.message).toBe('topic circle would be mirrored in a circle: mirror back on the source copies it from this cluster')
    } finally {
      await there.close()
    }
  })
})

describe('removeTopicsFromMirror without a runner', () => {
  it('says what would be lost, then lets go, and is idempotent', async () => {
    await kafka.source.admin.createTopic('let-go', { partitions: 2, configs: { 'retention.ms': '123456789' } })
    await writeLog(kafka.worker, kafka.source, { topic: 'let-go', records: 20, partitions: 2 })
    await admin.addTopicsToMirror({ 'let-go': 'm' })
    const dry = await admin.removeTopicsFromMirror('m', ['let-go'], { dryRun: true })
    expect(dry.topics).toMatchObject([
      { how: 'dry-run', partitions: [{ lost: 10n, sourceOffset: 10n, destinationOffset: 0n }, { lost: 10n }] },
    ])
    expect((await kafka.destination.admin.topicConfigs('let-go'))['retention.ms']).toBe('-1')
    const removed = await admin.removeTopicsFromMirror('m', ['let-go', 'absent'])
    expect(removed.topics).toMatchObject([
      { topic: 'absent', ok: false, error: { code: 'TOPIC_NOT_MIRRORED', message: 'mirror m has no topic absent' } },
      { topic: 'let-go', ok: true, how: 'confirmed' },
    ])
    await expect.poll(() => kafka.destination.admin.topicConfigs('let-go')).toMatchObject({ 'retention.ms': '123456789' })
    expect((await admin.removeTopicsFromMirror('m', ['let-go'])).topics).toMatchObject([{ ok: true, how: 'unchanged' }])
    await expect(admin.describeMirrors(['m'], { topics: ['let-go'] })).rejects.toMatchObject({ code: 'TOPIC_NOT_MIRRORED' })
    expect((await admin.describeMirrors(['m'], { topics: ['let-go'], all: true })).partitions).toMatchObject([
      { state: 'STOPPED' },
      { state: 'STOPPED' },
    ])
    expect((await admin.addTopicsToMirror({ 'let-go': 'n' })).topics).toMatchObject([{ ok: true }])
  })
})

describe('with a runner', () => {
  const start = (): Promise<Runner> =>
    runMirrors({
      properties: new Map([
        ['bootstrap.servers', kafka.destination.bootstrap],
        ['session.timeout.ms', '3000'],
        ['heartbeat.interval.ms', '500'],
      ]),
    })

  it('is confirmed by it, and everything copied so far stays', async () => {
    await kafka.source.admin.createTopic('live', { partitions: 2 })
    await writeLog(kafka.worker, kafka.source, { topic: 'live', records: 1000, partitions: 2 })
    const runner = await start()
    try {
      await admin.addTopicsToMirror({ live: 'm' })
      await admin.waitForMirroring('m', ['live'], 20_000)
      await eventually(async () => (await admin.describeMirrors(['m'], { topics: ['live'] })).partitions.every(({ lag }) => lag === 0n))
      const { partitions, warnings } = await admin.describeMirrors(['m'], { topics: ['live'] })
      expect(warnings).toEqual([])
      expect(partitions).toMatchObject(
        [0, 1].map(() => ({ state: 'MIRRORING', sourceOffset: 500n, destinationOffset: 500n, lastStableOffset: 500n })),
      )
      const { topics } = await admin.removeTopicsFromMirror('m', ['live'])
      expect(topics).toMatchObject([
        {
          ok: true,
          how: 'confirmed',
          partitions: [
            { destinationOffset: 500n, lost: 0n },
            { destinationOffset: 500n, lost: 0n },
          ],
        },
      ])
      await writeLog(kafka.worker, kafka.destination, { topic: 'live', records: 10, partitions: 2 })
      expect(
        (await readLog(kafka.worker, kafka.destination, { topic: 'live', content: 'none' })).map(({ endOffset }) => endOffset),
      ).toEqual([505n, 505n])
    } finally {
      await runner.drain()
    }
  })

  it('fences for itself when the runner is gone, and shuts its producer out', async () => {
    await kafka.source.admin.createTopic('orphan')
    await writeLog(kafka.worker, kafka.source, { topic: 'orphan', records: 100, partitions: 1 })
    const runner = await start()
    await admin.addTopicsToMirror({ orphan: 'm' })
    await admin.waitForMirroring('m', ['orphan'], 20_000)
    await eventually(async () => (await kafka.destination.admin.offsets('orphan'))[0]?.endOffset === 100n)
    await runner.drain()
    const { topics, warnings } = await admin.removeTopicsFromMirror('m', ['orphan'])
    expect(warnings).toEqual([])
    expect(topics).toMatchObject([{ ok: true, how: 'fenced', partitions: [{ destinationOffset: 100n, lost: 0n }] }])
    expect((await kafka.destination.admin.offsets('orphan'))[0]?.endOffset).toBe(101n)
    // The marker stands where the source has or will have a record: mirroring it again must not be a matter of course.
    await writeLog(kafka.worker, kafka.source, { topic: 'orphan', records: 5, partitions: 1 })
    expect((await errorOf(admin.addTopicsToMirror({ orphan: 'm' }))).code).toBe('TOPIC_HAS_OTHER_DATA')
  })

  it('does not take the fence of a removal that failed later for data, nor what others have written since', async () => {
    await kafka.source.admin.createTopic('again')
    await writeLog(kafka.worker, kafka.source, { topic: 'again', records: 50, partitions: 1 })
    const runner = await start()
    await admin.addTopicsToMirror({ again: 'm' })
    await admin.waitForMirroring('m', ['again'], 20_000)
    await eventually(async () => (await kafka.destination.admin.offsets('again'))[0]?.endOffset === 50n)
    await runner.drain()
    const destination = new Cluster(clientConfigOf(new Map([['bootstrap.servers', kafka.destination.bootstrap]])).config)
    try {
      const [producer] = (await new StateStore(destination).read()).mirror('m')!.topics.get('again')!.producers
      const fence = () => fencePartition(destination, 'again', 0, producer!, undefined)
      expect([await fence(), await fence()]).toEqual(Array(2).fill({ how: 'fenced', logEndOffset: 50n }))
    } finally {
      await destination.close()
    }
    await writeLog(kafka.worker, kafka.destination, { topic: 'again', records: 40, partitions: 1 })
    const { topics } = await admin.removeTopicsFromMirror('m', ['again'])
    expect(topics).toMatchObject([{ ok: true, how: 'fenced', partitions: [{ destinationOffset: 50n, lost: 0n }] }])
  })
})

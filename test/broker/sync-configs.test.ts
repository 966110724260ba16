import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configs } from '../../src/sync/topics/configs.js'
import { type TestBroker, useBrokers } from '../support/brokers.js'
import { writeRecords } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { SyncRounds } from '../support/sync-rounds.js'
import { eventually } from '../support/wait.js'

const kafka = useBrokers({ destination: { properties: DESTINATION_PROPERTIES } })
const mirroring = useMirroring(kafka)
let rounds: SyncRounds

beforeAll(async () => {
  await mirroring.create()
  rounds = new SyncRounds('m', { source: kafka.source.bootstrap, destination: kafka.destination.bootstrap })
})
afterAll(() => rounds?.close())

const QUIET = { changes: 0, problems: [], notes: [] }
const there = (topic: string, values: Values) => change(kafka.source, topic, values)
const here = (topic: string, values: Values) => change(kafka.destination, topic, values)
const heldOf = async (topic: string) => (await rounds.state()).mirror('m')?.topics.get(topic)?.held
const round = () => rounds.round(configs)

type Values = Readonly<Record<string, string | null>>

/** The controller has changed them; brokers learn of it a moment later. */
async function change({ admin }: TestBroker, topic: string, values: Values): Promise<void> {
  await admin.alterTopicConfigs(topic, values)
  await haveSettings(admin, topic, values)
}

/** Waits for a topic's own settings; null is one that is not set. */
async function haveSettings(admin: TestBroker['admin'], topic: string, values: Values): Promise<void> {
  await eventually(async () => {
    const settings = await admin.topicConfigs(topic)
    expect(Object.fromEntries(Object.keys(values).map((key) => [key, settings[key] ?? null]))).toEqual(values)
    return true
  })
}

const settled = (topic: string, values: Values) => haveSettings(kafka.destination.admin, topic, values)

async function deleteThere(topic: string): Promise<void> {
  await kafka.source.admin.deleteTopic(topic)
  await eventually(async () => !(topic in (await kafka.source.admin.topics())))
}

async function mirrored(topic: string, values: Record<string, string> = {}): Promise<void> {
  await kafka.source.admin.createTopic(topic, { partitions: 1, configs: values })
  await mirroring.add(topic)
}

describe('settings of topics', () => {
  it("follow the source's, change by change, and are let alone while nothing changes", async () => {
    await mirrored('follow', { 'flush.ms': '700', 'segment.ms': '60000' })
    await here('follow', { 'index.interval.bytes': '5000' })
    expect(await round()).toEqual(QUIET)
    const { endOffset } = (await kafka.destination.admin.offsets('__kafka_mirrors'))[0]!
    expect(await round()).toEqual(QUIET)
    expect((await kafka.destination.admin.offsets('__kafka_mirrors'))[0]).toMatchObject({ endOffset })

    await there('follow', { 'flush.ms': '800', 'segment.ms': null, 'segment.jitter.ms': '5' })
    // Three settings, and what was taken, which is kept in the topic's record.
    expect(await round()).toMatchObject({ changes: 4, problems: [] })
    await settled('follow', { 'flush.ms': '800', 'segment.jitter.ms': '5', 'index.interval.bytes': '5000', 'segment.ms': null })
    expect(await round()).toEqual(QUIET)
  })

  it("of the destination's own stay: what the source never had, has no more but was changed here, or is excluded", async () => {
    await mirrored('local', { 'flush.ms': '700', 'min.insync.replicas': '2' })
    await settled('local', { 'min.insync.replicas': null })
    await here('local', { 'flush.messages': '9', 'min.insync.replicas': '1' })
    await round()
    await there('local', { 'flush.ms': null, 'min.insync.replicas': '3' })
    await here('local', { 'flush.ms': '111' })
    expect(await round()).toMatchObject({ problems: [] })
    await settled('local', { 'flush.ms': '111', 'flush.messages': '9', 'min.insync.replicas': '1' })
    expect(await round()).toEqual(QUIET)
  })

  it('that are excluded from now on stay as they are', async () => {
    await mirrored('excluded', { 'flush.ms': '700' })
    const before = (await rounds.state()).mirror('m')!.configs.get('mirror.topic.properties.exclude')
    await mirroring.admin.alterMirror('m', { set: { 'mirror.topic.properties.exclude': 'flush\\..*' } })
    await there('excluded', { 'flush.ms': '1', 'file.delete.delay.ms': '70000' })
    await round()
    await settled('excluded', { 'flush.ms': '700', 'file.delete.delay.ms': '70000' })
    await there('excluded', { 'flush.ms': null })
    await round()
    await settled('excluded', { 'flush.ms': '700' })
    expect(before).toBeUndefined()
    await mirroring.admin.alterMirror('m', { delete: ['mirror.topic.properties.exclude'] })
  })

  it('that the destination refuses or does not know are told, and the rest is applied', async () => {
    await mirrored('refused')
    // Since 4.0 segments have at least 1 MB, and there is no message format to choose (KIP-1030, KIP-724).
    await there('refused', { 'segment.bytes': '100000', 'message.format.version': '3.0', 'flush.ms': '700' })
    const { problems } = await round()
    const own = problems.filter(({ item }) => item === 'refused').map(({ message }) => message)
    expect(own.sort()).toEqual([
      expect.stringContaining('topic refused: the destination does not take segment.bytes'),
      expect.stringContaining('topic refused: the destination has no setting message.format.version'),
    ])
    await settled('refused', { 'flush.ms': '700' })
    const again = await round()
    expect(again.changes).toBe(0)
    expect(again.problems.filter(({ item }) => item === 'refused')).toHaveLength(2)
    await there('refused', { 'segment.bytes': null, 'message.format.version': null })
    expect(await round()).toEqual(QUIET)
  })

  it('that are held follow the source in the spec, are held again when changed, and come into force at failover', async () => {
    await mirrored('held', { 'retention.ms': '7000' })
    await there('held', { 'retention.ms': '8000000', 'cleanup.policy': 'compact' })
    await here('held', { 'retention.ms': '1', 'flush.messages': '9' })
    await round()
    await settled('held', { 'retention.ms': '-1', 'cleanup.policy': 'delete', 'flush.messages': '9' })
    expect(await heldOf('held')).toMatchObject({ 'retention.ms': '8000000', 'cleanup.policy': 'compact', 'retention.bytes': null })
    await there('held', { 'cleanup.policy': null, 'retention.bytes': '123456' })
    await round()
    expect(await heldOf('held')).toMatchObject({ 'cleanup.policy': null, 'retention.bytes': '123456' })
    expect(await round()).toEqual(QUIET)
    await mirroring.admin.removeTopicsFromMirror('m', ['held'], { confirmationTimeoutMs: 0 })
    await settled('held', { 'retention.ms': '8000000', 'retention.bytes': '123456', 'flush.messages': '9', 'cleanup.policy': null })
    await there('held', { 'retention.ms': '5' })
    expect(await round()).toEqual(QUIET)
    await settled('held', { 'retention.ms': '8000000' })
  })

  it('of a topic that was failed over while a round was under way are its own again', async () => {
    await mirrored('overtaken', { 'retention.ms': '7000000' })
    await round()
    const { topics } = await mirroring.admin.removeTopicsFromMirror('m', ['overtaken'])
    expect(topics).toMatchObject([{ ok: true }])
    await settled('overtaken', { 'retention.ms': '7000000' })
    // It has not heard of the removal, and finds that something changed what is held.
    await rounds.round(configs, { fresh: false })
    // Once a later change is seen, all earlier ones are.
    await here('overtaken', { 'flush.ms': '1' })
    await expect.poll(() => kafka.destination.admin.topicConfigs('overtaken')).toEqual({ 'retention.ms': '7000000', 'flush.ms': '1' })
  })

  it("let larger messages in when the source's limit grows", async () => {
    await mirrored('large', { 'max.message.bytes': '100000' })
    await mirroring.startRunner()
    await there('large', { 'max.message.bytes': '900000' })
    await round()
    await settled('large', { 'max.message.bytes': '900000' })
    const value = Buffer.alloc(800_000, 7).toString('hex')
    await writeRecords(kafka.worker, kafka.source, { topic: 'large', list: [{ partition: 0, timestamp: Date.now(), key: '61', value }] })
    await mirroring.caughtUp('large')
    await there('large', { 'max.message.bytes': '500000' })
    await round()
    await settled('large', { 'max.message.bytes': '900000' })
    await eventually(async () => (await heldOf('large'))?.['max.message.bytes'] === '500000')
    // Rounds of the other tests are theirs alone.
    expect(await mirroring.runners.at(-1)!.stop()).toBe(0)
  })

  it('of topics that are gone or others now are not looked at', async () => {
    await mirrored('remade', { 'flush.ms': '700' })
    await deleteThere('remade')
    await kafka.source.admin.createTopic('remade', { configs: { 'flush.ms': '900' } })
    await mirrored('gone', { 'flush.ms': '700' })
    await deleteThere('gone')
    expect(await round()).toEqual(QUIET)
    await settled('remade', { 'flush.ms': '700' })
    await settled('gone', { 'flush.ms': '700' })
  })
})

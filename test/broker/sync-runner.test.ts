import { beforeAll, expect, test } from 'vitest'
import { useBrokers } from '../support/brokers.js'
import { writeLog } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { runProgram } from '../support/program.js'
import { eventually } from '../support/wait.js'

const brokers = useBrokers({ destination: { properties: DESTINATION_PROPERTIES } })
const mirroring = useMirroring(brokers, {
  config: {
    'mirror.topics.include': 'shop\\..*',
    'mirror.topics.exclude': 'shop\\.tmp.*',
    'mirror.groups.exclude': 'private-.*',
    'mirror.group.sync.interval.ms': '300',
  },
})

beforeAll(async () => {
  await brokers.source.admin.createTopic('shop.orders', { partitions: 2, configs: { 'retention.ms': '-1' } })
  await mirroring.create()
  await mirroring.startRunner()
})

const copied = (topic: string) => eventually(async () => (await brokers.destination.admin.offsets(topic)).length > 0)
const positionIs = (group: string, topic: string, offsets: Record<number, bigint>) =>
  eventually(async () => {
    const found = await brokers.destination.admin.committed(group)
    for (const [partition, offset] of Object.entries(offsets)) expect(found[`${topic}-${partition}`]).toBe(offset)
    return true
  })

test('a runner finds topics by itself, and follows their partitions, settings and groups', async () => {
  const { source, destination, worker } = brokers
  await writeLog(worker, source, { topic: 'shop.orders', records: 100, partitions: 2 })
  await copied('shop.orders')
  await mirroring.caughtUp('shop.orders')
  for (const topic of ['shop.later', 'shop.tmp-1', 'other']) await source.admin.createTopic(topic, { partitions: 1 })
  await writeLog(worker, source, { topic: 'shop.later', records: 10 })
  await copied('shop.later')
  await mirroring.caughtUp('shop.later')
  await source.admin.addPartitions('shop.later', 3)
  await eventually(async () => (await destination.admin.offsets('shop.later')).length === 3)
  await writeLog(worker, source, { topic: 'shop.later', records: 30, partitions: 3 })
  await mirroring.caughtUp('shop.later')
  expect(await mirroring.differences('shop.later')).toEqual([])
  await source.admin.alterTopicConfigs('shop.later', { 'segment.ms': '7654321' })
  await eventually(async () => (await destination.admin.topicConfigs('shop.later'))['segment.ms'] === '7654321')
  await source.admin.commit('idle', 'shop.orders', { 0: 0n, 1: 33n })
  await source.admin.commit('private-1', 'shop.orders', { 0: 5n })
  await positionIs('idle', 'shop.orders', { 0: 0n, 1: 33n })
  expect(await destination.admin.committed('private-1')).toEqual({})
  const names = (await mirroring.admin.describeMirrors()).partitions.map(({ topic }) => topic)
  expect([...new Set(names)].sort()).toEqual(['shop.later', 'shop.orders'])
})

test('describe and the metrics tell how the loops fare', async () => {
  const runner = await mirroring.startRunner({ http: true })
  const words = ['describe', '--bootstrap-server', brokers.destination.bootstrap, '--json']
  const { stdout } = await runProgram('verbs', words)
  const [mirror] = JSON.parse(stdout).mirrors
  const loops = Object.fromEntries(mirror.syncs.map((sync: { loop: string; ok: boolean }) => [sync.loop, sync.ok]))
  expect(loops).toEqual({ discovery: true, topics: true, configs: true, groups: true, acls: true })
  await Promise.all(mirroring.runners.filter((other) => other !== runner && other.running).map((other) => other.stop()))
  await eventually(async () => /kafka_mirrors_sync_last_success_timestamp_seconds\{[^}]*sync="groups"/.test(await runner.metrics()))
})

test('a removed topic does not come back, and its groups stand where they stood', async () => {
  const { source, destination } = brokers
  await source.admin.commit('idle', 'shop.orders', { 1: 44n })
  const { topics } = await mirroring.admin.removeTopicsFromMirror(mirroring.mirror, ['shop.orders'])
  expect(topics).toMatchObject([{ ok: true, how: 'confirmed' }])
  await positionIs('idle', 'shop.orders', { 0: 0n, 1: 44n })
  await source.admin.commit('idle', 'shop.orders', { 1: 1n })
  // A topic that is found afterwards shows that the loops have looked again.
  await source.admin.createTopic('shop.found', { partitions: 1 })
  await source.admin.commit('later', 'shop.found', { 0: 0n })
  await positionIs('later', 'shop.found', { 0: 0n })
  expect((await destination.admin.committed('idle'))['shop.orders-1']).toBe(44n)
  const state = await mirroring.state()
  expect(state.mirror(mirroring.mirror)!.topics.get('shop.orders')!.desired).toBe('STOPPED')
})

test('with source and runners gone, a failover leaves the groups as they were last seen', async () => {
  const { source, destination, worker } = brokers
  await writeLog(worker, source, { topic: 'shop.later', records: 300, partitions: 3 })
  await mirroring.caughtUp('shop.later')
  await source.admin.commit('movers', 'shop.later', { 0: 7n, 2: 101n })
  await positionIs('movers', 'shop.later', { 0: 7n, 2: 101n })
  await source.broker.kill()
  await Promise.all(mirroring.runners.map((runner) => runner.kill()))
  const { topics } = await mirroring.admin.removeTopicsFromMirror(mirroring.mirror, ['shop.later'])
  expect(topics).toMatchObject([{ ok: true, topic: 'shop.later' }])
  await positionIs('movers', 'shop.later', { 0: 7n, 2: 101n })
  const own = await writeLog(worker, destination, { topic: 'shop.later', records: 3, partitions: 3 })
  expect(own.count).toBe(3)
  expect((await destination.admin.topicConfigs('shop.later'))['retention.ms']).toBeUndefined()
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type KafkaBroker, startCluster } from '../../src/playground/kafka-broker.js'
import { startTestBroker, type TestBroker } from '../support/brokers.js'
import { KafkaAdmin } from '../support/kafka-admin.js'
import { writeLog } from '../support/kafka-log.js'
import { KafkaWorker, TEST_ENV } from '../support/kafka-worker.js'
import { Load } from '../support/load.js'
import { DESTINATION_PROPERTIES, Mirroring } from '../support/mirroring.js'
import { eventually } from '../support/wait.js'

// Three brokers, whose leaders move and whose elections go wrong, are the source of one mirror and the destination of another.

const HEAP_MB = 384
const QUICK_RETURN = { 'broker.session.timeout.ms': '3000', 'broker.heartbeat.interval.ms': '500' }
/** Followers that are away leave the in-sync replicas soon. */
const PROPERTIES = { ...DESTINATION_PROPERTIES, ...QUICK_RETURN, 'replica.lag.time.max.ms': '3000', 'default.replication.factor': '3' }

const closing: { close(): Promise<unknown> }[] = []
let worker: KafkaWorker
let nodes: KafkaBroker[]
let three: TestBroker
let one: TestBroker
/** From the three brokers to the one, and the other way. */
let outward: Mirroring
let inward: Mirroring

const keep = async <T extends { close(): Promise<unknown> }>(started: Promise<T>): Promise<T> => {
  const item = await started
  closing.unshift(item)
  return item
}

beforeAll(async () => {
  const cluster = startCluster({ version: '3.9.1', env: TEST_ENV, heapMb: HEAP_MB, brokers: 3, properties: PROPERTIES })
  const [found, single] = await Promise.all([
    cluster,
    keep(startTestBroker({ heapMb: HEAP_MB, properties: DESTINATION_PROPERTIES })),
    keep(KafkaWorker.start()).then((started) => {
      worker = started
    }),
  ])
  nodes = found
  for (const node of nodes) closing.unshift(node)
  const side = (broker: KafkaBroker, bootstrap: string): TestBroker => ({ broker, bootstrap, admin: new KafkaAdmin(worker, { bootstrap }) })
  three = side(nodes[0]!, nodes.map((node) => node.bootstrap).join(','))
  one = side(single, single.bootstrap)
  outward = new Mirroring({ source: three, destination: one, worker })
  inward = new Mirroring({ source: one, destination: three, worker })
  closing.unshift(outward, inward)
  await Promise.all([outward.create(), inward.create()])
  await Promise.all([outward.startRunner(), inward.startRunner()])
})

afterAll(async () => {
  for (const item of closing) await item.close()
})

const node = (id: number) => nodes[id - 1]!
const failures = (mirroring: Mirroring) => mirroring.runners.flatMap(({ log }) => log.filter(({ event }) => event === 'partition-failed'))

async function inSync(topic: string, ...wanted: number[]): Promise<void> {
  await eventually(
    async () => {
      for (const { inSync } of await three.admin.leaders(topic)) expect([...inSync].sort()).toEqual(wanted)
      return true
    },
    { what: `In-sync replicas ${wanted} of ${topic}` },
  )
}

async function equal(mirroring: Mirroring, topic: string): Promise<void> {
  await mirroring.caughtUp(topic)
  expect(await mirroring.differences(topic)).toEqual([])
}

async function failure(topic: string): Promise<string> {
  const found = await eventually(
    async () => {
      const status = await outward.status(topic)
      return status?.state === 'FAILED' && status
    },
    { what: `The failure of ${topic}`, within: 40_000 },
  )
  return found.error!.message
}

const endOf = async (side: TestBroker, topic: string) => (await side.admin.offsets(topic))[0]!.endOffset

test('leaders that move on the source raise no alarm: under load, at rest, and right before a runner takes over', async () => {
  await three.admin.createTopic('moving', { partitions: 3, replicationFactor: 3 })
  await inSync('moving', 1, 2, 3)
  await outward.add('moving')
  const load = await Load.start({ source: three, worker }, { plain: { topic: 'moving', partitions: 3 } })
  try {
    for (const [i, leader] of [2, 3, 1, 2].entries()) {
      await three.admin.moveLeader('moving', i % 3, leader)
      const before = await one.admin.offsets('moving')
      await eventually(async () => (await one.admin.offsets('moving')).every(({ endOffset }, p) => endOffset > before[p]!.endOffset))
    }
  } finally {
    await load.stop()
  }
  await equal(outward, 'moving')
  // A new epoch without a record, seen by who copied before, and by who didn't.
  for (const leader of [3, 1]) for (let partition = 0; partition < 3; partition++) await three.admin.moveLeader('moving', partition, leader)
  expect(await outward.runners[0]!.stop()).toBe(0)
  for (let partition = 0; partition < 3; partition++) await three.admin.moveLeader('moving', partition, 2)
  await outward.startRunner()
  await writeLog(worker, three, { topic: 'moving', records: 30, partitions: 3 })
  await equal(outward, 'moving')
  expect(failures(outward)).toEqual([])
})

/** Topics on brokers 1 and 2 alone, the first leading, whose election may be unclean. */
const ON_TWO = { assignments: [[1, 2]], configs: { 'unclean.leader.election.enable': 'true' } }

/** Broker 2 falls behind while `meanwhile` is done, then becomes the leader, since broker 1 is gone, and cuts that one's log when it is back. */
async function uncleanElection(topics: readonly string[], meanwhile: () => Promise<void>): Promise<void> {
  await node(2).kill()
  for (const topic of topics) await inSync(topic, 1)
  await meanwhile()
  await node(1).kill()
  await node(2).start()
  for (const topic of topics) {
    await eventually(async () => (await three.admin.leaders(topic))[0]!.leader === 2, { within: 40_000, what: `The election of ${topic}` })
  }
  await node(1).start()
  for (const topic of topics) await inSync(topic, 1, 2)
}

test('unclean elections: a source that lost its end fails the partition, a destination that did is copied again, and want of replicas is waited out', async () => {
  const truncated = ['short', 'regrown', 'new-epoch']
  for (const topic of truncated) await three.admin.createTopic(topic, ON_TWO)
  for (const topic of truncated) await inSync(topic, 1, 2)
  // What it will lose is of a leader epoch of its own.
  await three.admin.moveLeader('new-epoch', 0, 2)
  for (const topic of ['cut-back', 'guarded', 'neighbour']) await one.admin.createTopic(topic)
  await three.admin.createTopic('cut-back', ON_TWO)
  await three.admin.createTopic('guarded', { assignments: [[1, 2]], configs: { 'min.insync.replicas': '2' } })
  for (const topic of truncated) await writeLog(worker, three, { topic, records: 500 })
  for (const topic of ['cut-back', 'guarded', 'neighbour']) await writeLog(worker, one, { topic, records: 500 })
  await outward.add(...truncated)
  await inward.add('cut-back', 'guarded', 'neighbour')
  for (const topic of truncated) await outward.caughtUp(topic)
  for (const topic of ['cut-back', 'guarded', 'neighbour']) await inward.caughtUp(topic)
  await three.admin.moveLeader('new-epoch', 0, 1)
  const load = await Load.start({ source: one, worker }, { plain: { topic: 'guarded', partitions: 1, recordsPerSecond: 500 } })
  try {
    await uncleanElection([...truncated, 'cut-back'], async () => {
      for (const topic of truncated) await writeLog(worker, three, { topic, records: 300 })
      for (const topic of ['cut-back', 'neighbour']) await writeLog(worker, one, { topic, records: 300 })
      for (const topic of truncated) await outward.caughtUp(topic)
      for (const topic of ['cut-back', 'neighbour']) await inward.caughtUp(topic)
      // In-sync replicas are too few: nothing is copied, nothing fails, and the reason is told.
      await eventually(async () => /NOT_ENOUGH_REPLICAS/.test((await inward.status('guarded'))?.error?.message ?? ''))
      expect((await inward.status('guarded'))!.state).toBe('MIRRORING')
    })
  } finally {
    await load.stop()
  }
  await writeLog(worker, three, { topic: 'regrown', records: 400, seed: 99 })
  for (const topic of truncated) {
    expect(await failure(topic)).toMatch(new RegExp(`${topic}-0.* offset \\d+.* kafka-mirrors recover `))
    // Where the new leader's log ends, and where the copy's does.
    const told = failures(outward).filter((line) => line.topic === topic && /\b500\b/.test(line.msg) && /\b800\b/.test(line.msg))
    expect(told).not.toEqual([])
    expect(await endOf(one, topic)).toBe(800n)
  }
  for (const topic of ['cut-back', 'guarded', 'neighbour']) await equal(inward, topic)
  expect(failures(inward)).toEqual([])
  await equal(outward, 'moving')
})

test('a source that lost its end while no runner ran is found by the next one, also once it has grown past what was copied', async () => {
  const truncated = ['short-unseen', 'regrown-unseen']
  for (const topic of truncated) await three.admin.createTopic(topic, ON_TWO)
  for (const topic of truncated) await inSync(topic, 1, 2)
  for (const topic of truncated) await writeLog(worker, three, { topic, records: 500 })
  await outward.add(...truncated)
  await uncleanElection(truncated, async () => {
    for (const topic of truncated) await writeLog(worker, three, { topic, records: 300 })
    for (const topic of truncated) await outward.caughtUp(topic)
    expect(await outward.runners.at(-1)!.stop()).toBe(0)
  })
  await writeLog(worker, three, { topic: 'regrown-unseen', records: 400, seed: 99 })
  await outward.startRunner()
  for (const topic of truncated) {
    expect(await failure(topic)).toMatch(/kafka-mirrors recover /)
    // And it stays so, however often it is tried again.
    const { retries } = (await outward.status(topic))!.error!
    await eventually(async () => (await outward.status(topic))!.error!.retries >= retries + 2)
    expect((await outward.status(topic))!.state).toBe('FAILED')
    expect(await endOf(one, topic)).toBe(800n)
  }
  await writeLog(worker, three, { topic: 'moving', records: 30, partitions: 3 })
  await equal(outward, 'moving')
})

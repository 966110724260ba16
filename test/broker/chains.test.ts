import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestBroker, type TestBroker, type TestBrokers, useBrokers } from '../support/brokers.js'
import { KafkaAdmin } from '../support/kafka-admin.js'
import { readLog, writeLog, writeTransactions } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, Mirroring } from '../support/mirroring.js'
import { eventually } from '../support/wait.js'

/** A is where all begins, B the cluster in the middle; C comes with the tests. */
const brokers = useBrokers({ source: { properties: DESTINATION_PROPERTIES }, destination: { properties: DESTINATION_PROPERTIES } })
let c: TestBroker
const mirrorings: Mirroring[] = []

/** A mirror of its own name between two of the clusters. */
function mirroringOf(mirror: string, from: () => TestBroker, to: () => TestBroker): Mirroring {
  const pair: TestBrokers = {
    get source() {
      return from()
    },
    get destination() {
      return to()
    },
    get worker() {
      return brokers.worker
    },
  }
  const mirroring = new Mirroring(pair, { mirror })
  mirrorings.push(mirroring)
  return mirroring
}

const a = () => brokers.source
const b = () => brokers.destination
const ab = mirroringOf('a-b', a, b)
const ac = mirroringOf('a-c', a, () => c)
const bc = mirroringOf('b-c', b, () => c)
const ba = mirroringOf('b-a', b, a)
const ca = mirroringOf('c-a', () => c, a)

beforeAll(async () => {
  const broker = await startTestBroker({ properties: DESTINATION_PROPERTIES })
  c = { broker, bootstrap: broker.bootstrap, admin: new KafkaAdmin(brokers.worker, { bootstrap: broker.bootstrap }) }
  await Promise.all(mirrorings.map((one) => one.create()))
  // One runner per cluster serves all its mirrors.
  await Promise.all([ab.startRunner(), bc.startRunner(), ba.startRunner()])
})
afterAll(async () => {
  await Promise.all(mirrorings.map((one) => one.close()))
  await c?.broker.close()
})

/** Committed and aborted transactions, and plain records. */
async function write(cluster: TestBroker, topic: string): Promise<void> {
  const mixed = { topic, partitions: 2, transactionalId: `${topic}-writer`, transactions: 6, records: 5, abortEvery: 3 }
  await writeTransactions(brokers.worker, cluster, mixed)
  await writeLog(brokers.worker, cluster, { topic, partitions: 2, records: 10 })
}

async function created(cluster: TestBroker, topic: string): Promise<void> {
  await cluster.admin.createTopic(topic, { partitions: 2 })
  await write(cluster, topic)
}

const seen = async (cluster: TestBroker, topic: string) =>
  (await readLog(brokers.worker, cluster, { topic, isolation: 'read_committed', content: 'hash' })).map(({ endOffset, records }) => ({
    endOffset,
    records,
  }))

test('a chain A→B→C has the same offsets everywhere, and goes on when its first link is cut', async () => {
  const topic = 'chain'
  await created(a(), topic)
  await ab.add(topic)
  await ab.caughtUp(topic)
  await bc.add(topic)
  await write(a(), topic)
  await ab.caughtUp(topic)
  await bc.caughtUp(topic)
  expect(await seen(c, topic)).toEqual(await seen(a(), topic))
  expect(await bc.differences(topic)).toEqual([])
  const removed = await ab.admin.removeTopicsFromMirror('a-b', [topic], { drainMs: 60_000 })
  expect(removed).toMatchObject({ topics: [{ ok: true, how: 'confirmed' }] })
  await write(b(), topic)
  await bc.caughtUp(topic)
  expect(await seen(c, topic)).toEqual(await seen(b(), topic))
  expect(await bc.admin.verifyMirror('b-c', { topics: [topic] })).toMatchObject({ equal: true })
})

test('fan-out A→B and A→C: both follow, and one is failed over without the other', async () => {
  const topic = 'fan'
  await created(a(), topic)
  await Promise.all([ab.add(topic), ac.add(topic)])
  await Promise.all([ab.caughtUp(topic), ac.caughtUp(topic)])
  const removed = await ab.admin.removeTopicsFromMirror('a-b', [topic])
  expect(removed.topics).toMatchObject([{ ok: true, how: 'confirmed' }])
  await write(a(), topic)
  await ac.caughtUp(topic)
  expect(await ac.differences(topic)).toEqual([])
  // One mirror more of the same topic would be a second owner.
  const second = await bc.admin.addTopicsToMirror({ [topic]: 'b-c' })
  expect(second.topics).toMatchObject([{ ok: false, error: { code: 'TOPIC_ALREADY_MIRRORED' } }])
})

test('both directions at once on different topics; the same topic never goes in a circle', async () => {
  await Promise.all([created(a(), 'east'), created(b(), 'west')])
  await Promise.all([ab.add('east'), ba.add('west')])
  await Promise.all([write(a(), 'east'), write(b(), 'west')])
  await Promise.all([ab.caughtUp('east'), ba.caughtUp('west')])
  expect(await ab.differences('east')).toEqual([])
  expect(await ba.differences('west')).toEqual([])
  const circle = await ba.admin.addTopicsToMirror({ east: 'b-a' })
  expect(circle.topics).toMatchObject([{ ok: false, error: { code: 'INVALID_REQUEST' } }])
  const state = await ba.state()
  expect(state.mirrorOf('west')).toBe('b-a')
  expect(state.mirrorOf('east')).toBeUndefined()
})

test('a ring of three clusters is refused, in whatever order its links are made', async () => {
  const refused = [{ ok: false, error: { code: 'INVALID_REQUEST', message: expect.stringContaining('which has it from this one') } }]
  for (const topic of ['ring', 'late']) await a().admin.createTopic(topic, { partitions: 2 })
  await ab.add('ring')
  await bc.add('ring')
  expect((await ca.admin.addTopicsToMirror({ ring: 'c-a' })).topics).toMatchObject(refused)

  await b().admin.createTopic('late', { partitions: 2 })
  await bc.add('late')
  await ab.add('late')
  // Its runner finds what lies behind its source now.
  await eventually(async () => (await bc.state()).mirror('b-c')!.topics.get('late')?.origins?.length === 1)
  expect((await ca.admin.addTopicsToMirror({ late: 'c-a' })).topics).toMatchObject(refused)
  expect((await ca.state()).mirrorOf('ring') ?? (await ca.state()).mirrorOf('late')).toBeUndefined()
})

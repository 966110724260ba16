import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Listener } from '../../src/playground/broker-settings.js'
import { startTestBroker, useBrokers } from '../support/brokers.js'
import { KafkaAdmin } from '../support/kafka-admin.js'
import { writeLog } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { TcpProxy } from '../support/proxy.js'
import { eventually } from '../support/wait.js'

// What may become of the source. Whatever it is, what was copied stays as it is, and the neighbour goes on.

let proxy: TcpProxy
beforeAll(async () => {
  proxy = await TcpProxy.listen()
})
afterAll(() => proxy?.close())

const listeners = (): Listener[] => [
  { name: 'DIRECT', protocol: 'PLAINTEXT' },
  { name: 'PROXIED', protocol: 'PLAINTEXT', advertised: proxy.address },
]
const brokers = useBrokers({
  source: {
    get listeners() {
      return listeners()
    },
  },
  destination: { properties: DESTINATION_PROPERTIES },
})
const mirroring = useMirroring(brokers, { sourceBootstrap: () => proxy.address })

const NEIGHBOUR = 'neighbour'
const KEPT = { 'retention.ms': '-1' }

beforeAll(async () => {
  proxy.target = brokers.source.broker.listeners[1]
  await brokers.source.admin.createTopic(NEIGHBOUR)
  await mirroring.create()
  await mirroring.startRunner()
  await mirroring.add(NEIGHBOUR)
})

async function neighbourGoesOn(): Promise<void> {
  await writeLog(brokers.worker, brokers.source, { topic: NEIGHBOUR, records: 100 })
  await mirroring.caughtUp(NEIGHBOUR)
  expect(await mirroring.differences(NEIGHBOUR)).toEqual([])
  expect((await mirroring.status(NEIGHBOUR))!.state).toBe('MIRRORING')
}

/** Source topics with as many records in every partition, mirrored and caught up. */
async function mirrored(topics: readonly string[], records = 500, partitions = 1): Promise<void> {
  const { source, worker } = brokers
  for (const topic of topics) {
    await source.admin.createTopic(topic, { partitions, configs: KEPT })
    await writeLog(worker, source, { topic, records: records * partitions, partitions })
  }
  await mirroring.add(...topics)
  for (const topic of topics) await mirroring.caughtUp(topic)
}

async function told(topic: string, partition: number, state: 'FAILED' | 'STOPPED'): Promise<string> {
  const status = await eventually(
    async () => {
      const found = await mirroring.status(topic, partition)
      return found?.state === state && found
    },
    { what: `${topic}-${partition} being ${state}` },
  )
  return status.error!.message
}

const failure = (topic: string, partition = 0) => told(topic, partition, 'FAILED')

const bounds = async (topic: string) =>
  (await brokers.destination.admin.offsets(topic)).map(({ beginningOffset, endOffset }) => [beginningOffset, endOffset])

/** Deletes a source topic and makes it again, with other records. */
async function madeAgain(topic: string, records: number): Promise<void> {
  const { source, worker } = brokers
  await source.admin.deleteTopic(topic)
  await source.admin.createTopic(topic, { configs: KEPT })
  await writeLog(worker, source, { topic, records, seed: 77 })
}

test.each(['while the runner runs', 'while no runner runs'])(
  'a source topic that is deleted, or made again shorter or longer, %s, leaves the copy as it is and says so with a sentence',
  async (when) => {
    const down = when === 'while no runner runs'
    const name = (topic: string) => `${topic}${down ? '-down' : ''}`
    const [deleted, shorter, longer] = ['deleted', 'shorter', 'longer'].map(name) as [string, string, string]
    const topics = [deleted, shorter, longer]
    await mirrored(topics)
    if (down) expect(await mirroring.runners.at(-1)!.stop()).toBe(0)
    await brokers.source.admin.deleteTopic(deleted)
    await madeAgain(shorter, 200)
    await madeAgain(longer, 900)
    if (down) await mirroring.startRunner()
    for (const topic of [shorter, longer]) {
      expect(await failure(topic)).toMatch(/deleted and created again on the source.* kafka-mirrors recover .*--dry-run/)
    }
    expect(await told(deleted, 0, 'STOPPED')).toMatch(/deleted on the source; its copy is kept .* kafka-mirrors remove /)
    await neighbourGoesOn()
    for (const topic of topics) expect(await bounds(topic)).toEqual([[0n, 500n]])
    await mirroring.admin.removeTopicsFromMirror(mirroring.mirror, topics)
  },
)

test('retention that overtakes the mirror fails the partition with both offsets, and is passed over and recorded once that is asked for', async () => {
  const { source, worker } = brokers
  await mirrored(['overtaken'], 500, 2)
  const overtake = async (before: bigint) => {
    await writeLog(worker, source, { topic: 'overtaken', records: 1_000, partitions: 2 })
    await source.admin.deleteRecords('overtaken', 0, before)
  }
  const [runner] = mirroring.runners.slice(-1)
  runner!.freeze()
  try {
    // The answer to the fetch that it had sent before; it sends no other.
    await writeLog(worker, source, { topic: 'overtaken', records: 1, partition: 0 })
    await overtake(800n)
  } finally {
    runner!.thaw()
  }
  const reason = await failure('overtaken')
  // What the source had sent before the freeze is copied still, and it gives the batch that holds its log start whole.
  const told = /^overtaken-0: offset (\d+) is wanted, the source starts at (\d+): offsets \1 to (\d+) \(\d+\) are lost.* --on-gap record/
  expect(reason).toMatch(told)
  const [wanted, first, to] = told.exec(reason)!.slice(1).map(BigInt) as [bigint, bigint, bigint]
  expect(first).toBe(to + 1n)
  expect(first > 700n && first <= 800n).toBe(true)
  await eventually(async () => (await bounds('overtaken'))[1]![1] === 1_000n)
  expect((await bounds('overtaken'))[0]).toEqual([0n, wanted])
  await neighbourGoesOn()
  await mirroring.admin.alterMirror(mirroring.mirror, { set: { 'mirror.on.gap': 'record' } })
  await mirroring.caughtUp('overtaken')
  expect(await mirroring.status('overtaken')).toMatchObject({ state: 'MIRRORING', lostRanges: [{ from: wanted, to }] })
  expect(await mirroring.differences('overtaken')).toEqual([])
  // Again, with nobody there.
  expect(await runner!.stop()).toBe(0)
  await overtake(1_200n)
  await mirroring.startRunner()
  await mirroring.caughtUp('overtaken')
  const [before, after] = (await mirroring.status('overtaken'))!.lostRanges
  expect([before, after!.from]).toEqual([{ from: wanted, to }, 1_001n])
  expect(after!.to > 1_100n && after!.to < 1_200n).toBe(true)
  expect((await mirroring.status('overtaken', 1))!.lostRanges).toEqual([])
  expect(await mirroring.differences('overtaken')).toEqual([])
})

test('another cluster behind the source’s address fails everything, changes nothing, and is forgotten when the right one is back', async () => {
  const { source, destination, worker } = brokers
  await mirrored(['usurped'])
  const before = [await bounds('usurped'), await bounds(NEIGHBOUR)]
  const other = await startTestBroker({ version: '3.9.1', listeners: listeners() })
  try {
    const admin = new KafkaAdmin(worker, other)
    for (const topic of ['usurped', NEIGHBOUR]) {
      await admin.createTopic(topic)
      await writeLog(worker, other, { topic, records: 3_000, seed: 99 })
    }
    proxy.target = other.listeners[1]
    proxy.cut()
    for (const topic of ['usurped', NEIGHBOUR]) {
      const reason = await failure(topic)
      expect(reason).toContain(other.clusterId)
      expect(reason).toContain(source.broker.clusterId)
    }
    expect([await bounds('usurped'), await bounds(NEIGHBOUR)]).toEqual(before)
    proxy.target = source.broker.listeners[1]
    proxy.cut()
    await writeLog(worker, source, { topic: 'usurped', records: 100 })
    await mirroring.caughtUp('usurped')
    expect(await mirroring.differences('usurped')).toEqual([])
    await neighbourGoesOn()
    expect((await destination.admin.offsets('usurped'))[0]!.endOffset).toBe(600n)
  } finally {
    await other.close()
  }
})

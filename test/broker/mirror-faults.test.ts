import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Listener } from '../../src/playground/broker-settings.js'
import { Errors, Produce, WriteTxnMarkers } from '../../src/protocol/index.js'
import { useBrokers } from '../support/brokers.js'
import { writeLog, writeTransactions } from '../support/kafka-log.js'
import { lateAnswers } from '../support/late-answers.js'
import { Load } from '../support/load.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { type ProxiedRequest, TcpProxy } from '../support/proxy.js'
import { eventually } from '../support/wait.js'

// What may happen between a runner and the destination: the runner goes through the proxy, everybody else around it.

let proxy: TcpProxy
beforeAll(async () => {
  proxy = await TcpProxy.listen()
  // From the first connection on, so that each may be judged later.
  proxy.judge = () => 'forward'
})
afterAll(() => proxy?.close())

const listeners = (): Listener[] => [
  { name: 'DIRECT', protocol: 'PLAINTEXT' },
  { name: 'PROXIED', protocol: 'PLAINTEXT', advertised: proxy.address },
]
const brokers = useBrokers({
  destination: {
    properties: DESTINATION_PROPERTIES,
    get listeners() {
      return listeners()
    },
  },
})
// So that a lost connection costs little time.
const mirroring = useMirroring(brokers, { config: { 'mirror.fetch.backoff.ms': '50' } })

const PLAIN = { topic: 'plain', partitions: 2 }
const TRANSACTIONS = { topic: 'transactions', partitions: 2 }

beforeAll(async () => {
  proxy.target = brokers.destination.broker.listeners[1]
  await brokers.source.admin.createTopic(PLAIN.topic, PLAIN)
  await brokers.source.admin.createTopic(TRANSACTIONS.topic, TRANSACTIONS)
  await mirroring.create()
  await mirroring.add(PLAIN.topic, TRANSACTIONS.topic)
  await mirroring.startRunner({ bootstrap: proxy.address })
})

const logEnds = async (topic: string) => (await brokers.destination.admin.offsets(topic)).map(({ endOffset }) => endOffset)

/** Every partition of both topics gets on by that many offsets. */
async function goesOn(offsets = 1n, topics: readonly string[] = [PLAIN.topic, TRANSACTIONS.topic]): Promise<void> {
  await Promise.all(
    topics.map(async (topic) => {
      const before = await logEnds(topic)
      await eventually(async () => (await logEnds(topic)).every((end, partition) => end >= before[partition]! + offsets), {
        what: `Going on with ${topic}`,
      })
    }),
  )
}

/** Does something while both topics are written to; then everything must be on the destination once, and nothing have failed. */
async function underLoad(disturb: () => Promise<void>): Promise<void> {
  const load = await Load.start(brokers, { plain: PLAIN, transactions: TRANSACTIONS })
  try {
    await goesOn()
    await disturb()
  } finally {
    await load.stop()
  }
  await equalAgain()
}

async function equalAgain(): Promise<void> {
  const topics = [PLAIN.topic, TRANSACTIONS.topic]
  await Promise.all(topics.map((topic) => mirroring.caughtUp(topic)))
  expect(await Promise.all(topics.map((topic) => mirroring.differences(topic)))).toEqual([[], []])
  expect(failures()).toEqual([])
}

const failures = () =>
  mirroring.runners.flatMap(({ log }) =>
    log.filter(({ event, topic }) => event === 'partition-failed' && [PLAIN.topic, TRANSACTIONS.topic].includes(topic!)),
  )

const isAppend = ({ apiKey, clientId }: ProxiedRequest) => apiKey === Produce.key && clientId.includes('-append-')
const isFill = ({ apiKey }: ProxiedRequest) => apiKey === WriteTxnMarkers.key

test.each([
  { what: 'appends', apiKey: Produce.key },
  { what: 'fills', apiKey: WriteTxnMarkers.key },
])('answers to $what that are lost on the way cost nothing', async ({ apiKey }) => {
  let answers = 0
  let lost = 0
  await underLoad(async () => {
    proxy.judge = (key) => (key === apiKey && ++answers % 5 === 0 && ++lost > 0 ? 'cut' : 'forward')
    await eventually(() => lost >= 12)
    proxy.judge = () => 'forward'
    await goesOn()
  })
})

test('answers and requests that are slow, one way or the other, cost nothing', async () => {
  await underLoad(async () => {
    proxy.delayMs = 50
    proxy.cut()
    await goesOn(50n)
    proxy.cut()
    proxy.delayMs = 0
    await goesOn()
  })
})

test.each([
  { what: 'appends', held: isAppend },
  { what: 'fills', held: isFill },
])('$what that reach the broker long after they were given up and sent again change nothing', async ({ held }) => {
  await underLoad(async () => {
    for (let round = 0; round < 3; round++) {
      proxy.gate = (request) => (held(request) && proxy.late.length === 0 ? 'hold' : 'forward')
      const [late] = await eventually(() => proxy.late.length > 0 && proxy.late)
      proxy.gate = undefined
      // Sent again and past that: a fill only under a new owner epoch, under which the old one is refused.
      await goesOn(50n)
      const answers = lateAnswers(await late!.deliverLate())
      expect(answers.length).toBeGreaterThan(0)
      if (held === isFill)
        expect(new Set(answers.map(({ errorCode }) => errorCode))).toEqual(new Set([Errors.TRANSACTION_COORDINATOR_FENCED]))
      await goesOn()
    }
  })
})

test('what a runner sent before it was cut off is refused or rightly placed after another has taken over', async () => {
  const [first] = mirroring.runners
  await underLoad(async () => {
    proxy.gate = (request) => {
      const kinds = [isAppend, isFill]
      const wanted = kinds[proxy.late.length]
      if (wanted?.(request) !== true) return 'forward'
      if (proxy.late.length === kinds.length - 1) proxy.stall()
      return 'hold'
    }
    await eventually(() => proxy.late.length === 2)
    proxy.gate = undefined
    const heir = await mirroring.startRunner()
    await eventually(() => heir.said(/\b50 held/))
    // Every partition has been appended to and filled by the new owner.
    await goesOn(100n)
    const [append, fill] = proxy.late
    const ends = new Set([...(await logEnds(PLAIN.topic)), ...(await logEnds(TRANSACTIONS.topic))])
    for (const { errorCode, baseOffset } of lateAnswers(await append!.deliverLate()))
      expect(errorCode !== 0 || [...ends].some((end) => baseOffset < end)).toBe(true)
    for (const { errorCode } of lateAnswers(await fill!.deliverLate())) expect(errorCode).toBe(Errors.TRANSACTION_COORDINATOR_FENCED)
    proxy.resume()
    await eventually(() => first!.log.some(({ msg }) => /^lost/.test(msg)))
    await goesOn()
    expect(await heir.stop()).toBe(0)
    await goesOn()
  })
})

test('an append and a fill that come after the failover are refused', async () => {
  const { source, destination, worker } = brokers
  for (const { topic, held } of [
    { topic: 'left-append', held: isAppend },
    { topic: 'left-fill', held: isFill },
  ]) {
    await source.admin.createTopic(topic)
    await writeLog(worker, source, { topic, records: 100 })
    await mirroring.add(topic)
    await mirroring.caughtUp(topic)
    proxy.gate = (request) => {
      if (!held(request)) return 'forward'
      proxy.gate = undefined
      // Else the runner would say itself that it has stopped.
      proxy.stall()
      return 'hold'
    }
    await writeTransactions(worker, source, { topic, transactionalId: topic, transactions: 1, records: 50 })
    const [late] = await eventually(() => proxy.late.length > 0 && proxy.late)
    const copied = held === isAppend ? 100n : 150n
    await eventually(async () => (await logEnds(topic))[0] === copied)
    const { topics } = await mirroring.admin.removeTopicsFromMirror(mirroring.mirror, [topic], { confirmationTimeoutMs: 500 })
    expect(topics).toMatchObject([{ ok: true, how: 'fenced', partitions: [{ destinationOffset: copied }] }])
    for (const { errorCode } of lateAnswers(await late!.deliverLate()))
      expect([Errors.INVALID_PRODUCER_EPOCH, Errors.TRANSACTION_COORDINATOR_FENCED]).toContain(errorCode)
    // The fence took one offset, and nothing else of the mirror's does when its runner is back.
    const own = await writeLog(worker, destination, { topic, records: 1 })
    expect(own.partitions).toEqual([{ partition: 0, firstOffset: copied + 1n, lastOffset: copied + 1n }])
    proxy.resume()
    await underLoad(() => goesOn())
    expect(await logEnds(topic)).toEqual([copied + 2n])
  }
})

test('a runner that is frozen during a failover leaves the topic alone when it wakes up', async () => {
  const { source, destination, worker } = brokers
  const [runner] = mirroring.runners
  await source.admin.createTopic('left-frozen', { partitions: 2 })
  await mirroring.add('left-frozen')
  const load = await Load.start(brokers, { plain: { topic: 'left-frozen', partitions: 2, recordsPerSecond: 4_000 } })
  await goesOn(200n, ['left-frozen'])
  runner!.freeze()
  const { topics } = await mirroring.admin.removeTopicsFromMirror(mirroring.mirror, ['left-frozen'], { confirmationTimeoutMs: 500 })
  expect(topics).toMatchObject([{ ok: true, how: 'fenced' }])
  const promoted = topics[0]!.ok ? topics[0]!.partitions.map(({ destinationOffset }) => destinationOffset!) : []
  runner!.thaw()
  const own = await writeLog(worker, destination, { topic: 'left-frozen', records: 2, partitions: 2 })
  expect(own.partitions.map(({ firstOffset }) => firstOffset)).toEqual(promoted.map((end) => end + 1n))
  await underLoad(() => goesOn())
  await load.stop()
  expect(await logEnds('left-frozen')).toEqual(promoted.map((end) => end + 2n))
})

test.each(['at rest', 'under load'])(
  'a foreign write %s fails its partition with the offset, and the one beside it goes on',
  async (when) => {
    const { source, destination, worker } = brokers
    const topic = when === 'at rest' ? 'foreign-rest' : 'foreign-load'
    const partitions = 2
    await source.admin.createTopic(topic, { partitions })
    await writeLog(worker, source, { topic, records: 100, partitions })
    await mirroring.add(topic)
    await mirroring.caughtUp(topic)
    const load = when === 'at rest' ? undefined : await Load.start(brokers, { plain: { topic, partitions } })
    try {
      if (load !== undefined) await goesOn(50n, [topic])
      const [foreign] = (await writeLog(worker, destination, { topic, records: 1 })).partitions
      const status = await eventually(async () => {
        const found = await mirroring.status(topic)
        return found?.state === 'FAILED' && found
      })
      const offsets = [...status.error!.message.matchAll(/\d+/g)].map(([digits]) => BigInt(digits))
      // The offset it took, or the one after it, where the mirror's own record was put or expected.
      expect(offsets.some((offset) => offset >= foreign!.firstOffset && offset <= foreign!.firstOffset + 1n)).toBe(true)
      if (load !== undefined) {
        const [, before] = await logEnds(topic)
        await eventually(async () => (await logEnds(topic))[1]! > before!)
      }
    } finally {
      await load?.stop()
    }
    const [, neighbour] = await source.admin.offsets(topic)
    await eventually(async () => (await logEnds(topic))[1] === neighbour!.endOffset)
    const differences = await mirroring.differences(topic)
    expect(differences.filter((line) => line.includes('partition 1'))).toEqual([])
    expect((await mirroring.status(topic, 1))!.state).toBe('MIRRORING')
    expect((await mirroring.status(topic))!.state).toBe('FAILED')
  },
)

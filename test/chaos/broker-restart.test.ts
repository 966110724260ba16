import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Listener } from '../../src/playground/broker-settings.js'
import { useBrokers } from '../support/brokers.js'
import { type SteadyWriter, writeSteadily } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { TcpProxy } from '../support/proxy.js'
import { eventually } from '../support/wait.js'

const TOPIC = 'steady'
const PARTITIONS = 6
const OUTAGE_MS = 12_000

let proxy: TcpProxy
beforeAll(async () => {
  proxy = await TcpProxy.listen()
})
afterAll(() => proxy?.close())

/** The runner reaches the source through the proxy, the tests go around it. */
const throughProxy = (): Listener[] => [
  { name: 'DIRECT', protocol: 'PLAINTEXT' },
  { name: 'PROXIED', protocol: 'PLAINTEXT', advertised: proxy.address },
]
// The controller forgets a killed broker sooner, and lets it come back.
const QUICK_RETURN = { 'broker.session.timeout.ms': '3000', 'broker.heartbeat.interval.ms': '500' }

const brokers = useBrokers({
  source: {
    properties: QUICK_RETURN,
    get listeners() {
      return throughProxy()
    },
  },
  destination: { properties: { ...DESTINATION_PROPERTIES, ...QUICK_RETURN } },
})
const mirroring = useMirroring(brokers, { sourceBootstrap: () => proxy.address })

beforeAll(async () => {
  proxy.target = brokers.source.broker.listeners[1]
  await brokers.source.admin.createTopic(TOPIC, { partitions: PARTITIONS })
  await mirroring.create()
  await mirroring.startRunner()
  await mirroring.add(TOPIC)
})

/** Does something while records are written, and then everything must be on the destination once. */
async function underLoad(disturb: () => Promise<void>): Promise<void> {
  const { source, worker } = brokers
  const writer: SteadyWriter = await writeSteadily(worker, source, { topic: TOPIC, partitions: PARTITIONS, recordsPerSecond: 2_000 })
  await eventually(copiesAgain)
  await disturb()
  expect((await writer.stop()).failed).toBe(0)
  await mirroring.caughtUp(TOPIC)
  expect(await mirroring.differences(TOPIC)).toEqual([])
  expect(mirroring.runners.flatMap(({ log }) => log.filter(({ event }) => event === 'partition-failed'))).toEqual([])
}

/** What is on the source now is on the destination some time later. */
async function catchesUp(within: number): Promise<void> {
  const there = await brokers.source.admin.offsets(TOPIC)
  const arrived = async () => (await brokers.destination.admin.offsets(TOPIC)).every(({ endOffset }, i) => endOffset >= there[i]!.endOffset)
  await eventually(arrived, { within, what: 'Going on' })
}

async function copiesAgain(): Promise<boolean> {
  const sum = async () => (await brokers.destination.admin.offsets(TOPIC)).reduce((total, { endOffset }) => total + endOffset, 0n)
  const before = await sum()
  return eventually(async () => (await sum()) > before)
}

test.each(['source', 'destination'] as const)('the %s may be restarted under load', async (side) => {
  await underLoad(async () => {
    await brokers[side].broker.restart()
    await catchesUp(10_000)
  })
})

test.each(['source', 'destination'] as const)('the %s may be killed under load', async (side) => {
  await underLoad(async () => {
    await brokers[side].broker.kill()
    await brokers[side].broker.start()
    await catchesUp(10_000)
  })
})

test('an outage of the source costs few attempts, is no failure, and ends by itself', async () => {
  await underLoad(async () => {
    const { target, accepted } = proxy
    // Whoever comes is let in and thrown out, and counted.
    proxy.target = undefined
    proxy.cut()
    await pause(OUTAGE_MS)
    const attempts = proxy.accepted - accepted
    expect(attempts).toBeGreaterThan(2)
    expect(attempts).toBeLessThan(30)
    const state = await mirroring.state()
    const statuses = Array.from({ length: PARTITIONS }, (_, partition) => state.status(mirroring.mirror, TOPIC, partition)!)
    expect(statuses.map((status) => status.state)).toEqual(Array(PARTITIONS).fill('MIRRORING'))
    expect(statuses.every(({ error }) => error !== undefined)).toBe(true)
    proxy.target = target
    await catchesUp(10_000)
  })
})

test('connections that are open and dead are noticed', async () => {
  await underLoad(async () => {
    const stalled = [...proxy.connections]
    expect(stalled.length).toBeGreaterThan(1)
    for (const connection of stalled) connection.stall()
    await catchesUp(40_000)
    for (const connection of stalled) connection.cut()
  })
})

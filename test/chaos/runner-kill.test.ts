import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { RUNNER_GROUP } from '../../src/mirror/state-topic.js'
import { useBrokers } from '../support/brokers.js'
import { writeSteadily, writeTransactions } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { randomOf } from '../support/random.js'
import type { RunnerProcess } from '../support/runner-process.js'
import { eventually } from '../support/wait.js'

const KILLS = 20

const brokers = useBrokers({ destination: { properties: DESTINATION_PROPERTIES } })
const mirroring = useMirroring(brokers)

beforeAll(async () => {
  const { source } = brokers
  await source.admin.createTopic('steady', { partitions: 4 })
  await source.admin.createTopic('transactions', { partitions: 2 })
  await mirroring.create()
  await mirroring.add('steady', 'transactions')
})

/** Records arrive. */
async function goesOn(): Promise<void> {
  const copied = async () => (await brokers.destination.admin.offsets('steady')).reduce((sum, { endOffset }) => sum + endOffset, 0n)
  const before = await copied()
  await eventually(async () => (await copied()) > before, { every: 10, what: 'Going on' }).catch((error) => {
    throw new Error(`${error.message}\n${mirroring.runners.at(-1)?.text()}`)
  })
}

test('twenty kills at random points lose, double and shift nothing', async () => {
  const { source, worker } = brokers
  const random = randomOf('runner-kill')
  const writer = await writeSteadily(worker, source, { topic: 'steady', partitions: 4, recordsPerSecond: 4_000, codec: 'lz4' })
  let writing = true
  const transactions = (async () => {
    for (let round = 0; writing; round++) {
      const options = { transactionalId: 'chaos', transactions: 10, records: 20, abortEvery: 4, seed: round }
      await writeTransactions(worker, source, { topic: 'transactions', partitions: 2, ...options })
    }
  })()
  let runner: RunnerProcess = await mirroring.startRunner()
  for (let kill = 0; kill < KILLS; kill++) {
    // Not before it copies: a kill that meets nothing at work shows nothing.
    await goesOn()
    // The moment of the kill is the experiment; nothing is waited for.
    await pause(random() * 400)
    await runner.kill()
    // As its session would after a while: twenty deaths need not take minutes.
    await brokers.destination.admin.expelMembers(RUNNER_GROUP)
    runner = await mirroring.startRunner()
  }
  writing = false
  await transactions
  expect((await writer.stop()).failed).toBe(0)
  for (const topic of ['steady', 'transactions']) {
    await mirroring.caughtUp(topic)
    expect(await mirroring.differences(topic)).toEqual([])
  }
  for (const { log } of mirroring.runners) expect(log.filter(({ event }) => event === 'partition-failed')).toEqual([])
})

test('a runner that was frozen while another took over does no harm when it wakes up', async () => {
  const { source, worker } = brokers
  const frozen = mirroring.runners.at(-1) ?? (await mirroring.startRunner())
  const writer = await writeSteadily(worker, source, { topic: 'steady', partitions: 4, recordsPerSecond: 8_000 })
  await goesOn()
  for (let round = 0; round < 3; round++) {
    frozen.freeze()
    const heir = await mirroring.startRunner()
    await goesOn()
    frozen.thaw()
    await eventually(() => frozen.log.filter(({ msg }) => /^lost/.test(msg)).length > round)
    await goesOn()
    // Everything is the frozen one's again.
    expect(await heir.stop()).toBe(0)
    await goesOn()
  }
  expect((await writer.stop()).failed).toBe(0)
  await mirroring.caughtUp('steady')
  expect(await mirroring.differences('steady')).toEqual([])
  for (const { log } of mirroring.runners) expect(log.filter(({ event }) => event === 'partition-failed')).toEqual([])
})

import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { RUNNER_GROUP } from '../../src/mirror/state-topic.js'
import { useBrokers } from '../support/brokers.js'
import { Load } from '../support/load.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { runProgram } from '../support/program.js'
import type { RunnerProcess } from '../support/runner-process.js'
import { eventually } from '../support/wait.js'

/** As tests' runners have it. */
const SESSION_MS = 3_000
/** What taking partitions up may cost once a runner is known to be gone, on a busy machine. */
const TAKE_UP_MS = 8_000
const TOPICS = { plain: { topic: 'plain', partitions: 12 }, transactions: { topic: 'transactions', partitions: 4 } }
const NAMES = [TOPICS.plain.topic, TOPICS.transactions.topic]
const PARTITIONS = TOPICS.plain.partitions + TOPICS.transactions.partitions

const brokers = useBrokers({ destination: { properties: DESTINATION_PROPERTIES } })
const mirroring = useMirroring(brokers)

beforeAll(async () => {
  for (const options of Object.values(TOPICS)) await brokers.source.admin.createTopic(options.topic, options)
  await mirroring.create()
  await mirroring.add(...NAMES)
})

let load: Load
/** Writes to all partitions while something is done; then both sides must be the same, and nothing have failed. */
async function underLoad(work: () => Promise<void>): Promise<void> {
  load = await Load.start(brokers, { plain: { ...TOPICS.plain, recordsPerSecond: 3_000 }, transactions: TOPICS.transactions })
  await allGoOn(20_000)
  await work()
  await load.stop()
  await Promise.all(NAMES.map((topic) => mirroring.caughtUp(topic)))
  expect(await Promise.all(NAMES.map((topic) => mirroring.differences(topic)))).toEqual([[], []])
  const bad = mirroring.runners.flatMap(({ log }) =>
    log.filter(({ event, topic }) => event === 'partition-failed' && NAMES.includes(topic!)),
  )
  expect(bad).toEqual([])
}
afterEach(() => load?.stop().catch(() => {}))

const logEnds = async () => {
  const topics = await Promise.all(NAMES.map((topic) => brokers.destination.admin.offsets(topic)))
  return topics.flatMap((partitions) => partitions.map(({ endOffset }) => endOffset))
}

/** Records arrive in every partition. */
async function allGoOn(within: number): Promise<void> {
  const before = await logEnds()
  const stuck = async () => (await logEnds()).flatMap((end, i) => (end > before[i]! ? [] : [i]))
  const goOn = async () => {
    expect(await stuck()).toEqual([])
    return true
  }
  await eventually(goOn, { within, what: 'Going on everywhere' }).catch((error) => {
    throw new Error(`${error.message}\n${mirroring.runners.map((runner) => runner.text()).join('\n---\n')}`)
  })
}

const nameOf = ({ pid }: RunnerProcess) => `${hostname()}-${pid}`

/** Owners as statuses have them, with how many partitions each holds. */
async function shares(): Promise<Map<string, number>> {
  const state = await mirroring.state()
  const shares = new Map<string, number>()
  for (const { topic, partitions } of Object.values(TOPICS)) {
    for (let partition = 0; partition < partitions; partition++) {
      const owner = state.status(mirroring.mirror, topic, partition)?.owner ?? 'nobody'
      shares.set(owner, (shares.get(owner) ?? 0) + 1)
    }
  }
  return shares
}

/** All partitions are these runners', and each has some. */
async function sharedBy(...runners: RunnerProcess[]): Promise<void> {
  await eventually(async () => {
    const found = await shares()
    expect([...found.keys()].sort()).toEqual(runners.map(nameOf).sort())
    return true
  })
}

test('runners come, leave, die and freeze under load: each time every partition goes on within the session timeout', async () => {
  const [first, second] = [await mirroring.startRunner(), await mirroring.startRunner()]
  await underLoad(async () => {
    await sharedBy(first, second)
    const third = await mirroring.startRunner()
    await sharedBy(first, second, third)
    await allGoOn(TAKE_UP_MS)
    // Told to, it hands over; nobody waits for its session.
    expect(await first.stop()).toBe(0)
    await allGoOn(TAKE_UP_MS)
    await sharedBy(second, third)
    await second.kill()
    await allGoOn(SESSION_MS + TAKE_UP_MS)
    await sharedBy(third)
    const fourth = await mirroring.startRunner()
    await sharedBy(third, fourth)
    third.freeze()
    await allGoOn(SESSION_MS + TAKE_UP_MS)
    await sharedBy(fourth)
    third.thaw()
    await sharedBy(third, fourth)
    await allGoOn(TAKE_UP_MS)
  })
})

test('describe -o wide names the owner of every partition', async () => {
  const running = mirroring.runners.filter((runner) => runner.running)
  await sharedBy(...running)
  const words = ['describe', '--bootstrap-server', brokers.destination.bootstrap, '-o', 'wide']
  const { stdout } = await runProgram('verbs', words)
  // The topics come first, then what is said of the mirror.
  const [header, ...rows] = stdout.trim().split('\n\n')[0]!.split('\n')
  const at = header!.indexOf('OWNER')
  const owners = rows.map((row) => row.slice(at).split(' ')[0]!)
  expect(owners.length).toBe(PARTITIONS)
  expect(new Set(owners)).toEqual(new Set(running.map(nameOf)))
})

test('the coordinator dies and comes back: the runners keep or regain their partitions, each one once', async () => {
  const running = mirroring.runners.filter((runner) => runner.running)
  await underLoad(async () => {
    await brokers.destination.broker.kill()
    await pause(SESSION_MS / 2)
    await brokers.destination.broker.start()
    await allGoOn(SESSION_MS + TAKE_UP_MS)
    await sharedBy(...running)
  })
})

test('of two runners that both believe they own everything, one copies, or the partition fails and says where', async () => {
  const { source, destination } = brokers
  await Promise.all(mirroring.runners.map((runner) => runner.running && runner.stop()))
  const plain = { topic: 'disputed', partitions: 6 }
  const transactions = { topic: 'disputed-fills', partitions: 4 }
  for (const options of [plain, transactions]) await source.admin.createTopic(options.topic, options)
  await mirroring.add(plain.topic, transactions.topic)
  const deposed = await mirroring.startRunner({ properties: { 'session.timeout.ms': '45000', 'heartbeat.interval.ms': '15000' } })
  const lost = () => deposed.said(/^lost/)
  const writing = await Load.start(brokers, { plain: { ...plain, recordsPerSecond: 2_000 }, transactions })
  try {
    await eventually(async () => (await destination.admin.offsets(transactions.topic)).every(({ endOffset }) => endOffset > 50n))
    // It learns of this at its next heartbeat, seconds later, and copies meanwhile.
    await destination.admin.expelMembers(RUNNER_GROUP)
    const usurper = await mirroring.startRunner()
    await eventually(() => usurper.said(/^took 50 shards/))
    expect(lost()).toBeUndefined()
    await eventually(lost)
    await sharedBy(deposed, usurper)
  } finally {
    await writing.stop()
  }
  // A sequence tells the broker whose append comes at the wrong place.
  await mirroring.caughtUp(plain.topic)
  expect(await mirroring.differences(plain.topic)).toEqual([])
  // Nothing tells it that of a marker. Two owners may fill the same offsets in the same moment: that must be found, and told.
  const told = async (partition: number) => {
    const status = await mirroring.status(transactions.topic, partition)
    return status?.state === 'FAILED' && /offset \d+|log end .* is \d+/.test(status.error!.message)
  }
  const [there, failed] = [await source.admin.offsets(transactions.topic), new Set<number>()]
  for (const { partition, endOffset } of there) {
    await eventually(async () => {
      const ends = await destination.admin.offsets(transactions.topic)
      if (await told(partition)) failed.add(partition)
      return failed.has(partition) || ends[partition]!.endOffset === endOffset
    })
  }
  const differing = (await mirroring.differences(transactions.topic)).map((line) => Number(/partition (\d+)/.exec(line)![1]))
  expect(differing.filter((partition) => !failed.has(partition))).toEqual([])
  for (const partition of failed) expect(await eventually(() => told(partition))).toBe(true)
  await mirroring.admin.removeTopicsFromMirror(mirroring.mirror, [transactions.topic, plain.topic])
})

test('a group that is deleted while nobody runs costs nothing: owner epochs start above all that were ever used', async () => {
  await Promise.all(mirroring.runners.map((runner) => runner.running && runner.stop()))
  const { admin } = brokers.destination
  expect(Object.keys(await admin.committed(RUNNER_GROUP)).length).toBeGreaterThan(0)
  await admin.deleteGroup(RUNNER_GROUP)
  expect(await admin.committed(RUNNER_GROUP)).toEqual({})
  const highest = new Map<string, number>()
  const state = await mirroring.state()
  for (const { topic, partitions } of Object.values(TOPICS)) {
    for (let partition = 0; partition < partitions; partition++) {
      const epoch = state.status(mirroring.mirror, topic, partition)!.ownerEpoch
      highest.set(`${topic}-${partition}`, epoch)
    }
  }
  const started = await Promise.all([mirroring.startRunner(), mirroring.startRunner()])
  await underLoad(async () => {
    const after = await mirroring.state()
    for (const { topic, partitions } of Object.values(TOPICS)) {
      for (let partition = 0; partition < partitions; partition++)
        expect(after.status(mirroring.mirror, topic, partition)!.ownerEpoch).toBeGreaterThan(highest.get(`${topic}-${partition}`)!)
    }
  })
  const fenced = started.flatMap(({ log }) => log.filter(({ event }) => event === 'partition-fenced'))
  expect(fenced).toEqual([])
})

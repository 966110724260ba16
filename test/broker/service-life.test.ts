import { beforeAll, describe, expect, test } from 'vitest'
import { MirrorAdmin } from '../../src/service/index.js'
import type { DrainProgress, RemovedTopic, TopicResult } from '../../src/service/types.js'
import { useBrokers } from '../support/brokers.js'
import { beginTransaction, endTransaction, writeLog, writeSteadily } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { startProgram } from '../support/program.js'
import { PROGRAM } from '../support/runner-process.js'
import { eventually } from '../support/wait.js'

const brokers = useBrokers({ destination: { properties: DESTINATION_PROPERTIES } })
const mirroring = useMirroring(brokers)
const M = 'm'

beforeAll(async () => {
  await mirroring.create()
  await mirroring.startRunner()
})

const runner = () => mirroring.runners.at(-1)!

/** The program, in the words of operators. */
const start = (...words: string[]) =>
  startProgram('verbs', [words[0]!, '--bootstrap-server', brokers.destination.bootstrap, '--mirror', M, ...words.slice(1)], {
    program: PROGRAM,
  })

const run = (...words: string[]) => start(...words).ended

const write = (topic: string, records: number, partitions = 2) => writeLog(brokers.worker, brokers.source, { topic, records, partitions })

/** Source topics with records, mirrored and caught up. */
async function mirrored(...topics: string[]): Promise<void> {
  for (const topic of topics) {
    await brokers.source.admin.createTopic(topic, { partitions: 2 })
    await write(topic, 20)
  }
  await mirroring.add(...topics)
  for (const topic of topics) await mirroring.caughtUp(topic)
}

const ends = async (side: 'source' | 'destination', topic: string) =>
  (await brokers[side].admin.offsets(topic)).map(({ endOffset }) => endOffset)

const states = async (topic: string) =>
  (await mirroring.admin.describeMirrors([M], { topics: [topic] })).partitions.map(({ state }) => state)

const rowsOf = (topics: readonly TopicResult<RemovedTopic>[]) => topics.flatMap((topic) => (topic.ok ? topic.partitions : []))

/** Clients may write: what they write is where the mirror left. */
async function isWritable(topic: string, at: readonly bigint[]): Promise<void> {
  const written = await writeLog(brokers.worker, brokers.destination, { topic, records: at.length, partitions: at.length })
  expect(written.partitions.map(({ firstOffset }) => firstOffset)).toEqual(at)
}

test('a paused topic stands still while others go on, through the loss of its runner, and goes on where it was', async () => {
  await mirrored('halted', 'other')
  expect(await run('pause', '--topic', 'hal.*', '--dry-run')).toMatchObject({ stdout: 'Would pause 1 topic(s) of mirror m: [halted]\n' })
  expect(await run('pause', '--topic', 'hal.*', '--wait')).toEqual({
    exitCode: 0,
    stdout: 'Paused 1 topic(s) of mirror m: [halted]\n',
    stderr: '',
  })
  expect(await states('halted')).toEqual(['PAUSED', 'PAUSED'])
  const stood = await ends('destination', 'halted')
  for (const topic of ['halted', 'other']) await write(topic, 40)
  await mirroring.caughtUp('other')
  expect(await ends('destination', 'halted')).toEqual(stood)
  const again = await mirroring.admin.pauseMirror(M, { topics: ['halted', 'nowhere'] })
  expect(again.topics).toMatchObject([
    { topic: 'halted', ok: true, how: 'unchanged' },
    { topic: 'nowhere', ok: false, error: { code: 'TOPIC_NOT_MIRRORED' } },
  ])

  const added = await mirroring.admin.addTopicsToMirror({ halted: M })
  expect(added).toMatchObject({ topics: [{ how: 'unchanged' }], warnings: [expect.stringMatching(/^topic halted of mirror m is paused/)] })

  await runner().kill()
  await mirroring.startRunner()
  await write('other', 10)
  await mirroring.caughtUp('other')
  expect([await states('halted'), await ends('destination', 'halted')]).toEqual([['PAUSED', 'PAUSED'], stood])

  expect(await run('resume', '--wait')).toMatchObject({ exitCode: 0, stdout: 'Resumed 2 topic(s) of mirror m: [halted, other]\n' })
  await mirroring.caughtUp('halted')
  expect(await mirroring.differences('halted')).toEqual([])
})

test('a paused topic can be removed, and added again from where it was', async () => {
  await mirrored('rested')
  await mirroring.admin.pauseMirror(M, { topics: ['rested'] })
  await mirroring.admin.waitForPaused(M, ['rested'], 20_000)
  const paused = await run('remove', '--topic', 'rested', '--drain=5s')
  expect(paused).toMatchObject({ exitCode: 1, stdout: '' })
  expect(paused.stderr).toBe(
    'kafka-mirrors: topic rested of mirror m is paused, so it cannot be drained — resume it first, or remove it without --drain\n',
  )
  await write('rested', 6)
  const removed = await mirroring.admin.removeTopicsFromMirror(M, ['rested'])
  expect(removed.topics).toMatchObject([{ ok: true, how: 'confirmed', partitions: [{ lost: 3n }, { lost: 3n }] }])
  expect(removed.warnings.join()).toMatch(/the source of mirror m has 6 offset\(s\) in 2 partition\(s\) that are not here/)
  expect((await mirroring.admin.removeTopicsFromMirror(M, ['rest.*'])).topics).toMatchObject([{ ok: true, how: 'unchanged' }])
  await mirroring.add('rested')
  await mirroring.caughtUp('rested')
  expect(await mirroring.differences('rested')).toEqual([])
})

describe('a planned move', () => {
  test('waits for writers and open transactions, says what it waits for, and changes nothing when that takes too long', async () => {
    const { source, worker } = brokers
    await mirrored('moved')
    const writer = await writeSteadily(worker, source, { topic: 'moved', partitions: 2, recordsPerSecond: 100 })
    const busy = await run('remove', '--topic', 'moved', '--drain=3s')
    await writer.stop()
    expect(busy).toMatchObject({ exitCode: 1, stdout: '' })
    expect(busy.stderr).toMatch(
      /^kafka-mirrors: mirror m is not drained: moved-0 is still written to on the source, from offset \d+ to \d+; /,
    )
    expect(busy.stderr).toMatch(/nothing was changed and mirroring goes on; see that the writers have stopped and try again\n$/i)
    await beginTransaction(worker, source, 'mover')
    await writeLog(worker, source, { topic: 'moved', transactionalId: 'mover', records: 2 })
    const open = await mirroring.admin.removeTopicsFromMirror(M, ['moved'], { drainMs: 2_500 }).catch((error: Error) => error)
    expect(open).toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringMatching(/moved-0 waits on the source for the transaction open since/),
    })
    expect(await states('moved')).toEqual(['MIRRORING', 'MIRRORING'])
    await endTransaction(worker, 'mover', 'commit')

    const progress: DrainProgress[] = []
    const group = { 0: 15n, 1: 7n }
    await source.admin.commit('movers', 'moved', group)
    const moved = await mirroring.admin.removeTopicsFromMirror(M, ['moved'], {
      drainMs: 60_000,
      onProgress: (one) => progress.push(one),
    })
    expect(moved).toMatchObject({ topics: [{ ok: true, how: 'confirmed' }], warnings: [] })
    expect(rowsOf(moved.topics).map(({ lost }) => lost)).toEqual([0n, 0n])
    expect(progress.at(-1)).toEqual({ partitions: 2, drained: 2, lag: 0n })
    expect(await ends('destination', 'moved')).toEqual(await ends('source', 'moved'))
    expect(await mirroring.differences('moved')).toEqual([])
    // Where consumers go on was brought over a last time.
    expect(await brokers.destination.admin.committed('movers')).toEqual({ 'moved-0': 15n, 'moved-1': 7n })
    await isWritable('moved', await ends('source', 'moved'))
  })

  test('gives a topic back that is written to in the last moment, and loses nothing', async () => {
    await mirrored('surprised')
    let written: Promise<unknown> = Promise.resolve()
    const failed = await mirroring.admin.removeTopicsFromMirror(M, ['surprised'], {
      drainMs: 60_000,
      onProgress: ({ drained, partitions }) => {
        if (drained < partitions) return
        void runner().kill()
        written = write('surprised', 10)
      },
    })
    await written
    expect(failed.topics).toMatchObject([{ ok: false, error: { code: 'CONFLICT' } }])
    expect((failed.topics[0] as { error: Error }).error.message).toMatch(
      /surprised was written to on the source while it was being removed/,
    )
    await mirroring.startRunner()
    await mirroring.caughtUp('surprised')
    expect(await mirroring.differences('surprised')).toEqual([])
    const removed = await mirroring.admin.removeTopicsFromMirror(M, ['surprised'], { drainMs: 60_000 })
    expect(removed.topics).toMatchObject([{ ok: true, how: 'confirmed', partitions: [{ lost: 0n }, { lost: 0n }] }])
  })
})

test('a removal that was interrupted is finished by the next one', async () => {
  await mirrored('broken-off')
  runner().freeze()
  const first = start('remove', '--topic', 'broken-off', '--wait=60s')
  await eventually(async () => (await mirroring.state()).mirror(M)!.topics.get('broken-off')?.desired === 'STOPPING')
  first.child.kill('SIGKILL')
  await first.ended
  const refused = await mirroring.admin.pauseMirror(M, { topics: ['broken-off'] })
  expect(refused.topics).toMatchObject([{ ok: false, error: { code: 'CONFLICT' } }])
  runner().thaw()
  await eventually(async () => (await mirroring.status('broken-off'))?.state === 'STOPPED')
  // Its owner has let go, and yet it is not writable.
  expect(await states('broken-off')).toEqual(['STOPPING', 'STOPPING'])
  await write('broken-off', 2)
  const drained = await run('remove', '--topic', 'broken-off', '--drain')
  expect(drained).toMatchObject({ exitCode: 1, stdout: '' })
  expect(drained.stderr).toMatch(/since an earlier call began to remove it from mirror m — run remove without --drain to finish/)
  const end = await ends('destination', 'broken-off')
  const finished = await run('stop', '--topic', 'broken-off')
  expect(finished).toMatchObject({ exitCode: 0, stdout: 'Removed 1 topic(s) from mirror m: [broken-off]\n' })
  expect(finished.stderr).toMatch(
    /^kafka-mirrors: warning: the source of mirror m has 2 offset\(s\) in 2 partition\(s\) that are not here .*\n$/,
  )
  expect(await run('remove', '--topic', 'broken-off')).toMatchObject({ exitCode: 0 })
  expect((await brokers.destination.admin.topicConfigs('broken-off'))['retention.ms']).toBeUndefined()
  await isWritable('broken-off', end)
})

test('with the destination down every verb says so and has done nothing', async () => {
  const nowhere = new MirrorAdmin({ 'bootstrap.servers': '127.0.0.1:1' })
  try {
    const calls = [nowhere.pauseMirror(M), nowhere.resumeMirror(M), nowhere.removeTopicsFromMirror(M, undefined), nowhere.deleteMirror(M)]
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'DESTINATION_UNREACHABLE' } })
      expect((outcome as PromiseRejectedResult).reason.message).toMatch(/^the destination is out of reach: 127.0.0.1:1/)
    }
  } finally {
    await nowhere.close()
  }
})

describe('a thousand partitions, with the source and the runner gone', () => {
  const TOPICS = Array.from({ length: 100 }, (_, i) => `big-${String(i).padStart(2, '0')}`)
  const PARTITIONS = 10

  test('are failed over together', async () => {
    const { source, destination, worker } = brokers
    await inParts(TOPICS, async (topic) => {
      await source.admin.createTopic(topic, { partitions: PARTITIONS, configs: { 'retention.ms': '86400000' } })
      await writeLog(worker, source, { topic, records: PARTITIONS * 2, partitions: PARTITIONS, style: 'plain' })
    })
    // Records that the runner hears of and cannot copy, since their transaction is open.
    await beginTransaction(worker, source, 'lost')
    await writeLog(worker, source, { topic: TOPICS[0]!, transactionalId: 'lost', records: 5 })
    await mirroring.add(...TOPICS)
    await mirroring.admin.waitForMirroring(M, TOPICS, 90_000)
    for (const topic of TOPICS) await eventually(async () => (await ends('destination', topic)).every((end) => end === 2n))
    await source.broker.kill()
    await eventually(async () => (await mirroring.status(TOPICS[0]!))?.sourceEnd?.offset === 7n)
    await runner().kill()

    const since = performance.now()
    const outcome = await run('remove', '--yes', '--json')
    const took = performance.now() - since
    expect(outcome.exitCode).toBe(0)
    const { topics } = JSON.parse(outcome.stdout) as { topics: { topic: string; ok: boolean; how: string; partitions: object[] }[] }
    expect(topics.map(({ topic }) => topic)).toEqual(expect.arrayContaining(TOPICS))
    const ours = topics.filter(({ topic }) => TOPICS.includes(topic))
    expect(new Set(ours.map(({ ok, how }) => `${ok} ${how}`))).toEqual(new Set(['true fenced']))
    expect(ours.flatMap(({ partitions }) => partitions)).toHaveLength(TOPICS.length * PARTITIONS)
    expect(took).toBeLessThan(30_000)
    expect(outcome.stderr).toMatch(/the source could not be asked what it has beyond/)
    expect(outcome.stderr).toMatch(
      /has 5 offset\(s\) in 1 partition\(s\) that are not here \(big-00-0 from offset 2\), as last seen at \d{4}-/,
    )
    expect(ours[0]!.partitions[0]).toMatchObject({ destinationOffset: '2', sourceOffset: '7', lost: '5', sourceSeenAt: expect.any(String) })
    for (const topic of [TOPICS[0]!, TOPICS.at(-1)!]) {
      await expect.poll(() => destination.admin.topicConfigs(topic)).toMatchObject({ 'retention.ms': '86400000' })
      // The fence of each partition takes one offset.
      expect(await ends('destination', topic)).toEqual(Array(PARTITIONS).fill(3n))
    }
    await isWritable(TOPICS[7]!, Array(PARTITIONS).fill(3n))
    expect((await mirroring.admin.listMirrors()).mirrors).toMatchObject([{ mirror: M, topics: 0 }])
  })

  test('and the mirror is deleted without any of them', async () => {
    expect(await run('delete')).toMatchObject({ exitCode: 0, stdout: 'Deleted mirror m\n' })
    expect(await run('delete')).toMatchObject({ exitCode: 1, stdout: '' })
    expect((await mirroring.state()).mirrors()).toEqual([])
    expect((await mirroring.state()).statusesOf(M).size).toBe(0)
  })
})

/** Eight at once. */
async function inParts<T>(items: readonly T[], action: (item: T) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < items.length; from += 8) await Promise.all(items.slice(from, from + 8).map(action))
}

import { afterAll, beforeAll, expect, test } from 'vitest'
import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import { put } from '../../src/mirror/spec-store.js'
import { MirrorAdmin } from '../../src/service/index.js'
import { reseedTopic } from '../../src/service/recovery/reseed.js'
import type { ReseedStep, ReseedWork } from '../../src/service/recovery/reseed-state.js'
import { StateStore } from '../../src/service/state-store.js'
import { useBrokers } from '../support/brokers.js'
import { readLog, writeLog, writeRecords } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { foreign, Recovering } from '../support/recovering.js'
import { eventually } from '../support/wait.js'

const brokers = useBrokers({ destination: { properties: DESTINATION_PROPERTIES } })
const mirroring = useMirroring(brokers)
const { mirrored, recover, program, failed, keptTails } = new Recovering(brokers, mirroring)
const closing: { close(): Promise<void> }[] = []

beforeAll(async () => {
  await mirroring.create()
  await mirroring.startRunner()
})
afterAll(() => Promise.all(closing.map((one) => one.close())))

const stopRunner = () => mirroring.runners.at(-1)!.kill()

test('a foreign write: the tail is kept as it was, and the topic copied again', async () => {
  const { source, destination, worker } = brokers
  await source.admin.createTopic('foreign', { partitions: 2, configs: { 'retention.ms': '86400000' } })
  await writeLog(worker, source, { topic: 'foreign', records: 2_000, partitions: 2 })
  await mirroring.add('foreign')
  await mirroring.caughtUp('foreign')
  await destination.admin.alterTopicConfigs('foreign', { 'min.insync.replicas': '1', 'segment.bytes': '1048576' })
  await writeRecords(worker, destination, { topic: 'foreign', list: [foreign('one'), foreign('two')] })
  await writeLog(worker, source, { topic: 'foreign', records: 500, partitions: 2 })
  await failed('foreign')
  const before = await mirroring.state()
  const shown = await recover('foreign', { dryRun: true })
  expect(shown).toMatchObject([{ partition: 0, problem: 'divergence', differsFrom: 1_000n, action: 'none', needs: 'on-divergence' }])
  expect(shown[0]!.divergedRecords).toBeGreaterThanOrEqual(2)
  const endOffset = (await destination.admin.offsets('foreign'))[0]!.endOffset
  expect(shown[0]!.divergedOffsets).toBe(endOffset - 1_000n)
  // Without the option it is tried again, in vain.
  expect(await recover('foreign')).toMatchObject([{ action: 'none' }])
  expect(await recover('foreign', { onDivergence: 'reseed' })).toMatchObject([{ action: 'reseed' }])
  await mirroring.caughtUp('foreign')
  expect(await mirroring.differences('foreign')).toEqual([])
  const tails = Object.values(await keptTails('foreign'))
  expect(tails).toHaveLength(1)
  expect(tails[0]![1]).toEqual([])
  expect(tails[0]![0]).toHaveLength(Number(endOffset - 1_000n))
  const kept = tails[0]![0]!.slice(0, 2).map((text) => text.replace(/\s+/g, ' '))
  expect(kept[0]).toContain(Buffer.from('one').toString('hex'))
  expect(kept[1]).toContain(Buffer.from('two').toString('hex'))
  expect(kept[0]).toContain('1700000000000')
  const after = (await mirroring.state()).mirror('m')!.topics.get('foreign')!
  expect(after.addedAt).toBeGreaterThan(before.mirror('m')!.topics.get('foreign')!.addedAt)
  expect(after.held).toMatchObject({ 'retention.ms': '86400000' })
  await expect
    .poll(() => destination.admin.topicConfigs('foreign'))
    .toMatchObject({
      'retention.ms': '-1',
      'min.insync.replicas': '1',
      'segment.bytes': '1048576',
    })
  await writeLog(worker, source, { topic: 'foreign', records: 100, partitions: 2 })
  await mirroring.caughtUp('foreign')
})

test('a source topic that was recreated is copied again from its start, and the old copy is kept whole', async () => {
  const { source, worker } = brokers
  await mirrored('recreated', 2, 200)
  await source.admin.deleteTopic('recreated')
  await source.admin.createTopic('recreated', { partitions: 3 })
  await writeLog(worker, source, { topic: 'recreated', records: 900, partitions: 3 })
  await failed('recreated')
  expect(await recover('recreated', { dryRun: true })).toMatchObject(
    [0, 1].map((partition) => ({ partition, problem: 'source-recreated', differsFrom: 0n, divergedOffsets: 100n, divergedRecords: 100 })),
  )
  // Two operators at once: the work is done once, whoever does which part.
  const other = new MirrorAdmin({ 'bootstrap.servers': brokers.destination.bootstrap })
  closing.push(other)
  const both = await Promise.all(
    [mirroring.admin, other].map((admin) => admin.recoverMirror('m', { topics: ['recreated'], onDivergence: 'reseed' })),
  )
  // The one that came too late may say so.
  expect(both.flatMap(({ topics }) => topics.map(({ ok }) => ok))).toContain(true)
  await mirroring.caughtUp('recreated')
  expect(await mirroring.differences('recreated')).toEqual([])
  const [tail] = Object.values(await keptTails('recreated'))
  expect(tail!.map((records) => records.length)).toEqual([100, 100])
})

test('what differs is thrown away when that is wanted', async () => {
  const { destination, worker } = brokers
  await mirrored('discarded', 1, 100)
  await writeRecords(worker, destination, { topic: 'discarded', list: [foreign('x')] })
  await writeLog(worker, brokers.source, { topic: 'discarded', records: 10 })
  await failed('discarded')
  await recover('discarded', { onDivergence: 'reseed', discardDiverged: true })
  await mirroring.caughtUp('discarded')
  expect(await mirroring.differences('discarded')).toEqual([])
  expect(await keptTails('discarded')).toEqual({})
})

test('killed while it keeps what differs, the command goes on where it was when it is run again', async () => {
  const { source, destination, worker } = brokers
  await mirrored('killed', 1, 100)
  const large = { topic: 'killed', records: 8_000, valueBytes: 1_000, codec: 'lz4' } as const
  await writeLog(worker, { ...destination, properties: { 'batch.size': '16384' } }, large)
  await failed('killed')
  const before = (await readLog(worker, destination, { topic: 'killed', content: 'hash' }))[0]!.records.slice(100)
  const first = program('--topic', 'killed', '--on-divergence', 'reseed', '--yes')
  const tailTopic = () =>
    destination.admin.topics().then((topics) => Object.keys(topics).find((name) => name.startsWith('killed.diverged-')))
  const name = await eventually(tailTopic, { every: 5 })
  await eventually(async () => (await destination.admin.offsets(name))[0]!.endOffset > 0n, { every: 1 })
  first.child.kill('SIGKILL')
  await first.ended
  const again = await program('--topic', 'killed', '--on-divergence', 'reseed', '--yes', '--wait').ended
  expect(again).toMatchObject({
    exitCode: 0,
    stderr: `kafka-mirrors: topic killed: 8000 record(s) that differed are kept in topic ${name}\n`,
  })
  const kept = (await readLog(worker, destination, { topic: name, content: 'hash' }))[0]!.records
  const content = (records: typeof kept) => records.map(({ offset: _, ...record }) => record)
  expect(content(kept)).toEqual(content(before))
  await mirroring.caughtUp('killed')
  expect(await mirroring.differences('killed')).toEqual([])
  expect((await source.admin.offsets('killed'))[0]!.endOffset).toBe(100n)
})

const STEPS: readonly ReseedStep[] = ['stopping', 'let-go', 'examined', 'copied', 'kept', 'deleted', 'created', 'added']

function open(bootstrap: string): Cluster {
  const cluster = new Cluster(clientConfigOf(new Map([['bootstrap.servers', bootstrap]])).config)
  closing.push(cluster)
  return cluster
}

/** A reseed that ends, as if it was killed, after this step. */
async function interrupt(topic: string, step: ReseedStep): Promise<void> {
  const destination = open(brokers.destination.bootstrap)
  const work: ReseedWork = {
    context: { destination, store: new StateStore(destination), now: Date.now },
    mirror: 'm',
    topic,
    addedAt: (await mirroring.state()).mirror('m')!.topics.get(topic)!.addedAt,
    source: open(brokers.source.bootstrap),
    warnings: [],
    options: {
      discard: false,
      confirmationTimeoutMs: undefined,
      reached: (reached) => {
        if (reached === step) throw new Error(`killed after ${step}`)
      },
    },
  }
  await expect(reseedTopic(work), step).rejects.toThrow(`killed after ${step}`)
}

test('a reseed that is interrupted after any of its steps is finished by running it again, and nothing is kept twice', async () => {
  const { destination, worker } = brokers
  await mirrored('interrupted', 2, 400)
  // Nobody runs: the command itself makes sure that nobody copies.
  await stopRunner()
  await writeRecords(worker, destination, { topic: 'interrupted', list: [foreign('a', 1), foreign('b', 1), foreign('c', 1)] })
  for (const step of STEPS) {
    await interrupt('interrupted', step)
    const tails = Object.values(await keptTails('interrupted'))
    const [tail] = tails
    const isKept = STEPS.indexOf(step) >= STEPS.indexOf('copied')
    const more = STEPS.indexOf(step) > STEPS.indexOf('kept') ? 1 : 0
    const kept = isKept ? [more, 3 + more] : undefined
    expect([step, tails.length, tail?.map((records) => records.length)]).toEqual([step, isKept ? 1 : 0, kept])
    // As if it had been killed: nothing but the state is left of it.
    if (step === 'added') continue
    // Whoever wrote there goes on: to the old topic, after all that was in it had been kept.
    if (step === 'kept') await writeRecords(worker, destination, { topic: 'interrupted', list: [foreign('d', 1), foreign('e', 0)] })
    expect(await recover('interrupted', { dryRun: true })).toMatchObject([{ problem: 'unfinished' }, { problem: 'unfinished' }])
    const { warnings } = await mirroring.admin.describeMirrors(['m'], { topics: ['interrupted'] })
    expect(warnings.join()).toContain('kafka-mirrors recover --mirror m --topic interrupted --on-divergence reseed --yes')
    const added = await mirroring.admin.addTopicsToMirror({ interrupted: 'm' })
    expect(added.topics).toMatchObject([{ ok: false, error: { code: 'TOPIC_ALREADY_MIRRORED' } }])
  }
  await mirroring.startRunner()
  await mirroring.caughtUp('interrupted')
  expect(await mirroring.differences('interrupted')).toEqual([])
})

test('a reseed that was begun can be given up: the topic is removed as it is', async () => {
  const { destination, worker } = brokers
  await mirrored('given-up', 1, 100)
  await interrupt('given-up', 'kept')
  const { topics } = await mirroring.admin.removeTopicsFromMirror('m', ['given-up'])
  expect(topics).toMatchObject([{ ok: true, how: 'confirmed' }])
  expect((await mirroring.state()).mirror('m')!.topics.get('given-up')).toMatchObject({ desired: 'STOPPED', reseed: undefined })
  expect((await writeLog(worker, destination, { topic: 'given-up', records: 1 })).partitions[0]!.firstOffset).toBe(100n)
})

test('a reseed that is given up after it took the old copy away says what is lost', async () => {
  const { source } = brokers
  for (const [topic, step] of [
    ['emptied', 'created'],
    ['missing', 'deleted'],
  ] as const) {
    await mirrored(topic, 1, 100)
    await interrupt(topic, step)
  }
  const { topics, warnings } = await mirroring.admin.removeTopicsFromMirror('m', ['emptied', 'missing'])
  expect(topics).toMatchObject([
    { topic: 'emptied', ok: true, partitions: [{ destinationOffset: 0n, sourceOffset: 100n, lost: 100n }] },
    { topic: 'missing', ok: true, partitions: [] },
  ])
  expect(warnings.join()).toMatch(/the source of mirror m has 100 offset\(s\) in 1 partition\(s\) that are not here/)
  expect(warnings).toContain('topic missing is not on the destination any more')
  const { results } = (await mirroring.state()).mirror('m')!
  expect([results.get('emptied'), results.get('missing')]).toMatchObject([{ partitions: [{ logEndOffset: 0n }] }, { partitions: [] }])
  expect((await source.admin.offsets('emptied'))[0]!.endOffset).toBe(100n)
})

test('data that something else puts under the name of a topic that is being replaced is kept too', async () => {
  const { destination, worker } = brokers
  await mirrored('busy', 1, 100)
  await writeRecords(worker, destination, { topic: 'busy', list: [foreign('first')] })
  await interrupt('busy', 'kept')
  // Something with auto-creation.
  await destination.admin.deleteTopic('busy')
  await destination.admin.createTopic('busy')
  await writeRecords(worker, destination, { topic: 'busy', list: [foreign('second')] })
  await expect(recover('busy', { onDivergence: 'reseed' })).rejects.toMatchObject({ code: 'TOPIC_HAS_OTHER_DATA' })
  await recover('busy', { onDivergence: 'reseed' })
  const tails = Object.values(await keptTails('busy')).map(([records]) => records!.join())
  expect(tails).toHaveLength(2)
  for (const [i, value] of ['first', 'second'].entries()) expect(tails[i]).toContain(Buffer.from(value).toString('hex'))
  await mirroring.caughtUp('busy')
  expect(await mirroring.differences('busy')).toEqual([])
})

test('a topic that is only being added is not touched: its data may never have been the mirror’s', async () => {
  const { source, destination, worker } = brokers
  await source.admin.createTopic('coming')
  await destination.admin.createTopic('coming')
  await writeRecords(worker, destination, { topic: 'coming', list: [foreign('its own')] })
  // As an addition leaves it that was killed.
  const NONE = '00000000-0000-0000-0000-000000000000'
  const [ids, producers] = [{ sourceTopicId: NONE, destinationTopicId: NONE }, [{ id: 1n, epoch: 0 }]]
  const adding = { desired: 'ADDING' as const, ...ids, partitions: 1, producers, held: {}, addedAt: Date.now() }
  const records = [put({ kind: 'topic', mirror: 'm', topic: 'coming' }, adding)]
  await new StateStore(open(destination.bootstrap)).update(() => ({ records, result: undefined }))
  const reseed = { onDivergence: 'reseed', discardDiverged: true } as const
  await expect(recover('coming', reseed)).rejects.toMatchObject({ code: 'CONFLICT' })
  const all = await mirroring.admin.recoverMirror('m', reseed)
  expect(all.topics.filter(({ topic }) => topic === 'coming')).toEqual([])
  expect((await destination.admin.offsets('coming'))[0]!.endOffset).toBe(1n)
})

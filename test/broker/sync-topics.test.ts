import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import { KeyedLog } from '../../src/client/keyed-log.js'
import { put } from '../../src/mirror/spec-store.js'
import { SPEC_PARTITION, STATE_TOPIC } from '../../src/mirror/state-topic.js'
import { MirrorAdmin } from '../../src/service/index.js'
import { StateStore } from '../../src/service/state-store.js'
import { discovery } from '../../src/sync/topics/discovery.js'
import { growth } from '../../src/sync/topics/growth.js'
import { type TestBroker, useBrokers } from '../support/brokers.js'
import { writeLog } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { type Moment, SyncRounds } from '../support/sync-rounds.js'
import { eventually } from '../support/wait.js'

const kafka = useBrokers({ destination: { properties: DESTINATION_PROPERTIES } })
const mirroring = useMirroring(kafka)
let rounds: SyncRounds
let source: Cluster
/** Of the mirrors that the source is itself the destination of. */
let sourceState: KeyedLog

const bootstraps = () => ({ source: kafka.source.bootstrap, destination: kafka.destination.bootstrap })

beforeAll(async () => {
  await mirroring.create()
  rounds = new SyncRounds('m', bootstraps())
  source = new Cluster(clientConfigOf(new Map([['bootstrap.servers', kafka.source.bootstrap]])).config)
  await new StateStore(source).ensure()
  sourceState = new KeyedLog(source, STATE_TOPIC)
})
afterAll(async () => {
  await rounds?.close()
  await source?.close()
})

const include = (patterns: string, exclude = '') =>
  mirroring.admin.alterMirror('m', { set: { 'mirror.topics.include': patterns, 'mirror.topics.exclude': exclude } })
const specOf = async (topic: string) => (await rounds.state()).mirror('m')?.topics.get(topic)
const topicsHere = async () => Object.keys(await kafka.destination.admin.topics())
const createThere = async (...topics: readonly string[]) => {
  for (const topic of topics) await kafka.source.admin.createTopic(topic, { partitions: 1 })
}

const isHeld = (topic: string) =>
  eventually(async () => {
    await expect.poll(() => kafka.destination.admin.topicConfigs(topic)).toMatchObject({ 'retention.ms': '-1', 'cleanup.policy': 'delete' })
    return true
  })

const killedAt = (moment: Moment) => async (now: Moment) => {
  if (now === moment) throw new Error('killed')
}

/** The controller has changed them; brokers learn of it a moment later. */
const settled = (topic: string, values: Readonly<Record<string, string>>) =>
  eventually(async () => {
    await expect.poll(() => kafka.destination.admin.topicConfigs(topic)).toEqual(values)
    return true
  })

/** The controller has done it; brokers learn of it a moment later. */
async function remove({ admin }: TestBroker, topic: string): Promise<void> {
  await admin.deleteTopic(topic)
  await eventually(async () => !(topic in (await admin.topics())))
}

async function grow({ admin }: TestBroker, topic: string, partitions: number): Promise<void> {
  await admin.addPartitions(topic, partitions)
  await eventually(async () => (await admin.leaders(topic)).filter(({ leader }) => leader >= 0).length === partitions)
}

describe('discovery', () => {
  it('is begun by add with patterns, which are kept, and adds what matches later complete', async () => {
    await createThere('shop.orders', 'shop.log', 'shopper')
    const { topics, warnings } = await mirroring.admin.addTopicsToMirror(
      {},
      { discover: { 'shop\\..*': 'm', later: 'm' }, exclude: ['.*\\.log'] },
    )
    expect(topics).toMatchObject([{ topic: 'shop.orders', ok: true, how: 'created' }])
    expect(warnings).toEqual([])
    const configs = (await rounds.state()).mirror('m')!.configs
    expect(configs.get('mirror.topics.include')).toBe('shop\\..*,later')
    expect(configs.get('mirror.topics.exclude')).toMatch(/^__\.\*,.*,\.\*\\\.log$/)
    await kafka.source.admin.createTopic('shop.new', { partitions: 3, configs: { 'retention.ms': '5000', 'flush.ms': '777' } })
    await createThere('shop.new.log', 'later')
    expect(await rounds.round(discovery)).toEqual({ changes: 2, problems: [], notes: [] })
    await expect.poll(() => kafka.destination.admin.topicConfigs('shop.new')).toMatchObject({ 'retention.ms': '-1', 'flush.ms': '777' })
    const spec = await specOf('shop.new')
    expect([spec?.partitions, spec?.producers.length, spec?.held['retention.ms']]).toEqual([3, 3, '5000'])
    for (const topic of ['shop.log', 'shop.new.log', 'shopper']) expect(await topicsHere()).not.toContain(topic)
    expect(await rounds.round(discovery)).toEqual({ changes: 0, problems: [], notes: [] })
  })

  it('does not bring back what was removed, which add does by name only', async () => {
    await include('back.*')
    await createThere('back')
    expect((await rounds.round(discovery)).changes).toBe(1)
    await mirroring.admin.removeTopicsFromMirror('m', ['back'], { confirmationTimeoutMs: 0 })
    expect(await rounds.round(discovery)).toEqual({ changes: 0, problems: [], notes: [] })
    const again = await mirroring.admin.addTopicsToMirror({}, { discover: { 'back.*': 'm' } })
    expect(again).toMatchObject({ topics: [], warnings: [expect.stringContaining('back; name them to --topic')] })
    expect((await mirroring.admin.addTopicsToMirror({ back: 'm' })).topics).toMatchObject([{ ok: true }])
  })

  it('does not add what is no longer wanted since the runner read its state', async () => {
    await include('stale.*')
    await createThere('stale')
    await rounds.round(growth)
    await include('nothing')
    expect(await rounds.round(discovery, { fresh: false })).toMatchObject({ changes: 0, problems: [] })
    expect(await specOf('stale')).toBeUndefined()
    expect((await rounds.round(discovery)).notes).toEqual(['topic nothing of mirror.topics.include is not on the source'])
  })

  it('takes names that only look internal', async () => {
    await include('__plain,.*\\.internal,_under.*')
    await createThere('__plain', 'a.internal', '_under')
    expect(await rounds.round(discovery)).toEqual({ changes: 3, problems: [], notes: [] })
  })

  it('tells of a topic that cannot be created, adds the others, and tries again', async () => {
    await include('fail\\..*')
    await createThere('fail.a', 'fail.b')
    // Brokers refuse two names that differ in a dot and an underscore only.
    await kafka.destination.admin.createTopic('fail_a')
    const { changes, problems } = await rounds.round(discovery)
    expect(changes).toBe(1)
    expect(problems).toEqual([{ item: 'fail.a', message: expect.stringContaining('could not be created on the destination') }])
    await remove(kafka.destination, 'fail_a')
    expect(await rounds.round(discovery)).toEqual({ changes: 1, problems: [], notes: [] })
  })

  it("does not touch a topic of the destination that holds other data, and takes one that holds the source's", async () => {
    await include('has\\..*')
    await createThere('has.same', 'has.other')
    const records = { records: 20, style: 'plain' } as const
    await writeLog(kafka.worker, kafka.source, { topic: 'has.same', ...records })
    for (const topic of ['has.same', 'has.other']) await kafka.destination.admin.createTopic(topic)
    await writeLog(kafka.worker, kafka.destination, { topic: 'has.other', ...records })
    const { changes, problems } = await rounds.round(discovery)
    expect([changes, problems.map(({ item }) => item)]).toEqual([1, ['has.other']])
    expect(problems[0]!.message).toContain("holds data that is not the source's")
  })

  describe('of topics that are there', () => {
    const own = { 'retention.ms': '7000000', 'cleanup.policy': 'compact' }
    const real = { 'retention.ms': '3600000', 'flush.ms': '777', 'cleanup.policy': 'compact' }
    const createOwn = async (topic: string) => {
      await kafka.destination.admin.createTopic(topic, { partitions: 1, configs: own })
      await settled(topic, own)
    }
    const createSource = (topic: string) =>
      kafka.source.admin.createTopic(topic, { partitions: 1, configs: { 'retention.ms': '3600000', 'flush.ms': '777' } })
    const interrupted = async (topic: string, moment: Moment) => {
      await include(topic)
      const { changes, problems } = await rounds.round(discovery, { interrupt: killedAt(moment) })
      expect([changes, problems.map(({ item }) => item)]).toEqual([0, [topic]])
      expect(await specOf(topic)).toMatchObject({ desired: 'ADDING' })
    }
    const removed = async (topic: string) => {
      expect((await mirroring.admin.removeTopicsFromMirror('m', [topic])).topics).toMatchObject([{ ok: true }])
      expect(await specOf(topic)).toMatchObject({ desired: 'STOPPED' })
    }

    it('is on record before it touches them: what is interrupted is finished by the next round, with the values of the source', async () => {
      await createSource('half.on')
      await createOwn('half.on')
      await interrupted('half.on', 'before decision 2')
      await isHeld('half.on')
      expect(await specOf('half.on')).toMatchObject({ held: { ...own, 'flush.ms': null } })
      const { warnings } = await mirroring.admin.describeMirrors(['m'])
      expect(warnings).toContainEqual(expect.stringContaining('topic half.on is being added to mirror m since'))
      const paused = await mirroring.admin.pauseMirror('m', { topics: ['half.*'] })
      const told = 'not paused, as they are being added to mirror m: half.on; run pause again once they are added, or they are copied'
      expect(paused).toMatchObject({ topics: [], warnings: [told] })
      const resumed = await mirroring.admin.resumeMirror('m', { topics: ['half.*'] })
      expect(resumed).toMatchObject({ topics: [], warnings: [expect.stringContaining('they are copied once they are added')] })
      expect(await rounds.round(discovery)).toEqual({ changes: 1, problems: [], notes: [] })
      const spec = await specOf('half.on')
      expect(spec).toMatchObject({
        desired: 'MIRRORING',
        held: { 'retention.ms': '3600000', 'cleanup.policy': 'compact' },
        producers: [{}],
      })
      expect(spec?.held).not.toHaveProperty('flush.ms')
      await removed('half.on')
      await settled('half.on', real)
    })

    it('is undone by a removal, however far it came: they are what they were', async () => {
      const topics = ['undo.untouched', 'undo.touched', 'undo.created', 'undo.others']
      for (const topic of topics) await createSource(topic)
      for (const topic of ['undo.untouched', 'undo.touched']) await createOwn(topic)
      await interrupted('undo.untouched', 'after decision 1')
      await interrupted('undo.touched', 'before decision 2')
      await isHeld('undo.touched')
      await interrupted('undo.touched', 'before decision 2')
      // By somebody else, since it was not there.
      await interrupted('undo.created', 'after decision 1')
      await createOwn('undo.created')
      await interrupted('undo.created', 'before decision 2')
      await isHeld('undo.created')
      await interrupted('undo.others', 'after decision 1')
      await createOwn('undo.others')
      for (const topic of topics) {
        await removed(topic)
        await settled(topic, own)
      }
    })

    it('is undone also behind a removal that has overtaken it, unless they were failed over meanwhile', async () => {
      for (const topic of ['behind.added', 'behind.mirrored']) {
        await createSource(topic)
        await createOwn(topic)
      }
      const overtakenBy = (between: () => Promise<unknown>) =>
        rounds.round(discovery, { interrupt: async (moment) => void (moment === 'after decision 1' && (await between())) })
      await include('behind.added')
      await overtakenBy(() => removed('behind.added'))
      await include('behind.mirrored')
      await overtakenBy(async () => {
        expect((await rounds.round(discovery)).changes).toBe(1)
        await removed('behind.mirrored')
      })
      await kafka.destination.admin.createTopic('behind.witness')
      await eventually(async () => (await topicsHere()).includes('behind.witness'))
      await settled('behind.added', own)
      await settled('behind.mirrored', real)
    })
  })

  it('lets another finish what it has begun, and is not misled by what is copied since', async () => {
    await include('joined')
    await createThere('joined')
    await kafka.destination.admin.createTopic('joined')
    const quiet = { problems: [], notes: [] }
    const first = await rounds.round(discovery, {
      interrupt: async (moment) => {
        if (moment !== 'after decision 1') return
        expect(await rounds.round(discovery)).toEqual({ changes: 1, ...quiet })
        await writeLog(kafka.worker, kafka.destination, { topic: 'joined', records: 5, style: 'plain' })
      },
    })
    expect(first).toEqual({ changes: 0, ...quiet })
    expect(await specOf('joined')).toMatchObject({ desired: 'MIRRORING', held: { 'retention.ms': null }, found: [{ logEndOffset: 0n }] })
  })

  it.each([
    ['before decision 1', false],
    ['after decision 1', true],
    ['before decision 2', true],
  ] as const)('leaves nothing of a mirror that is deleted while it adds a topic (%s)', async (moment, created) => {
    const topic = `overtaken-${moment.replaceAll(' ', '-')}`
    await kafka.source.admin.createTopic(topic, { partitions: 1, configs: { 'retention.ms': '8000000' } })
    await mirroring.admin.createMirror('o', { 'bootstrap.servers': kafka.source.bootstrap, 'mirror.topics.include': topic })
    const other = new SyncRounds('o', bootstraps())
    try {
      const { changes } = await other.round(discovery, {
        interrupt: async (now) => {
          if (now === moment) await mirroring.admin.deleteMirror('o')
        },
      })
      expect(changes).toBe(0)
    } finally {
      await other.close()
    }
    expect((await rounds.state()).mirror('o')).toBeUndefined()
    // What was asked for before is seen wherever what was asked for later is.
    await kafka.destination.admin.createTopic(`${topic}-witness`)
    await eventually(async () => (await topicsHere()).includes(`${topic}-witness`))
    expect((await topicsHere()).includes(topic)).toBe(created)
    if (created) await settled(topic, { 'retention.ms': '8000000' })
  })

  it('leaves topics to the mirror that has them, and those that its source has from this cluster', async () => {
    await include('owned,circle,ring')
    await createThere('owned', 'circle', 'ring')
    await mirroring.admin.createMirror('n', { 'bootstrap.servers': kafka.source.bootstrap })
    await mirroring.admin.addTopicsToMirror({ owned: 'n' })
    await kafka.destination.admin.createTopic('circle')
    const there = new MirrorAdmin({ 'bootstrap.servers': kafka.source.bootstrap })
    try {
      await there.createMirror('back', { 'bootstrap.servers': kafka.destination.bootstrap })
      const { topics } = await there.addTopicsToMirror({ circle: 'back' })
      expect(topics).toMatchObject([{ ok: true }])
      const { changes, problems, notes } = await rounds.round(discovery)
      expect(changes).toBe(1)
      expect(problems.map(({ message }) => message)).toEqual([expect.stringContaining('topic owned is already mirrored by mirror n')])
      expect(notes).toEqual(['not copied back, since the source has them from this cluster: circle'])
      const byPattern = await mirroring.admin.addTopicsToMirror({}, { discover: { 'circ.*': 'm' } })
      expect(byPattern).toMatchObject({ topics: [], warnings: notes })
      // Closed where nobody saw it, as at the same moment on both sides.
      const ring = (await specOf('ring'))!
      expect(ring.origins).toEqual([])
      await sourceState.append(SPEC_PARTITION, [put({ kind: 'topic', mirror: 'back', topic: 'ring' }, { ...ring, held: {} })])
      const told = (await rounds.round(growth)).problems.filter(({ item }) => item === 'ring')
      expect(told).toEqual([{ item: 'ring', message: expect.stringContaining('is mirrored in a circle') }])
      expect((await specOf('ring'))?.origins).toHaveLength(1)
      await there.removeTopicsFromMirror('back', ['ring'])
      await rounds.round(growth)
      expect((await specOf('ring'))?.origins).toEqual([])
    } finally {
      await there.close()
    }
  })

  it("takes no topic in by a pattern that is here already while the source's own mirrors cannot be read", async () => {
    await include('unsure,sure')
    await createThere('unsure', 'sure')
    await kafka.destination.admin.createTopic('unsure')
    const write = (value: string | null) => sourceState.append(SPEC_PARTITION, [{ key: 'topic/back/unsure', value }])
    await write('{"version":99}')
    const { changes, problems } = await rounds.round(discovery)
    expect([changes, problems]).toEqual([
      1,
      [{ item: 'unsure', message: expect.stringContaining('whether the source has it from there is unknown') }],
    ])
    await write(null)
    expect(await rounds.round(discovery)).toEqual({ changes: 1, problems: [], notes: [] })
  })
})

describe('topics', () => {
  it('grow as the source grows, and what is in the new partitions is copied', async () => {
    await kafka.source.admin.createTopic('grow', { partitions: 2 })
    await mirroring.add('grow')
    await writeLog(kafka.worker, kafka.source, { topic: 'grow', records: 40, partitions: 2, style: 'plain' })
    await mirroring.startRunner()
    await mirroring.caughtUp('grow')
    await grow(kafka.source, 'grow', 5)
    await writeLog(kafka.worker, kafka.source, { topic: 'grow', records: 100, partitions: 5, style: 'varied' })
    // The runner may be at it too: who comes second changes nothing.
    await eventually(async () => {
      await rounds.round(growth)
      const spec = await specOf('grow')
      expect([spec?.partitions, new Set(spec?.producers.map(({ id }) => id)).size]).toEqual([5, 5])
      return true
    })
    await mirroring.caughtUp('grow')
    expect(await mirroring.differences('grow')).toEqual([])
    expect((await rounds.round(growth)).changes).toBe(0)
    // Rounds of the other tests are theirs alone.
    expect(await mirroring.runners.at(-1)!.stop()).toBe(0)
  })

  it('are copied by what another grew before it could record it', async () => {
    await createThere('half')
    await mirroring.add('half')
    await grow(kafka.source, 'half', 3)
    await grow(kafka.destination, 'half', 3)
    await rounds.round(growth)
    expect((await specOf('half'))?.producers).toHaveLength(3)
  })

  it('are told of where the destination has more partitions, or the source has the topic no more or another', async () => {
    await createThere('more', 'gone', 'remade')
    await mirroring.add('more', 'gone', 'remade')
    await grow(kafka.destination, 'more', 2)
    await remove(kafka.source, 'gone')
    await remove(kafka.source, 'remade')
    await createThere('remade')
    const { changes, problems } = await rounds.round(growth)
    expect(changes).toBe(0)
    expect(Object.fromEntries(problems.map(({ item, message }) => [item, message]))).toMatchObject({
      more: expect.stringContaining('has 2 partitions on the destination and 1 on the source'),
      gone: expect.stringContaining('is not on the source any more; its copy is kept'),
      remade: expect.stringContaining('was recreated on the source'),
    })
    expect(await topicsHere()).toContain('gone')
  })
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import { KeyedLog } from '../../src/client/keyed-log.js'
import type { MirrorState, StateRecord } from '../../src/mirror/fold.js'
import { mirrorShardOf } from '../../src/mirror/shards.js'
import { put } from '../../src/mirror/spec-store.js'
import { STATE_TOPIC } from '../../src/mirror/state-topic.js'
import type { Listener } from '../../src/playground/broker-settings.js'
import { IncrementalAlterConfigs, ListGroups, Produce, WriteTxnMarkers } from '../../src/protocol/index.js'
import { MirrorAdmin } from '../../src/service/index.js'
import { StateStore } from '../../src/service/state-store.js'
import { discovery } from '../../src/sync/topics/discovery.js'
import { useBrokers } from '../support/brokers.js'
import { readLog, writeLog } from '../support/kafka-log.js'
import { DESTINATION_PROPERTIES, Mirroring } from '../support/mirroring.js'
import { TcpProxy } from '../support/proxy.js'
import { type Moment, SyncRounds } from '../support/sync-rounds.js'
import { eventually } from '../support/wait.js'

// What may happen in the middle of a removal: the command goes through the proxy, runners and everybody else around it.

let proxy: TcpProxy
beforeAll(async () => {
  proxy = await TcpProxy.listen()
})
afterAll(() => proxy?.close())

const brokers = useBrokers({
  destination: {
    // A controller takes a broker that died for alive until then, and keeps it from coming back.
    properties: { ...DESTINATION_PROPERTIES, 'broker.session.timeout.ms': '1500', 'broker.heartbeat.interval.ms': '300' },
    get listeners(): Listener[] {
      return [
        { name: 'DIRECT', protocol: 'PLAINTEXT' },
        { name: 'PROXIED', protocol: 'PLAINTEXT', advertised: proxy.address },
      ]
    },
  },
})

const QUICK = { 'mirror.group.sync.interval.ms': '500' }
/** Of one the runner is alive and confirms; that of the other is gone, so that the command fences. */
const mirrorings = {
  live: new Mirroring(brokers, { mirror: 'live', config: QUICK }),
  dead: new Mirroring(brokers, { mirror: 'dead', config: QUICK }),
}
type Name = keyof typeof mirrorings
afterAll(() => Promise.all(Object.values(mirrorings).map((mirroring) => mirroring.close())))

/** Stages of a removal: the nth request of a kind, whose answer is lost. */
const STAGES = {
  asking: [Produce, 1],
  'log-ends': [Produce, 2],
  fencing: [WriteTxnMarkers, 1],
  positions: [ListGroups, 1],
  settings: [IncrementalAlterConfigs, 1],
  recording: [Produce, 3],
} as const
type Stage = keyof typeof STAGES

const TOPICS: Readonly<Record<Name, readonly string[]>> = {
  dead: ['dead-asking', 'dead-fencing', 'dead-positions', 'dead-recording', 'dead-killed'],
  live: ['live-log-ends', 'live-settings', 'live-killed', 'live-late', 'live-gone', 'live-stays'],
}
const POSITIONS = { 0: 4n, 1: 7n }
const RETENTION = { 'retention.ms': '86400000' }

beforeAll(async () => {
  proxy.target = brokers.destination.broker.listeners[1]
  const { source, worker } = brokers
  for (const name of ['dead', 'live'] as const) {
    const mirroring = mirrorings[name]
    await mirroring.create()
    const runner = await mirroring.startRunner({ mirrors: [name], properties: { 'session.timeout.ms': '20000' } })
    await Promise.all(
      TOPICS[name].map(async (topic) => {
        await source.admin.createTopic(topic, { partitions: 2, configs: RETENTION })
        await writeLog(worker, source, { topic, records: 20, partitions: 2 })
        await source.admin.commit(`group-of-${topic}`, topic, POSITIONS)
      }),
    )
    await mirroring.add(...TOPICS[name])
    await Promise.all(TOPICS[name].map((topic) => mirroring.caughtUp(topic)))
    for (const topic of TOPICS[name]) await eventually(() => hasPositions(topic))
    if (name === 'dead') await runner.stop()
  }
})

async function hasPositions(topic: string): Promise<true> {
  expect(await brokers.destination.admin.committed(`group-of-${topic}`)).toEqual({ [`${topic}-0`]: 4n, [`${topic}-1`]: 7n })
  return true
}

/** The controller has given them back; brokers learn of it a moment later. */
const hasItsSettings = (topic: string) =>
  eventually(async () => {
    expect(await brokers.destination.admin.topicConfigs(topic)).toEqual(RETENTION)
    return true
  })

/** Changes the state as another command would. */
async function edit(change: (state: MirrorState) => readonly StateRecord[]): Promise<void> {
  const cluster = new Cluster(clientConfigOf(new Map([['bootstrap.servers', brokers.destination.bootstrap]])).config)
  await new StateStore(cluster).update((state) => ({ records: change(state), result: undefined }))
  await cluster.close()
}

const ends = async (topic: string) => (await brokers.destination.admin.offsets(topic)).map(({ endOffset }) => endOffset)

/** Removes a topic; `dies` is called at the stage, whose answer never arrives. */
async function removeUntil(stage: Stage, name: Name, topic: string, dies: (admin: MirrorAdmin) => unknown): Promise<void> {
  const [api, nth] = STAGES[stage]
  let seen = 0
  const admin = new MirrorAdmin({ 'bootstrap.servers': proxy.address })
  proxy.judge = (apiKey) => {
    if (apiKey !== api.key || ++seen !== nth) return 'forward'
    void dies(admin)
    return 'drop'
  }
  try {
    await admin.removeTopicsFromMirror(name, [topic], { confirmationTimeoutMs: name === 'dead' ? 300 : undefined }).catch(() => {})
    expect(seen, `the stage ${stage}`).toBeGreaterThanOrEqual(nth)
  } finally {
    proxy.judge = undefined
    await admin.close()
  }
}

/** The command has died and is given again: the topic is its clients' own, with all that was copied. */
async function isRemovedByTheNext(name: Name, topic: string): Promise<void> {
  const { source, destination, worker } = brokers
  const mirroring = mirrorings[name]
  const removed = await mirroring.admin.removeTopicsFromMirror(name, [topic], { confirmationTimeoutMs: name === 'dead' ? 300 : undefined })
  expect(removed.topics).toMatchObject([{ ok: true, partitions: [{ destinationOffset: 10n }, { destinationOffset: 10n }] }])
  const known = (await mirroring.state()).mirror(name)!
  expect(known.topics.get(topic)).toMatchObject({ desired: 'STOPPED', held: {}, stopping: undefined })
  expect(known.results.get(topic)).toMatchObject({
    how: name === 'dead' ? 'fenced' : 'confirmed',
    partitions: [0, 1].map((partition) => ({ partition, logEndOffset: 10n })),
  })
  await hasItsSettings(topic)
  await hasPositions(topic)
  const read = async (cluster: typeof source) =>
    (await readLog(worker, cluster, { topic, content: 'hash' })).map(({ count, sha256 }) => ({ count, sha256 }))
  expect(await read(destination)).toEqual(await read(source))
  // One fence, however often the command was given.
  const end = name === 'dead' ? 11n : 10n
  const written = await writeLog(worker, destination, { topic, records: 2, partitions: 2 })
  expect(written.partitions.map(({ firstOffset }) => firstOffset)).toEqual([end, end])
}

test.each<[Stage, Name]>([
  ['asking', 'dead'],
  ['fencing', 'dead'],
  ['positions', 'dead'],
  ['recording', 'dead'],
  ['log-ends', 'live'],
  ['settings', 'live'],
])('a removal that dies at %s, of a topic whose runner is %s, is finished by the next one', async (stage, name) => {
  await removeUntil(stage, name, `${name}-${stage}`, (admin) => Promise.all([proxy.refuse(), admin.close()]))
  await proxy.open()
  await isRemovedByTheNext(name, `${name}-${stage}`)
})

test('removals that the destination dies under survive it or are finished by the next ones, and its runner goes on', async () => {
  const { source, destination, worker } = brokers
  const { live } = mirrorings
  let back: Promise<unknown> | undefined
  await removeUntil('fencing', 'dead', 'dead-killed', () => {
    const removed = live.admin.removeTopicsFromMirror('live', ['live-killed']).catch(() => {})
    const restarted = eventually(async () => (await live.state()).mirror('live')!.topics.get('live-killed')!.desired !== 'MIRRORING')
      .then(() => destination.broker.kill())
      .then(() => destination.broker.start())
    back = Promise.all([removed, restarted])
  })
  await back
  await isRemovedByTheNext('dead', 'dead-killed')
  await isRemovedByTheNext('live', 'live-killed')
  await writeLog(worker, source, { topic: 'live-stays', records: 10, partitions: 2 })
  await live.caughtUp('live-stays')
  expect(await live.differences('live-stays')).toEqual([])
})

test('what an owner says behind the fence of a removal that died counts neither the fence nor what clients wrote', async () => {
  const { destination, worker } = brokers
  const mirroring = mirrorings.live
  const [runner] = mirroring.runners
  runner!.freeze()
  const admin = new MirrorAdmin({ 'bootstrap.servers': proxy.address })
  proxy.judge = (apiKey) => {
    if (apiKey !== WriteTxnMarkers.key) return 'forward'
    void Promise.all([proxy.refuse(), admin.close()])
    return 'drop'
  }
  await admin.removeTopicsFromMirror('live', ['live-late'], { confirmationTimeoutMs: 300 }).catch(() => {})
  proxy.judge = undefined
  await proxy.open()
  expect(await ends('live-late')).toEqual([11n, 11n])
  await writeLog(worker, destination, { topic: 'live-late', records: 2, partitions: 2 })
  runner!.thaw()
  await eventually(async () => {
    const answers = await Promise.all([0, 1].map((partition) => mirroring.status('live-late', partition)))
    return answers.every((status) => status?.answers !== undefined)
  })
  const removed = await mirroring.admin.removeTopicsFromMirror('live', ['live-late'])
  expect(removed.topics).toMatchObject([{ ok: true, how: 'fenced', partitions: [{ destinationOffset: 10n }, { destinationOffset: 10n }] }])
  expect(await ends('live-late')).toEqual([12n, 12n])
})

test('the wait for a topic that the source has lost ends with that', async () => {
  const mirroring = mirrorings.live
  await brokers.source.admin.deleteTopic('live-gone')
  await eventually(async () => (await mirroring.status('live-gone'))?.state === 'STOPPED')
  await mirroring.admin.resumeMirror('live', { topics: ['live-gone'] })
  await expect(mirroring.admin.waitForMirroring('live', ['live-gone'], 600_000)).rejects.toMatchObject({
    code: 'UNKNOWN_TOPIC',
    message: expect.stringMatching(/^topic live-gone was deleted on the source; .* kafka-mirrors remove --mirror live --topic live-gone$/),
  })
})

test('a topic whose addition was not finished is removed without waiting for runners, which never heard of it', async () => {
  const { live } = mirrorings
  await edit((state) => {
    const spec = state.mirror('live')!.topics.get('live-stays')!
    return [put({ kind: 'topic', mirror: 'live', topic: 'live-half' }, { ...spec, desired: 'ADDING' })]
  })
  await expect(live.admin.removeTopicsFromMirror('live', ['live-half'], { drainMs: 600_000 })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: 'topic live-half of mirror live is being added, so it cannot be drained',
  })
  const removed = await live.admin.removeTopicsFromMirror('live', ['live-half'], { confirmationTimeoutMs: 600_000 })
  expect(removed.topics).toMatchObject([{ ok: true, how: 'confirmed', partitions: [] }])
})

test('a mirror that is made again for another source gets no topic that was being found on the earlier one', async () => {
  const { source, destination } = brokers
  const rounds = new SyncRounds('again', { source: source.bootstrap, destination: destination.bootstrap })
  const config = { 'bootstrap.servers': source.bootstrap, 'mirror.topics.include': 'live-stays' }
  try {
    await mirrorings.live.admin.createMirror('again', config)
    await mirrorings.live.admin.removeTopicsFromMirror('live', ['live-stays'])
    const elsewhere = put({ kind: 'mirror', mirror: 'again' }, { sourceClusterId: 'elsewhere', createdAt: Date.now() })
    const interrupt = async (moment: Moment) => void (moment === 'before decision 1' && (await edit(() => [elsewhere])))
    const { changes, problems } = await rounds.round(discovery, { interrupt })
    expect([changes, problems]).toEqual([
      0,
      [{ item: 'live-stays', message: expect.stringMatching(/copies from cluster elsewhere by now/) }],
    ])
    expect((await rounds.state()).mirror('again')!.topics.size).toBe(0)
  } finally {
    await mirrorings.live.admin.deleteMirror('again')
    await rounds.close()
  }
})

test('nothing comes back of a mirror that is deleted while its runner finds topics, nor of an earlier one of the name', async () => {
  const { source, destination } = brokers
  await mirrorings.live.runners[0]!.stop()
  const cluster = new Cluster(clientConfigOf(new Map([['bootstrap.servers', destination.bootstrap]])).config)
  const log = new KeyedLog(cluster, STATE_TOPIC)
  const known = async () => {
    const records = new Map(((await log.load()) ?? []).map(({ key, value }) => [key, value]))
    return [...records].filter(([key, value]) => value !== null && key.split('/').includes('finder')).map(([key]) => key)
  }
  const finder = new Mirroring(brokers, { mirror: 'finder', config: { 'mirror.topics.include': 'found-.*' } })
  const witness = new Mirroring(brokers, { mirror: 'witness', config: { 'mirror.topics.include': 'found-0' } })
  let [made, goesOn] = [0, true]
  const make = async () => {
    while (goesOn) await source.admin.createTopic(`found-${made++}`, { configs: RETENTION })
  }
  let making: Promise<void> | undefined
  try {
    const round = { ownerEpoch: 99, owner: 'late', at: 1, ok: false, changes: 0, problems: [], more: 0, notes: [] }
    await log.append(mirrorShardOf('finder'), [put({ kind: 'sync', mirror: 'finder', loop: 'groups' }, round)])
    await finder.create()
    expect(await known()).not.toContain('sync/finder/groups')
    await finder.startRunner()
    making = make()
    await eventually(async () => (await finder.state()).mirror('finder')!.topics.size > 3)
    await eventually(async () => (await finder.admin.deleteMirror('finder')).deleted)
    goesOn = false
    await making
    // The same runner finds for another mirror: it knows by then, and what it was at is over.
    await witness.create()
    await eventually(async () => (await witness.status('found-0'))?.state === 'MIRRORING')
    await eventually(async () => (await known()).length === 0)
    const here = Object.keys(await destination.admin.topics()).filter((topic) => /^found-[1-9]/.test(topic))
    expect(here.length).toBeGreaterThan(2)
    for (const topic of here) await hasItsSettings(topic)
  } finally {
    goesOn = false
    await making?.catch(() => {})
    await Promise.all([finder.close(), witness.close(), cluster.close()])
  }
})

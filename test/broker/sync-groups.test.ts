import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { alterShareGroupOffsets, commitOffsets } from '../../src/client/admin.js'
import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import { type GroupSync, syncGroups } from '../../src/sync/groups/sync-groups.js'
import { useBrokers } from '../support/brokers.js'
import { KafkaGroups } from '../support/kafka-groups.js'
import { writeLog } from '../support/kafka-log.js'
import { joinStreamsGroup } from '../support/streams-member.js'
import { eventually } from '../support/wait.js'

/** Members learn of their partitions with a heartbeat. */
const QUICK = Object.fromEntries(
  ['consumer', 'share', 'streams'].flatMap((type) => [
    [`group.${type}.min.heartbeat.interval.ms`, '200'],
    [`group.${type}.heartbeat.interval.ms`, '200'],
  ]),
)
const kafka = useBrokers({
  source: { version: '4.4.0', properties: QUICK },
  destination: { properties: { ...QUICK, 'offset.metadata.max.bytes': '100' } },
})
let source: KafkaGroups
let destination: KafkaGroups
let clusters: { readonly source: Cluster; readonly destination: Cluster }

beforeAll(async () => {
  source = new KafkaGroups(kafka.worker, kafka.source)
  destination = new KafkaGroups(kafka.worker, kafka.destination)
  clusters = { source: connect(kafka.source.bootstrap), destination: connect(kafka.destination.bootstrap) }
})
afterAll(() => Promise.all([clusters?.source.close(), clusters?.destination.close()]))

const connect = (bootstrap: string) => new Cluster(clientConfigOf(new Map([['bootstrap.servers', bootstrap]])).config)

/** The topic on both sides, with so many records in each partition. */
async function topic(name: string, there: number, here: number, partitions = 1): Promise<void> {
  for (const [side, records] of [
    [kafka.source, there],
    [kafka.destination, here],
  ] as const) {
    await side.admin.createTopic(name, { partitions })
    if (records > 0) await writeLog(kafka.worker, side, { topic: name, records: records * partitions, partitions, style: 'plain' })
  }
}

/** Of the groups of the topics given only: tests share the brokers. */
const sync = (topics: readonly string[], include: string, more: Partial<GroupSync> = {}) =>
  syncGroups({ ...clusters, topics: new Set(topics), include: [include], exclude: [], ...more })

/** What the destination answers to a position for a group, whatever a look at it has said before. */
async function refusal(write: typeof commitOffsets | typeof alterShareGroupOffsets, groupId: string, topic: string): Promise<string> {
  const [result] = await write(clusters.destination, [{ groupId, positions: [{ topic, partition: 0, offset: 1n, metadata: '' }] }])
  const outcome = result!.ok ? result!.value[0]! : result!
  return outcome.ok ? 'taken' : outcome.error.message.split(':')[0]!
}

describe('groups that commit offsets', () => {
  it('are brought to their exact position, with metadata and without the leader epoch of the source', async () => {
    await topic('plain', 100, 100, 2)
    await topic('elsewhere', 10, 10)
    await source.commit({
      'plain-a': [
        { topic: 'plain', partition: 0, offset: 40n, metadata: 'ä note', leaderEpoch: 7 },
        { topic: 'plain', partition: 1, offset: 0n },
        { topic: 'elsewhere', offset: 5n },
      ],
      'plain-b': [{ topic: 'plain', partition: 1, offset: 100n }],
      'plain-left-out': [{ topic: 'plain', offset: 1n }],
      'plain-of-other-topics': [{ topic: 'elsewhere', offset: 1n }],
      __kafka_mirrors: [{ topic: 'plain', offset: 1n }],
    })
    const first = await sync(['plain'], '.*', { include: ['plain-.*', '__.*'], exclude: ['plain-left-out'] })
    expect(first).toEqual({ changes: 3, problems: [], notes: [] })
    expect(await destination.positions('plain-a', 'plain-b')).toEqual({
      'plain-a': {
        'plain-0': { offset: 40n, metadata: 'ä note', leaderEpoch: -1 },
        'plain-1': { offset: 0n, metadata: '', leaderEpoch: -1 },
      },
      'plain-b': { 'plain-1': { offset: 100n, metadata: '', leaderEpoch: -1 } },
    })
    const listed = Object.keys(await destination.list())
    for (const absent of ['plain-left-out', 'plain-of-other-topics', '__kafka_mirrors']) expect(listed).not.toContain(absent)
    expect(await sync(['plain'], 'plain-.*')).toMatchObject({ changes: 1, problems: [] })
    expect(await sync(['plain'], 'plain-.*')).toEqual({ changes: 0, problems: [], notes: [] })
  })

  it('stay inside the log of the destination, and follow as it catches up', async () => {
    await topic('behind', 50, 10)
    await kafka.destination.admin.deleteRecords('behind', 0, 4n)
    await source.commit({
      'behind-ahead': [{ topic: 'behind', offset: 50n }],
      'behind-before': [{ topic: 'behind', offset: 2n }],
    })
    await sync(['behind'], 'behind-.*')
    const offsets = async () =>
      Object.values(await destination.positions('behind-ahead', 'behind-before')).map((positions) => positions['behind-0']?.offset)
    expect(await offsets()).toEqual([10n, 4n])
    await writeLog(kafka.worker, kafka.destination, { topic: 'behind', records: 40, style: 'plain' })
    expect(await sync(['behind'], 'behind-.*')).toMatchObject({ changes: 1, problems: [] })
    expect(await offsets()).toEqual([50n, 4n])
    await source.commit({ 'behind-ahead': [{ topic: 'behind', offset: 20n }] })
    await sync(['behind'], 'behind-.*')
    expect(await offsets()).toEqual([20n, 4n])
  })

  it('are all brought along in one round where there are thousands', async () => {
    await topic('crowd', 100, 100, 3)
    const groups = Array.from({ length: 2_000 }, (_, i) => `crowd-${i}`)
    const position = (i: number, partition: number) => ({ topic: 'crowd', partition, offset: BigInt((i * 7 + partition) % 101) })
    await source.commit(Object.fromEntries(groups.map((group, i) => [group, [position(i, i % 3), position(i, (i + 1) % 3)]])))
    const there = await source.positions(...groups)
    expect(Object.values(there).map((positions) => Object.keys(positions).length)).toEqual(groups.map(() => 2))
    expect(await sync(['crowd'], 'crowd-.*')).toEqual({ changes: 4_000, problems: [], notes: [] })
    expect(await destination.positions(...groups)).toEqual(there)
    expect(await sync(['crowd'], 'crowd-.*')).toEqual({ changes: 0, problems: [], notes: [] })
  })

  it.each(['classic', 'consumer'] as const)('with members of the %s protocol on the destination are left alone', async (protocol) => {
    const name = `alive-${protocol}`
    await topic(name, 30, 30)
    await source.commit({ [name]: [{ topic: name, offset: 7n }] })
    const member = await destination.join(name, name, { protocol })
    await eventually(async () => (await destination.positions(name))[name]?.[`${name}-0`]?.offset === 30n)
    expect(await sync([name], name)).toEqual({
      changes: 0,
      problems: [],
      notes: [`left alone, since they have members on the destination: ${name}`],
    })
    expect(await refusal(commitOffsets, name, name)).toBe('UNKNOWN_MEMBER_ID')
    expect((await destination.positions(name))[name]).toMatchObject({ [`${name}-0`]: { offset: 30n } })
    await member.leave()
    await eventually(async () => (await destination.list())[name]?.state === 'Empty')
    expect(await sync([name], name)).toMatchObject({ changes: 1, notes: [] })
    expect((await destination.positions(name))[name]).toMatchObject({ [`${name}-0`]: { offset: 7n } })
  })

  it('of the consumer protocol on the source are read with their members, and consumers of both protocols go on from there', async () => {
    await topic('moving', 20, 20)
    const there = await source.join('moving', 'moving', { protocol: 'consumer', max: 1 })
    await eventually(async () => ((await source.positions('moving')).moving?.['moving-0']?.offset ?? 0n) === 20n)
    expect((await source.list()).moving).toEqual({ type: 'Consumer', state: 'Stable' })
    await sync(['moving'], 'moving')
    await there.leave()
    // A leader epoch that the destination has never seen would keep its consumers asking for ever.
    await source.commit({ moving: [{ topic: 'moving', offset: 15n, leaderEpoch: 9 }] })
    await sync(['moving'], 'moving')
    for (const protocol of ['consumer', 'classic'] as const) {
      const here = await destination.join('moving', 'moving', { protocol, commit: false })
      await eventually(() => here.records().length === 5)
      expect(here.records()[0]).toEqual({ partition: 'moving-0', offset: 15n })
      await here.leave()
    }
  })

  it('keep going when one of a name is of another kind, and when one partition is refused', async () => {
    await topic('mixed', 10, 10, 2)
    const share = await destination.join('mixed-share', 'mixed', { protocol: 'share' })
    await eventually(async () => (await destination.list())['mixed-share']?.type === 'Share')
    await source.commit({
      'mixed-share': [{ topic: 'mixed', offset: 3n }],
      'mixed-fine': [{ topic: 'mixed', offset: 3n }],
      'mixed-partly': [
        { topic: 'mixed', partition: 0, offset: 3n, metadata: 'm'.repeat(101) },
        { topic: 'mixed', partition: 1, offset: 4n },
      ],
    })
    const report = await sync(['mixed'], 'mixed-.*')
    expect(await refusal(commitOffsets, 'mixed-share', 'mixed')).toBe('GROUP_ID_NOT_FOUND')
    await share.leave()
    expect(report).toEqual({
      changes: 2,
      problems: [
        {
          item: 'mixed-share',
          message: 'the destination has a share group under that name: delete it there, or leave the group out with mirror.groups.exclude',
        },
        {
          item: 'mixed-partly',
          message:
            "its position in mixed-0 was not taken: OFFSET_METADATA_TOO_LARGE: The metadata field of the offset request was too large: raise the destination's offset.metadata.max.bytes",
        },
      ],
      notes: [],
    })
    expect(await destination.positions('mixed-fine', 'mixed-partly')).toEqual({
      'mixed-fine': { 'mixed-0': { offset: 3n, metadata: '', leaderEpoch: -1 } },
      'mixed-partly': { 'mixed-1': { offset: 4n, metadata: '', leaderEpoch: -1 } },
    })
  })
})

describe('streams groups', () => {
  it('are synced, taken up by streams members on the destination, and left alone while they have some', async () => {
    await topic('streaming', 20, 20)
    const leaveSource = await joinStreamsGroup(clusters.source, 'streaming', 'streaming')
    await leaveSource()
    await source.commit({ streaming: [{ topic: 'streaming', offset: 6n }] })
    expect((await source.list()).streaming?.type).toBe('Streams')
    expect(await sync(['streaming'], 'streaming')).toEqual({ changes: 1, problems: [], notes: [] })
    const leaveDestination = await joinStreamsGroup(clusters.destination, 'streaming', 'streaming')
    expect((await destination.list()).streaming?.type).toBe('Streams')
    const offset = async () => (await destination.positions('streaming')).streaming?.['streaming-0']?.offset
    expect(await offset()).toBe(6n)
    await source.commit({ streaming: [{ topic: 'streaming', offset: 9n }] })
    expect(await sync(['streaming'], 'streaming')).toMatchObject({
      changes: 0,
      problems: [],
      notes: [expect.stringContaining('left alone')],
    })
    expect(await refusal(commitOffsets, 'streaming', 'streaming')).toBe('UNKNOWN_MEMBER_ID')
    expect(await offset()).toBe(6n)
    await leaveDestination()
    expect(await sync(['streaming'], 'streaming')).toMatchObject({ changes: 1, problems: [], notes: [] })
    expect(await offset()).toBe(9n)
  })
})

describe('share groups', () => {
  it('start on the destination where they start on the source, and are left alone once they have members there', async () => {
    await topic('shared', 20, 15, 2)
    await source.alterShareOffsets('shared-a', 'shared', { 0: 12n, 1: 20n })
    await source.alterShareOffsets('shared-taken', 'shared', { 0: 3n })
    await destination.commit({ 'shared-taken': [{ topic: 'shared', offset: 1n }] })
    const round = () => sync(['shared'], 'shared-.*')
    const taken = {
      item: 'shared-taken',
      message: 'the destination has a classic group under that name: delete it there, or leave the group out with mirror.groups.exclude',
    }
    expect(await round()).toEqual({ changes: 2, problems: [taken], notes: [] })
    expect((await destination.list())['shared-a']).toEqual({ type: 'Share', state: 'Empty' })
    expect(await destination.shareOffsets('shared-a')).toEqual({ 'shared-0': 12n, 'shared-1': 15n })
    expect(await round()).toEqual({ changes: 0, problems: [taken], notes: [] })
    const here = await destination.join('shared-a', 'shared', { protocol: 'share' })
    await eventually(() => here.records().length === 3)
    expect(here.records().map(({ offset }) => offset)).toEqual([12n, 13n, 14n])
    await source.alterShareOffsets('shared-a', 'shared', { 0: 1n })
    expect(await round()).toMatchObject({ changes: 0, notes: [expect.stringContaining('left alone')] })
    expect(await refusal(alterShareGroupOffsets, 'shared-a', 'shared')).toBe('NON_EMPTY_GROUP')
    expect(await refusal(alterShareGroupOffsets, 'shared-taken', 'shared')).toBe('GROUP_ID_NOT_FOUND')
    await here.leave()
    await eventually(async () => (await destination.list())['shared-a']?.state === 'Empty')
    expect(await round()).toMatchObject({ changes: 1, notes: [] })
    expect(await destination.shareOffsets('shared-a')).toMatchObject({ 'shared-0': 1n })
  })
})

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Cluster } from '../../../src/client/cluster.js'
import { encodeAssignment } from '../../../src/client/consumer-protocol.js'
import type { MirrorAccess } from '../../../src/engine/mirror-keepers.js'
import { Runner } from '../../../src/engine/runner.js'
import type { StateLog } from '../../../src/engine/state-log.js'
import type { StateRecord } from '../../../src/mirror/fold.js'
import { SHARDS, shardOf } from '../../../src/mirror/shards.js'
import type { PartitionStatus, TopicSpec } from '../../../src/mirror/state.js'
import { formatKey, parseKey } from '../../../src/mirror/state-keys.js'
import { decodeValue, encodeValue } from '../../../src/mirror/state-values.js'
import { Errors } from '../../../src/protocol/errors.js'

const STATE_TOPIC = '__kafka_mirrors'
const ID = (n: number) => `00000000-0000-0000-0000-${String(n).padStart(12, '0')}`
const ALL = Array.from({ length: SHARDS }, (_, shard) => shard)

const topicSpec = (more: Partial<TopicSpec> = {}): TopicSpec => ({
  desired: 'MIRRORING',
  sourceTopicId: ID(1),
  destinationTopicId: ID(2),
  partitions: 2,
  producers: [
    { id: 71n, epoch: 0 },
    { id: 72n, epoch: 0 },
  ],
  held: {},
  addedAt: 100,
  ...more,
})

const mirrorRecord = (mirror: string): StateRecord => ({
  key: formatKey({ kind: 'mirror', mirror }),
  value: encodeValue('mirror', { sourceClusterId: 'A', createdAt: 1 }),
})
const topicRecord = (mirror: string, topic: string, spec: TopicSpec): StateRecord => ({
  key: formatKey({ kind: 'topic', mirror, topic }),
  value: encodeValue('topic', spec),
})

/** A state topic that gives written records back, as the real one does. */
class MemoryLog implements StateLog {
  readonly topic = STATE_TOPIC
  readonly statuses: Array<{ readonly partition: number; readonly status: PartitionStatus }> = []
  /** Written by an operator, and not given out until somebody asks. */
  readonly unread: StateRecord[] = []
  private deliver: (records: readonly StateRecord[]) => void = () => {}

  constructor(private readonly initial: readonly StateRecord[]) {}

  async load(): Promise<readonly StateRecord[]> {
    return this.initial
  }

  follow(onRecords: (records: readonly StateRecord[]) => void, signal: AbortSignal): Promise<void> {
    this.deliver = onRecords
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
  }

  async append(_shard: number, records: readonly StateRecord[]): Promise<void> {
    for (const { key, value } of records) {
      const parsed = parseKey(key)
      if (parsed?.kind === 'status' && value !== null)
        this.statuses.push({ partition: parsed.partition, status: decodeValue('status', value) })
    }
    this.deliver(records)
  }

  async caughtUp(): Promise<void> {
    this.deliver(this.unread.splice(0))
  }

  operator(...records: StateRecord[]): void {
    this.deliver(records)
  }
}

/** Clusters on which every partition is in sync and nothing ever arrives; the runner is alone in the group. */
class World {
  assigned: readonly number[] = ALL
  generation = 0
  memberId = ''
  rebalancing = false
  readonly requests: string[] = []
  readonly sources: string[] = []
  closedSources = 0
  openFetches = 0
  private readonly committed = new Map<number, bigint>()

  private readonly answers: Record<string, (request: never) => unknown> = {
    JoinGroup: ({ memberId }: { memberId: string }) => {
      if (memberId === '') return { errorCode: Errors.MEMBER_ID_REQUIRED, memberId: 'm' }
      this.rebalancing = false
      return { errorCode: 0, memberId, leader: 'somebody else', generationId: ++this.generation, members: [] }
    },
    SyncGroup: () => ({ errorCode: 0, assignment: encodeAssignment([{ topic: STATE_TOPIC, partitions: this.assigned }]) }),
    Heartbeat: () => ({ errorCode: this.rebalancing ? Errors.REBALANCE_IN_PROGRESS : 0 }),
    LeaveGroup: () => ({ errorCode: 0 }),
    OffsetCommit: ({ topics }: { topics: Array<{ partitions: Array<{ partitionIndex: number; committedOffset: bigint }> }> }) => {
      for (const { partitionIndex, committedOffset } of topics[0]!.partitions) this.committed.set(partitionIndex, committedOffset)
      return { topics: [] }
    },
    OffsetFetch: ({ topics }: { topics: Array<{ partitionIndexes: number[] }> }) => ({
      groups: [
        {
          errorCode: 0,
          topics: [
            {
              partitions: topics[0]!.partitionIndexes.map((partitionIndex) => ({
                partitionIndex,
                committedOffset: this.committed.get(partitionIndex) ?? 0n,
                errorCode: 0,
              })),
            },
          ],
        },
      ],
    }),
    ListOffsets: () => ({ topics: [{ partitions: [{ errorCode: 0, offset: 0n }] }] }),
    DescribeProducers: () => ({ topics: [{ partitions: [{ errorCode: 0, activeProducers: [] }] }] }),
    IncrementalAlterConfigs: ({ resources }: { resources: object[] }) => ({
      responses: resources.map((resource) => ({ ...resource, errorCode: 0, errorMessage: null })),
    }),
    DescribeConfigs: ({ resources }: { resources: object[] }) => ({
      results: resources.map((resource) => ({ ...resource, errorCode: 0, configs: [{ name: 'max.message.bytes', value: '1048588' }] })),
    }),
  }

  cluster(topicId: string): Cluster {
    const answer = async (api: { name: string }, request: unknown) => {
      this.requests.push(api.name)
      const known = this.answers[api.name]
      if (known === undefined) throw new Error(`nobody answers ${api.name}`)
      return known(request as never)
    }
    const rejects = new Set<(error: Error) => void>()
    const cluster = {
      clusterId: async () => 'A',
      refresh: async () => {},
      topics: async () => new Map(),
      leaderOf: () => ({ brokerId: 1, leaderEpoch: 0, topicId }),
      forgetCoordinator: () => {},
      coordinator: (_kind: string, _key: string, api: { name: string }, request: unknown) => answer(api, request),
      leader: (_topic: string, _partition: number, api: { name: string }, request: unknown) => answer(api, request),
      any: (api: { name: string }, request: unknown) => answer(api, request),
      dedicated: async () => {
        const mine = new Set<(error: Error) => void>()
        return {
          open: true,
          versionOf: () => 13,
          // Long polls that find nothing.
          send: () =>
            new Promise((_, reject) => {
              this.openFetches++
              mine.add(reject)
              rejects.add(reject)
            }),
          close: async () => {
            for (const reject of mine) reject(new Error('closed'))
            this.openFetches -= mine.size
            mine.clear()
          },
        }
      },
      close: async () => {
        for (const reject of rejects) reject(new Error('closed'))
        if (topicId === ID(1)) this.closedSources++
      },
    }
    return cluster as unknown as Cluster
  }
}

async function setUp(records: readonly StateRecord[], opening: () => void = () => {}) {
  const world = new World()
  const log = new MemoryLog(records)
  const kept = new Map<string, { readonly access: MirrorAccess; looks: number; closed: boolean }>()
  const runner = new Runner({
    destination: world.cluster(ID(2)),
    log,
    groupId: STATE_TOPIC,
    owner: 'runner',
    sessionTimeoutMs: 10_000,
    heartbeatIntervalMs: 3_000,
    openSource: (mirror) => {
      opening()
      world.sources.push(mirror)
      return world.cluster(ID(1))
    },
    keep: (access) => {
      const keeper = { access, looks: 0, closed: false }
      kept.set(access.mirror, keeper)
      return {
        changed: () => {
          keeper.looks++
        },
        close: async () => {
          keeper.closed = true
        },
      }
    },
  })
  await runner.start()
  await settle()
  const states = () => Object.fromEntries(runner.snapshot.partitions.map(({ topic, partition, state }) => [`${topic}-${partition}`, state]))
  return { world, log, runner, states, kept }
}

/** Lets everything run that needs no time to pass. */
const settle = () => vi.advanceTimersByTimeAsync(1)

describe('a runner', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('takes up the partitions of its shards, once each, and lets go of everything at the end', async () => {
    const { world, log, runner, states } = await setUp([mirrorRecord('m'), topicRecord('m', 'orders', topicSpec())])
    expect(states()).toEqual({ 'orders-0': 'MIRRORING', 'orders-1': 'MIRRORING' })
    expect([world.sources, runner.snapshot.alive, runner.snapshot.ownedShards]).toEqual([['m'], true, SHARDS])
    expect(log.statuses.every(({ status }) => status.ownerEpoch === 1)).toBe(true)
    await runner.drain()
    expect([states(), world.closedSources, world.openFetches]).toEqual([{}, 1, 0])
    await settle()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('keeps the mirrors whose own shard it holds, also those without topics, and tells them what operators change', async () => {
    const { world, log, runner, kept } = await setUp([mirrorRecord('m')])
    const keeper = kept.get('m')!
    expect([world.sources, keeper.access.ownsShard(), keeper.closed]).toEqual([['m'], true, false])
    const before = keeper.looks
    log.operator(topicRecord('m', 'orders', topicSpec()))
    await settle()
    expect(keeper.looks).toBe(before + 1)
    const outcome = { at: 5, ok: true, lastSuccess: 5, changes: 0, problems: [], more: 0, notes: [] }
    await keeper.access.writeStatus('groups', outcome)
    await settle()
    // What it writes itself is no news.
    expect(keeper.looks).toBe(before + 1)
    expect(keeper.access.state().mirror('m')!.syncs.get('groups')).toMatchObject({ ...outcome, ownerEpoch: 1, owner: 'runner' })
    await runner.drain()
    expect([keeper.closed, keeper.access.ownsShard()]).toEqual([true, false])
  })

  it('lets go of a mirror that is deleted', async () => {
    const { log, runner, kept } = await setUp([mirrorRecord('m')])
    log.operator({ key: formatKey({ kind: 'mirror', mirror: 'm' }), value: null })
    await settle()
    expect(kept.get('m')!.closed).toBe(true)
    await runner.drain()
  })

  it('starts nothing again while it leaves, whatever is written meanwhile', async () => {
    const { world, log, runner } = await setUp([mirrorRecord('m'), topicRecord('m', 'orders', topicSpec())])
    const draining = runner.drain()
    log.operator(topicRecord('m', 'orders', topicSpec()), topicRecord('m', 'more', topicSpec()))
    await vi.advanceTimersByTimeAsync(100)
    await draining
    const written = log.statuses.length
    await vi.advanceTimersByTimeAsync(100_000)
    expect([runner.snapshot.partitions, world.sources, log.statuses.length]).toEqual([[], ['m'], written])
  })

  it('knows what was written before it takes a shard up', async () => {
    const { world, states, log, runner } = await setUp([mirrorRecord('m'), topicRecord('m', 'orders', topicSpec())])
    world.assigned = []
    world.rebalancing = true
    await vi.advanceTimersByTimeAsync(3_001)
    log.unread.push(topicRecord('m', 'orders', topicSpec({ desired: 'STOPPED' })))
    const before = log.statuses.length
    world.assigned = ALL
    world.rebalancing = true
    await vi.advanceTimersByTimeAsync(3_001)
    expect([runner.snapshot.ownedShards, states(), log.statuses.length]).toEqual([SHARDS, {}, before])
    await runner.drain()
  })

  it('gives up the partitions of a shard that goes to another runner and keeps the others', async () => {
    const { world, states, log, runner } = await setUp([mirrorRecord('m'), topicRecord('m', 'orders', topicSpec())])
    const gone = shardOf('m', 'orders', 0)
    world.assigned = ALL.filter((shard) => shard !== gone)
    world.rebalancing = true
    await vi.advanceTimersByTimeAsync(3_001)
    log.operator(topicRecord('m', 'orders', topicSpec()))
    await vi.advanceTimersByTimeAsync(100)
    expect(states()).toEqual({ 'orders-1': 'MIRRORING' })
    world.assigned = ALL
    world.rebalancing = true
    await vi.advanceTimersByTimeAsync(3_001)
    expect(states()).toEqual({ 'orders-0': 'MIRRORING', 'orders-1': 'MIRRORING' })
    expect(log.statuses.filter(({ partition }) => partition === 0).at(-1)?.status.ownerEpoch).toBe(2)
    await runner.drain()
  })

  it('confirms a removal with the log end, and forgets the topic once it is removed', async () => {
    const { log, runner, states, world } = await setUp([mirrorRecord('m'), topicRecord('m', 'orders', topicSpec())])
    log.operator(topicRecord('m', 'orders', topicSpec({ desired: 'STOPPING' })))
    await settle()
    expect(states()).toEqual({ 'orders-0': 'STOPPED', 'orders-1': 'STOPPED' })
    const last = [0, 1].map((partition) => log.statuses.filter((one) => one.partition === partition).at(-1)?.status)
    expect(last.map((status) => [status?.state, status?.stoppedAt])).toEqual([
      ['STOPPED', 0n],
      ['STOPPED', 0n],
    ])
    log.operator(topicRecord('m', 'orders', topicSpec({ desired: 'STOPPED' })))
    await settle()
    expect([states(), world.closedSources]).toEqual([{}, 0])
    await runner.drain()
  })

  it('answers each request to stop, also one that follows before it was seen that the last was taken back', async () => {
    const { log, runner } = await setUp([mirrorRecord('m'), topicRecord('m', 'orders', topicSpec({ partitions: 1 }))])
    const answer = () => log.statuses.at(-1)!.status
    log.operator(topicRecord('m', 'orders', topicSpec({ partitions: 1, desired: 'STOPPING', stopping: { at: 7 } })))
    await settle()
    expect(answer()).toMatchObject({ state: 'STOPPED', stoppedAt: 0n, answers: 7 })
    const written = log.statuses.length
    log.operator(
      topicRecord('m', 'orders', topicSpec({ partitions: 1 })),
      topicRecord('m', 'orders', topicSpec({ partitions: 1, desired: 'STOPPING', stopping: { at: 8 } })),
    )
    await settle()
    expect([log.statuses.length, answer()]).toMatchObject([written + 1, { state: 'STOPPED', stoppedAt: 0n, answers: 8 }])
    log.operator(topicRecord('m', 'orders', topicSpec({ partitions: 1 })))
    await settle()
    expect(answer()).toMatchObject({ state: 'MIRRORING', stoppedAt: undefined, answers: undefined })
    await runner.drain()
  })

  it('holds the settings of a topic that was rebuilt, unless it has left by what is written now', async () => {
    const rebuilt = topicSpec({ partitions: 1, destinationTopicId: ID(9), held: { 'retention.ms': null } })
    const kept = await setUp([mirrorRecord('m'), topicRecord('m', 'orders', rebuilt)])
    const changes = () => kept.world.requests.filter((name) => name === 'IncrementalAlterConfigs').length
    expect([kept.states(), changes()]).toEqual([{ 'orders-0': 'MIRRORING' }, 1])
    kept.log.unread.push(topicRecord('m', 'other', { ...rebuilt, desired: 'STOPPED' }))
    kept.log.operator(topicRecord('m', 'other', rebuilt))
    await settle()
    expect([kept.states(), changes()]).toEqual([{ 'orders-0': 'MIRRORING' }, 1])
    await kept.runner.drain()
  })

  it('takes a topic up once its addition is done', async () => {
    const { log, runner, states } = await setUp([mirrorRecord('m'), topicRecord('m', 'orders', topicSpec({ desired: 'ADDING' }))])
    expect([states(), log.statuses]).toEqual([{}, []])
    log.operator(topicRecord('m', 'orders', topicSpec()))
    await settle()
    expect(states()).toEqual({ 'orders-0': 'MIRRORING', 'orders-1': 'MIRRORING' })
    await runner.drain()
  })

  it('starts over when a topic was removed and added again, after the old copy is done', async () => {
    const { log, runner, states } = await setUp([mirrorRecord('m'), topicRecord('m', 'orders', topicSpec())])
    log.operator(topicRecord('m', 'orders', topicSpec({ addedAt: 200 })))
    await settle()
    expect(states()).toEqual({ 'orders-0': 'MIRRORING', 'orders-1': 'MIRRORING' })
    expect(log.statuses.at(-1)?.status.addedAt).toBe(200)
    await runner.drain()
  })

  it('is not woken by its own statuses: a failed partition waits its back-off', async () => {
    const { log, runner, states } = await setUp([
      mirrorRecord('m'),
      topicRecord('m', 'orders', topicSpec({ partitions: 1, sourceTopicId: ID(9) })),
    ])
    expect(states()).toEqual({ 'orders-0': 'FAILED' })
    await vi.advanceTimersByTimeAsync(60_000)
    // 1 s, 2 s, 4 s, … with jitter.
    expect(log.statuses.length).toBeLessThan(20)
    await runner.drain()
  })

  it('writes its own status again when one of an earlier owner was written over it', async () => {
    const { log, runner } = await setUp([mirrorRecord('m'), topicRecord('m', 'orders', topicSpec())])
    const ours = log.statuses.filter(({ partition }) => partition === 0).at(-1)!.status
    const key = formatKey({ kind: 'status', mirror: 'm', topic: 'orders', partition: 0 })
    const zombie = { ...ours, ownerEpoch: ours.ownerEpoch - 1, owner: 'zombie', state: 'STOPPED' as const }
    const before = log.statuses.length
    log.operator({ key, value: encodeValue('status', zombie) })
    await settle()
    expect(log.statuses.slice(before)).toEqual([{ partition: 0, status: ours }])
    // Its own again changes nothing, and a tombstone of a mirror on its way out is nobody's business.
    log.operator({ key, value: encodeValue('status', ours) })
    await settle()
    expect(log.statuses).toHaveLength(before + 1)
    await runner.drain()
  })

  it('says in the statuses why a source cannot be opened, once, and opens it when it can', async () => {
    const refused = { reason: 'truststore.p12 cannot be read' as string | undefined }
    const records = [mirrorRecord('m'), topicRecord('m', 'orders', topicSpec())]
    const { log, runner, states, world } = await setUp(records, () => {
      if (refused.reason !== undefined) throw new Error(refused.reason)
    })
    expect(states()).toEqual({})
    expect(log.statuses.map(({ partition, status }) => [partition, status.state, status.error?.message])).toEqual([
      [0, 'LOG_ALIGNMENT', 'the source cannot be opened: truststore.p12 cannot be read'],
      [1, 'LOG_ALIGNMENT', 'the source cannot be opened: truststore.p12 cannot be read'],
    ])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(log.statuses).toHaveLength(2)
    refused.reason = undefined
    await vi.advanceTimersByTimeAsync(10_000)
    expect([states(), world.sources]).toEqual([{ 'orders-0': 'MIRRORING', 'orders-1': 'MIRRORING' }, ['m']])
    expect(log.statuses.at(-1)?.status.error).toBeUndefined()
    await runner.drain()
    await settle()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('goes on with the old properties of a source when the new ones cannot be used, and says so', async () => {
    const refused = { reason: undefined as string | undefined }
    const { log, runner, states } = await setUp([mirrorRecord('m'), topicRecord('m', 'orders', topicSpec())], () => {
      if (refused.reason !== undefined) throw new Error(refused.reason)
    })
    refused.reason = 'no such file'
    const key = formatKey({ kind: 'config', mirror: 'm', key: 'ssl.truststore.location' })
    log.operator({ key, value: encodeValue('config', { value: '/nowhere' }) })
    await settle()
    expect(states()).toEqual({ 'orders-0': 'MIRRORING', 'orders-1': 'MIRRORING' })
    expect(log.statuses.at(-1)?.status.error?.message).toBe('new properties of the source: no such file')
    log.operator({ key, value: null })
    await vi.advanceTimersByTimeAsync(500)
    expect([states(), log.statuses.at(-1)?.status.error]).toEqual([{ 'orders-0': 'MIRRORING', 'orders-1': 'MIRRORING' }, undefined])
    await runner.drain()
  })

  it('moves partitions to a new link when the source’s properties change', async () => {
    const { world, log, runner, states } = await setUp([mirrorRecord('m'), topicRecord('m', 'orders', topicSpec())])
    const key = formatKey({ kind: 'config', mirror: 'm', key: 'sasl.mechanism' })
    log.operator({ key, value: encodeValue('config', { value: 'PLAIN' }) })
    await vi.advanceTimersByTimeAsync(500)
    expect([world.sources, world.closedSources, states()]).toEqual([['m', 'm'], 1, { 'orders-0': 'MIRRORING', 'orders-1': 'MIRRORING' }])
    await runner.drain()
  })
})

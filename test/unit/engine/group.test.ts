import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Cluster } from '../../../src/client/cluster.js'
import { decodeAssignment, decodeOwned, encodeAssignment, encodeSubscription } from '../../../src/client/consumer-protocol.js'
import { GroupMembership, type GroupOptions } from '../../../src/client/group.js'
import { assignShards } from '../../../src/mirror/assignor.js'
import { Errors } from '../../../src/protocol/errors.js'

const TOPIC = '__kafka_mirrors'
const SHARDS = 6
const SESSION_MS = 10_000

type Request = Record<string, never> & {
  memberId: string
  generationId: number
  generationIdOrMemberEpoch: number
  protocols: Array<{ metadata: Buffer }>
  assignments: Array<{ memberId: string; assignment: Buffer }>
}
type Respond = (request: Request) => Record<string, unknown> | Error | Promise<Record<string, unknown>>

/** A coordinator of one group whose other members exist in the test's words only. */
class FakeCoordinator {
  readonly log: string[] = []
  generation = 0
  memberId = ''
  /** Others and what they hold; we are always the leader. */
  others = new Map<string, number[]>()
  committed = new Map<number, bigint>()
  rebalancing = false
  assigned: number[] = []
  subscribed: number[] = []
  /** Answers instead of the usual ones, used up in order. */
  readonly script = new Map<string, Respond[]>()
  forgotten = 0

  next(api: string, ...answers: Respond[]): void {
    this.script.set(api, [...(this.script.get(api) ?? []), ...answers])
  }

  readonly cluster = {
    forgetCoordinator: () => {
      this.forgotten++
    },
    coordinator: async (_kind: string, _key: string, api: { name: string }, request: Request) => {
      this.log.push(api.name)
      const scripted = this.script.get(api.name)?.shift()
      const answer = await (scripted ?? this.usual[api.name]!)(request)
      if (answer instanceof Error) throw answer
      return answer
    },
  } as unknown as Cluster

  private readonly usual: Record<string, Respond> = {
    JoinGroup: ({ memberId, protocols }) => {
      if (memberId === '') {
        this.memberId = `runner-${++this.ids}`
        return { errorCode: Errors.MEMBER_ID_REQUIRED, memberId: this.memberId }
      }
      if (memberId !== this.memberId) return { errorCode: Errors.UNKNOWN_MEMBER_ID, memberId: '' }
      this.rebalancing = false
      this.generation++
      const { metadata } = protocols[0]!
      this.subscribed = decodeOwned(metadata).flatMap((one) => [...one.partitions])
      const members = [...this.others].map(([id, partitions]) => ({
        memberId: id,
        metadata: encodeSubscription([TOPIC], [{ topic: TOPIC, partitions }]),
      }))
      return { errorCode: 0, memberId, leader: memberId, generationId: this.generation, members: [{ memberId, metadata }, ...members] }
    },
    SyncGroup: ({ memberId, generationId, assignments }) => {
      if (generationId !== this.generation) return { errorCode: Errors.ILLEGAL_GENERATION, assignment: Buffer.alloc(0) }
      const given = new Map(assignments.map((one) => [one.memberId, one.assignment]))
      for (const id of this.others.keys()) this.others.set(id, partitionsOf(given.get(id)))
      this.assigned = partitionsOf(given.get(memberId))
      return { errorCode: 0, assignment: given.get(memberId) ?? encodeAssignment([]) }
    },
    Heartbeat: ({ memberId, generationId }) => {
      if (memberId !== this.memberId) return { errorCode: Errors.UNKNOWN_MEMBER_ID }
      if (generationId !== this.generation) return { errorCode: Errors.ILLEGAL_GENERATION }
      return { errorCode: this.rebalancing ? Errors.REBALANCE_IN_PROGRESS : 0 }
    },
    LeaveGroup: () => ({ errorCode: 0, members: [] }),
    OffsetCommit: (request) => {
      const code =
        request.memberId !== this.memberId
          ? Errors.UNKNOWN_MEMBER_ID
          : request.generationIdOrMemberEpoch !== this.generation
            ? Errors.ILLEGAL_GENERATION
            : 0
      const { topics } = request as unknown as { topics: Array<{ partitions: Array<{ partitionIndex: number; committedOffset: bigint }> }> }
      for (const { partitionIndex, committedOffset } of topics[0]!.partitions)
        if (code === 0) this.committed.set(partitionIndex, committedOffset)
      return { topics: [{ partitions: topics[0]!.partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode: code })) }] }
    },
    OffsetFetch: (request) => {
      const { topics } = request as unknown as { topics: Array<{ partitionIndexes: number[] }> }
      const partitions = topics[0]!.partitionIndexes.map((partitionIndex) => ({
        partitionIndex,
        committedOffset: this.committed.get(partitionIndex) ?? -1n,
        errorCode: 0,
      }))
      return { groups: [{ errorCode: 0, topics: [{ partitions }] }] }
    },
  }

  private ids = 0

  expel(): void {
    this.memberId = 'nobody'
  }
}

const partitionsOf = (assignment: Buffer | undefined) =>
  assignment === undefined ? [] : decodeAssignment(assignment).flatMap(({ partitions }) => [...partitions])

function setUp(overrides: Partial<GroupOptions> = {}) {
  const coordinator = new FakeCoordinator()
  const events: string[] = []
  const list = (partitions: readonly number[]) => [...partitions].sort((a, b) => a - b).join(',')
  const group = new GroupMembership(
    coordinator.cluster,
    {
      groupId: TOPIC,
      topic: TOPIC,
      protocolName: 'kafka-mirrors',
      sessionTimeoutMs: SESSION_MS,
      heartbeatIntervalMs: 3_000,
      rebalanceTimeoutMs: 60_000,
      assign: (members) => assignShards(members, SHARDS),
      acquired: async (partitions) => void events.push(`acquired ${list(partitions)}`),
      released: async (partitions) => void events.push(`released ${list(partitions)}`),
      lost: (partitions) => void events.push(`lost ${list(partitions)}`),
      failed: (error) => void events.push(`failed ${(error as Error).message.split(':')[0]}`),
      ...overrides,
    },
    () => Date.now(),
  )
  return { coordinator, group, events }
}

const REBALANCE_CHECK_MS = 3_000
const advance = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds)

describe('membership in the group', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('asks for a member id, joins with it, computes the assignment as leader, and holds everything alone', async () => {
    const { coordinator, group, events } = setUp()
    expect(group.alive).toBe(false)
    group.start()
    await advance(0)
    expect(coordinator.log).toEqual(['JoinGroup', 'JoinGroup', 'SyncGroup'])
    expect([events, group.alive, group.id]).toEqual([['acquired 0,1,2,3,4,5'], true, 'runner-1'])
    await group.leave()
    expect(events.at(-1)).toBe('released 0,1,2,3,4,5')
    expect(coordinator.log.at(-1)).toBe('LeaveGroup')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('gives half up to a newcomer and works on with the rest; the newcomer gets its half in a second round', async () => {
    const { coordinator, group, events } = setUp()
    group.start()
    await advance(0)
    coordinator.others.set('other', [])
    coordinator.rebalancing = true
    await advance(REBALANCE_CHECK_MS)
    expect(events).toEqual(['acquired 0,1,2,3,4,5', 'released 3,4,5'])
    expect(coordinator.subscribed).toEqual([0, 1, 2])
    expect([coordinator.assigned, coordinator.others.get('other')]).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ])
    coordinator.others.clear()
    coordinator.rebalancing = true
    await advance(REBALANCE_CHECK_MS)
    expect(events.at(-1)).toBe('acquired 3,4,5')
    await group.leave()
  })

  it('loses everything when it is expelled, and comes back as a new member', async () => {
    const { coordinator, group, events } = setUp()
    group.start()
    await advance(0)
    coordinator.expel()
    await advance(REBALANCE_CHECK_MS)
    expect(events.slice(1)).toEqual(['lost 0,1,2,3,4,5', 'failed UNKNOWN_MEMBER_ID'])
    expect(group.alive).toBe(false)
    await advance(1_000)
    expect([events.at(-1), group.id, group.alive]).toEqual(['acquired 0,1,2,3,4,5', 'runner-2', true])
    await group.leave()
  })

  it('comes back as the same member when only its generation is over, so that nobody waits for a ghost', async () => {
    const { coordinator, group, events } = setUp()
    group.start()
    await advance(0)
    coordinator.generation++
    await advance(REBALANCE_CHECK_MS)
    expect(events.slice(1)).toEqual(['lost 0,1,2,3,4,5', 'failed ILLEGAL_GENERATION'])
    await advance(1_000)
    expect([group.id, coordinator.subscribed, group.alive]).toEqual(['runner-1', [], true])
    await group.leave()
  })

  it('is alive by its own clock, from when the last good heartbeat was sent, and loses all when that runs out', async () => {
    const { coordinator, group, events } = setUp()
    group.start()
    await advance(0)
    const slow: Respond = () => new Promise((resolve) => setTimeout(() => resolve({ errorCode: 0 }), 2_000))
    coordinator.next('Heartbeat', slow, ...Array.from({ length: 20 }, () => () => new Error('unreachable')))
    coordinator.next('JoinGroup', ...Array.from({ length: 20 }, () => () => new Error('unreachable')))
    await advance(3_000 + 9_999)
    expect([group.alive, events.includes('lost 0,1,2,3,4,5')]).toEqual([true, false])
    await advance(1)
    expect(group.alive).toBe(false)
    await advance(3_000)
    expect(events).toContain('lost 0,1,2,3,4,5')
    await group.leave()
  })

  it('rides over a coordinator that moves, keeping its partitions', async () => {
    const { coordinator, group, events } = setUp()
    group.start()
    await advance(0)
    coordinator.next('Heartbeat', () => ({ errorCode: Errors.NOT_COORDINATOR }))
    await advance(REBALANCE_CHECK_MS)
    expect([events.slice(1), coordinator.forgotten]).toEqual([['failed NOT_COORDINATOR'], 1])
    await advance(1_000)
    expect([events.length, coordinator.subscribed, group.alive]).toEqual([2, [0, 1, 2, 3, 4, 5], true])
    await group.leave()
  })

  it('joins again at once when the group rebalances between joining and the assignment', async () => {
    const { coordinator, group, events } = setUp()
    coordinator.next('SyncGroup', () => ({ errorCode: Errors.REBALANCE_IN_PROGRESS, assignment: Buffer.alloc(0) }))
    group.start()
    await advance(0)
    expect(events).toEqual(['acquired 0,1,2,3,4,5'])
    await group.leave()
  })

  it('keeps its session while partitions are taken up slowly', async () => {
    let finish = () => {}
    const { coordinator, group } = setUp({
      acquired: () =>
        new Promise((resolve) => {
          finish = resolve
        }),
    })
    group.start()
    await advance(40_000)
    expect(coordinator.log.filter((name) => name === 'Heartbeat').length).toBeGreaterThanOrEqual(12)
    expect(group.alive).toBe(true)
    finish()
    await advance(0)
    await group.leave()
  })

  it('takes back what it took up for a generation that was over meanwhile', async () => {
    let finish = () => {}
    const lost: number[][] = []
    const { coordinator, group } = setUp({
      acquired: () =>
        new Promise((resolve) => {
          finish = resolve
        }),
      lost: (partitions) => void lost.push([...partitions]),
    })
    group.start()
    await advance(0)
    coordinator.expel()
    await advance(REBALANCE_CHECK_MS)
    expect(group.alive).toBe(false)
    finish()
    await advance(0)
    expect(lost).toEqual([[0, 1, 2, 3, 4, 5]])
    const leaving = group.leave()
    finish()
    await leaving
  })

  it('tries again to take up what it could not', async () => {
    let attempts = 0
    const { group } = setUp({
      acquired: async () => {
        if (++attempts < 3) throw new Error('no answer')
      },
    })
    group.start()
    await advance(5_000)
    expect([attempts, group.alive]).toEqual([3, true])
    await group.leave()
  })

  it('commits as a member of the current generation only', async () => {
    const { coordinator, group } = setUp()
    await expect(group.commit(new Map([[3, 8n]]))).rejects.toMatchObject({ kafkaName: 'UNKNOWN_MEMBER_ID' })
    expect(coordinator.log).toEqual([])
    group.start()
    await advance(0)
    await group.commit(new Map([[3, 8n]]))
    expect(await group.committed([3, 4])).toEqual(new Map([[3, 8n]]))
    coordinator.generation++
    await expect(group.commit(new Map([[3, 9n]]))).rejects.toMatchObject({ kafkaName: 'ILLEGAL_GENERATION' })
    expect([await group.committed([3]), group.alive]).toEqual([new Map([[3, 8n]]), false])
    await group.leave()
  })

  it('leaves at once from any wait, and without a word where it is nobody', async () => {
    const { coordinator, group, events } = setUp()
    coordinator.next('JoinGroup', ...Array.from({ length: 50 }, () => () => new Error('unreachable')))
    group.start()
    await advance(20_000)
    const before = Date.now()
    await group.leave()
    expect(Date.now()).toBe(before)
    expect(events.at(-1)).toBe('released ')
    expect(coordinator.log).not.toContain('LeaveGroup')
    expect(vi.getTimerCount()).toBe(0)
  })
})

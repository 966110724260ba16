import { Heartbeat } from '../protocol/api/heartbeat.js'
import { JoinGroup } from '../protocol/api/join-group.js'
import { LeaveGroup } from '../protocol/api/leave-group.js'
import { OffsetCommit } from '../protocol/api/offset-commit.js'
import { OffsetFetch } from '../protocol/api/offset-fetch.js'
import { SyncGroup } from '../protocol/api/sync-group.js'
import { Errors, kafkaError } from '../protocol/errors.js'
import type { Cluster } from './cluster.js'
import { decodeAssignment, decodeOwned, encodeAssignment, encodeSubscription } from './consumer-protocol.js'

const PROTOCOL_TYPE = 'consumer'
/** Joining and committing may take as long on a busy coordinator even where sessions are short: to give up early means to begin anew. */
const LEAST_PATIENCE_MS = 5_000
/** The group no longer knows us, or has moved on without us. */
const EXPELLED: ReadonlySet<number> = new Set([Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION, Errors.FENCED_INSTANCE_ID])

const NOT_THE_COORDINATOR: ReadonlySet<number> = new Set([
  Errors.COORDINATOR_LOAD_IN_PROGRESS,
  Errors.COORDINATOR_NOT_AVAILABLE,
  Errors.NOT_COORDINATOR,
])

/** Who holds which partitions, as the member that computes the assignment sees it. */
export interface GroupMemberClaim {
  readonly memberId: string
  readonly owned: readonly number[]
}

export interface GroupOptions {
  readonly groupId: string
  /** The one topic whose partitions are shared out. */
  readonly topic: string
  /** Name of the assignor: members that don't share it can't be in one group. */
  readonly protocolName: string
  readonly sessionTimeoutMs: number
  readonly heartbeatIntervalMs: number
  readonly rebalanceTimeoutMs: number
  assign(members: readonly GroupMemberClaim[]): ReadonlyMap<string, readonly number[]>
  /** New partitions under the current generation. A throw is treated as a lost session. */
  acquired(partitions: readonly number[]): Promise<void>
  /** Must have let go of them when it resolves; the group rebalances again afterwards. */
  released(partitions: readonly number[]): Promise<void>
  /** Everything is gone at once: the group expelled us or is out of reach for longer than the session. */
  lost(partitions: readonly number[]): void
  /** Told of every failed attempt, which is then repeated. */
  failed(error: unknown): void
}

/**
 * Membership in a classic consumer group with cooperative rebalancing: partitions that stay are worked on all the while,
 * those that move are given up first and handed out in a second round (KIP-429).
 */
export class GroupMembership {
  private memberId = ''
  private generation = -1
  private owned: readonly number[] = []
  private confirmedAt = Number.NEGATIVE_INFINITY
  private stopping = false
  private running: Promise<void> | undefined
  private wake: (() => void) | undefined

  constructor(
    private readonly cluster: Cluster,
    private readonly options: GroupOptions,
    private readonly now: () => number = () => performance.now(),
  ) {}

  get id(): string {
    return this.memberId
  }

  /** False as soon as our own clock says that the coordinator may have given our partitions away. */
  get alive(): boolean {
    return this.generation >= 0 && this.now() - this.confirmedAt < this.options.sessionTimeoutMs
  }

  start(): void {
    this.running ??= this.run()
  }

  /** Releases everything and leaves the group, so that others need not wait for the session to run out. */
  async leave(): Promise<void> {
    this.stopping = true
    this.wake?.()
    await this.running
    await this.whileBeating(this.options.released(this.owned))
    this.owned = []
    if (this.memberId === '') return
    await this.request(LeaveGroup, {
      groupId: this.options.groupId,
      memberId: this.memberId,
      members: [{ memberId: this.memberId }],
    }).catch(() => {})
  }

  /** Commits offsets as a member; Kafka refuses them from a member or generation that is not the current one. Throws KafkaError. */
  async commit(offsets: ReadonlyMap<number, bigint>): Promise<void> {
    // Kafka takes it as a commit from outside, and allows that while the group is empty.
    if (this.generation < 0) throw kafkaError(Errors.UNKNOWN_MEMBER_ID)
    const response = await this.request(OffsetCommit, {
      groupId: this.options.groupId,
      generationIdOrMemberEpoch: this.generation,
      memberId: this.memberId,
      topics: [
        {
          name: this.options.topic,
          partitions: [...offsets].map(([partitionIndex, committedOffset]) => ({ partitionIndex, committedOffset, committedMetadata: '' })),
        },
      ],
    })
    for (const partition of response.topics.flatMap((topic) => topic.partitions)) {
      this.check(partition.errorCode)
    }
  }

  /** The committed offsets of the given partitions; those without one are absent. Throws KafkaError. */
  async committed(partitions: readonly number[]): Promise<Map<number, bigint>> {
    const topics = [{ name: this.options.topic, partitionIndexes: [...partitions] }]
    const { groupId } = this.options
    const response = await this.request(OffsetFetch, { groupId, topics, groups: [{ groupId, topics }] })
    const group = response.groups[0] ?? response
    this.check(group.errorCode)
    const result = new Map<number, bigint>()
    for (const partition of group.topics?.flatMap((topic) => topic.partitions) ?? []) {
      this.check(partition.errorCode)
      if (partition.committedOffset >= 0n) result.set(partition.partitionIndex, partition.committedOffset)
    }
    return result
  }

  private async run(): Promise<void> {
    let attempts = 0
    while (!this.stopping) {
      try {
        await this.join()
        attempts = 0
        await this.stay()
      } catch (error) {
        this.options.failed(error)
        if (!this.alive && this.generation >= 0) this.forget(true)
        await this.pause(Math.min(5_000, 200 * 2 ** attempts++) * (0.5 + Math.random() / 2), () => this.stopping)
      }
    }
  }

  /** Joins, receives the assignment, and takes up or gives up what changed. */
  private async join(): Promise<void> {
    const joined = await this.joinGroup()
    const assignments = joined.leader === this.memberId ? this.computeAssignments(joined.members) : []
    const sentAt = this.now()
    const synced = await this.request(SyncGroup, {
      groupId: this.options.groupId,
      generationId: joined.generationId,
      memberId: this.memberId,
      protocolType: PROTOCOL_TYPE,
      protocolName: this.options.protocolName,
      assignments,
    })
    if (synced.errorCode === Errors.REBALANCE_IN_PROGRESS && !this.stopping) return this.join()
    this.check(synced.errorCode)
    this.confirmedAt = sentAt
    const assigned = decodeAssignment(synced.assignment).flatMap((entry) => entry.partitions)
    await this.settle(assigned)
  }

  private async joinGroup() {
    const { groupId, topic, sessionTimeoutMs, rebalanceTimeoutMs, protocolName } = this.options
    for (;;) {
      const owned = this.owned.length === 0 ? [] : [{ topic, partitions: this.owned }]
      const sentAt = this.now()
      const response = await this.request(
        JoinGroup,
        {
          groupId,
          sessionTimeoutMs,
          rebalanceTimeoutMs,
          memberId: this.memberId,
          protocolType: PROTOCOL_TYPE,
          protocols: [{ name: protocolName, metadata: encodeSubscription([topic], owned) }],
        },
        rebalanceTimeoutMs + 5_000,
      )
      if (response.errorCode === Errors.MEMBER_ID_REQUIRED) {
        this.memberId = response.memberId
        continue
      }
      this.check(response.errorCode)
      this.memberId = response.memberId
      // Others may have waited for this join: partitions that were ours are safe only if our session lasted until now.
      if (!this.alive && this.owned.length > 0 && this.now() - sentAt > sessionTimeoutMs) this.drop()
      this.generation = response.generationId
      return response
    }
  }

  private computeAssignments(members: ReadonlyArray<{ readonly memberId: string; readonly metadata: Buffer }>) {
    const { topic } = this.options
    const claims = members.map(({ memberId, metadata }) => ({
      memberId,
      owned: decodeOwned(metadata).flatMap((entry) => (entry.topic === topic ? entry.partitions : [])),
    }))
    return [...this.options.assign(claims)].map(([memberId, partitions]) => ({
      memberId,
      assignment: encodeAssignment([{ topic, partitions }]),
    }))
  }

  private async settle(assigned: readonly number[]): Promise<void> {
    const released = this.owned.filter((partition) => !assigned.includes(partition))
    const acquired = assigned.filter((partition) => !this.owned.includes(partition))
    this.owned = assigned.filter((partition) => this.owned.includes(partition))
    if (released.length > 0) await this.whileBeating(this.options.released(released))
    if (acquired.length > 0 && !this.stopping) {
      const { generation } = this
      await this.whileBeating(this.options.acquired(acquired))
      if (this.generation !== generation) {
        this.options.lost(acquired)
        throw new Error('the group moved on while partitions were taken up')
      }
      this.owned = [...this.owned, ...acquired]
    }
    // What was let go is handed out in a second round.
    if (released.length > 0 && !this.stopping) await this.join()
  }

  /** Keeps the session alive during work that may take longer than it. */
  private async whileBeating(work: Promise<void>): Promise<void> {
    let over = false
    const ends = () => {
      over = true
      this.wake?.()
    }
    work.then(ends, ends)
    while (!over) {
      await this.pause(this.options.heartbeatIntervalMs, () => over)
      // Whatever it says is said again by the next one, when there is time to act on it.
      if (!over) await this.heartbeat().catch(this.options.failed)
    }
    await work
  }

  /** Heartbeats until the group rebalances; returns to join again. */
  private async stay(): Promise<void> {
    while (!this.stopping) {
      await this.pause(this.options.heartbeatIntervalMs, () => this.stopping)
      if (this.stopping) return
      const rebalancing = await this.heartbeat()
      if (rebalancing) return
    }
  }

  /** True if the group rebalances. Throws KafkaError when expelled; what is merely lost on the way, only once the session has run out. */
  private async heartbeat(): Promise<boolean> {
    const { generation } = this
    // The coordinator's session starts anew when it handles the heartbeat, which is never before we sent it.
    const sentAt = this.now()
    const request = { groupId: this.options.groupId, generationId: generation, memberId: this.memberId }
    const response = await this.request(Heartbeat, request, this.options.sessionTimeoutMs / 2).catch((error) => {
      if (!this.alive) throw error
      return undefined
    })
    // Answered for another generation: a commit has found out in the meantime that we were expelled.
    if (response === undefined || generation !== this.generation) return generation !== this.generation
    if (response.errorCode !== Errors.REBALANCE_IN_PROGRESS) this.check(response.errorCode)
    this.confirmedAt = sentAt
    return response.errorCode === Errors.REBALANCE_IN_PROGRESS
  }

  private check(errorCode: number): void {
    if (errorCode === 0) return
    if (NOT_THE_COORDINATOR.has(errorCode)) this.cluster.forgetCoordinator('group', this.options.groupId)
    if (EXPELLED.has(errorCode)) this.forget(errorCode === Errors.ILLEGAL_GENERATION)
    throw kafkaError(errorCode)
  }

  /** With an old generation we are still a member; a new id would make the group wait for the old one's session to run out. */
  private forget(keepMember = false): void {
    if (!keepMember) this.memberId = ''
    this.generation = -1
    this.drop()
  }

  private drop(): void {
    const owned = this.owned
    this.owned = []
    if (owned.length > 0) this.options.lost(owned)
  }

  private request<A extends Parameters<Cluster['coordinator']>[2]>(
    api: A,
    request: Parameters<typeof this.cluster.coordinator<A>>[3],
    timeoutMs = Math.max(this.options.sessionTimeoutMs / 2, LEAST_PATIENCE_MS),
  ) {
    return this.cluster.coordinator('group', this.options.groupId, api, request, { deadlineMs: timeoutMs, timeoutMs })
  }

  private async pause(milliseconds: number, over: () => boolean): Promise<void> {
    if (over()) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.wake = undefined
  }
}

import { listOffsets } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { GroupMembership } from '../client/group.js'
import { assignShards } from '../mirror/assignor.js'
import { type MirrorConfig, mirrorConfigOf } from '../mirror/config.js'
import { MirrorState, type StateRecord } from '../mirror/fold.js'
import { mirrorShardOf, SHARDS } from '../mirror/shards.js'
import type { PartitionStatus, TopicSpec } from '../mirror/state.js'
import { formatKey, parseKey, type StateKey } from '../mirror/state-keys.js'
import { SPEC_PARTITION } from '../mirror/state-topic.js'
import { encodeValue } from '../mirror/state-values.js'
import { ByteBudget } from './byte-budget.js'
import { COMPARED_AT_ONCE } from './compare-tails.js'
import { DestinationLink } from './destination-link.js'
import { LostPlace } from './errors.js'
import { publish, type RunnerSnapshot } from './events.js'
import { HeldPartitions } from './held-partitions.js'
import { type MirrorAccess, type MirrorKeeper, MirrorKeepers } from './mirror-keepers.js'
import { TransactionWatch } from './open-transactions.js'
import { Ownership } from './ownership.js'
import type { PartitionContext } from './partition-context.js'
import { PartitionMirror } from './partition-mirror.js'
import { lowestOwnerEpoch } from './shard-floor.js'
import { Slots } from './slots.js'
import { SourceTrouble } from './source-trouble.js'
import { Sources } from './sources.js'
import type { StateLog } from './state-log.js'
import { type Holder, holderOf, TopicCare } from './topic-care.js'
import { TopicWatch } from './topic-watch.js'
import { type Wanted, wantedPartitions } from './wanted.js'

export interface RunnerOptions {
  readonly destination: Cluster
  readonly log: StateLog
  /** Group and state name. */
  readonly groupId: string
  /** This runner's name in statuses and client ids. */
  readonly owner: string
  readonly sessionTimeoutMs: number
  readonly heartbeatIntervalMs: number
  /** Mirrors to serve; undefined is all. */
  readonly mirrors?: readonly string[] | undefined
  /** A client for a mirror's source. Throws when its properties are wrong. */
  openSource(mirror: string, properties: ReadonlyMap<string, string>): Cluster
  /** Begins to keep what a mirror has beside its records, as long as its own shard is held here. */
  keep(access: MirrorAccess): MirrorKeeper
}

const WRITTEN_BY_RUNNERS: ReadonlySet<StateKey['kind']> = new Set(['status', 'sync', 'acl'])
const LONGEST_WATCH_INTERVAL_MS = 30_000
/** The session is kept alive meanwhile; to give up and join again would only begin anew. */
const STATE_READ_WITHIN_MS = 30_000

/**
 * A runner: a member of the group on the destination that copies the partitions on the shards it owns. It reconciles what
 * the operators want, as the state topic says, with what it does; there is nothing else it knows or keeps.
 */
export class Runner {
  private readonly state = new MirrorState()
  private readonly held = new HeldPartitions({ takeUp: (want, spec) => this.takeUp(want, spec), gone: () => this.scheduleReconcile() })
  private readonly sources: Sources
  private readonly budget: ByteBudget
  private readonly destination: DestinationLink
  private readonly group: GroupMembership
  private readonly ownership: Ownership
  private readonly care: TopicCare
  private readonly fastForwardSlots = new Slots(2)
  private readonly compareSlots = new Slots(COMPARED_AT_ONCE)
  private readonly watch: TopicWatch
  private readonly transactions: TransactionWatch
  private readonly keepers: MirrorKeepers
  private readonly trouble: SourceTrouble
  private readonly stopped = new AbortController()
  private following: Promise<void> | undefined
  private reconcileScheduled = false

  constructor(private readonly options: RunnerOptions) {
    this.budget = new ByteBudget(mirrorConfigOf(new Map()).bufferBytes)
    this.group = new GroupMembership(options.destination, {
      groupId: options.groupId,
      topic: options.log.topic,
      protocolName: 'kafka-mirrors',
      sessionTimeoutMs: options.sessionTimeoutMs,
      heartbeatIntervalMs: options.heartbeatIntervalMs,
      rebalanceTimeoutMs: 60_000,
      assign: (members) => assignShards(members, SHARDS),
      acquired: (shards) => this.acquired(shards),
      released: (shards) => this.released(shards),
      lost: (shards) => this.lost(shards),
      failed: (error) => this.warn('group', `group ${options.groupId}`, error),
    })
    this.destination = new DestinationLink(options.destination, options.owner, () => this.group.alive)
    this.ownership = new Ownership(this.group, (shard) => lowestOwnerEpoch(options.destination, this.state, shard))
    this.care = new TopicCare(options.destination)
    this.watch = new TopicWatch({
      topics: () => this.held.topics,
      intervalMs: () =>
        Math.min(LONGEST_WATCH_INTERVAL_MS, ...[...this.sources.mirrors].map((mirror) => this.configOf(mirror).metadataRefreshIntervalMs)),
      look: (topics) => options.destination.topics(topics),
      seen: (topic, topicId) => {
        for (const partition of this.held.which((want) => want.topic === topic)) partition.destinationSeen(topicId)
      },
      lookAtEnds: () => this.lookAtEnds(),
    })
    this.transactions = new TransactionWatch({
      partitions: () => this.held.all.map((partition) => partition.snapshot),
      source: (mirror) => this.sources.linkOf(mirror)?.cluster,
    })
    this.trouble = new SourceTrouble({
      now: Date.now,
      again: () => this.reconcile({ wake: false }),
      status: ({ mirror, topic, partition }) => this.state.status(mirror, topic, partition),
      identity: ({ shard, spec }) => ({
        ownerEpoch: this.ownership.epochOf(shard),
        owner: options.owner,
        addedAt: spec.addedAt,
        destinationTopicId: spec.destinationTopicId,
      }),
      write: (want, status) => this.writeStatus(want, status),
    })
    this.sources = new Sources({
      state: this.state,
      budget: this.budget,
      trouble: this.trouble,
      open: (mirror, properties) => options.openSource(mirror, properties),
      atWork: (mirror) => this.held.which((want) => want.mirror === mirror),
    })
    this.keepers = new MirrorKeepers({
      log: options.log,
      owner: options.owner,
      state: this.state,
      config: (mirror) => this.configOf(mirror),
      link: (mirror) => this.sources.linkOf(mirror),
      trouble: (mirror) => this.trouble.reasonOf(mirror),
      epochOf: (shard) => (this.group.alive && this.ownership.holds(shard) ? this.ownership.epochOf(shard) : undefined),
      begin: (access) => options.keep(access),
    })
  }

  /** Reads the state to its end and joins the group; copying goes on until {@link drain}. Throws KafkaError, ConnectionError. */
  async start(): Promise<void> {
    const { log } = this.options
    for (const record of (await log.load()) ?? []) this.state.apply(record)
    this.following = log.follow(
      (records) => {
        // What runners write changes nothing in what should run; looking would cut every partition's back-off short.
        if (records.map((record) => this.take(record)).some((kind) => kind !== undefined && !WRITTEN_BY_RUNNERS.has(kind)))
          this.scheduleReconcile()
      },
      this.stopped.signal,
      (error) => this.warn('state', `reading ${log.topic}`, error),
    )
    this.group.start()
    this.watch.start()
    this.transactions.start()
  }

  /** Folds a record in; the kind of what it changed. */
  private take(record: StateRecord): StateKey['kind'] | undefined {
    const changed = this.state.apply(record)
    if (changed !== undefined || record.value === null) return changed?.kind
    // A status that counts for nothing, such as a zombie's: written last, it would be the one that compaction keeps.
    const key = parseKey(record.key)
    if (key?.kind === 'status') void this.held.find(key)?.repeatStatus()
    return undefined
  }

  get snapshot(): RunnerSnapshot {
    return {
      alive: this.group.alive,
      memberId: this.group.id === '' ? undefined : this.group.id,
      ownedShards: this.ownership.count,
      bufferedBytes: this.budget.usedBytes,
      partitions: this.held.all.map(({ snapshot }) => ({ ...snapshot, openTransaction: this.transactions.of(snapshot) })),
    }
  }

  /** Appends what was read, leaves the group and closes everything. */
  async drain(): Promise<void> {
    await this.group.leave()
    await this.keepers.close()
    this.watch.close()
    this.transactions.close()
    this.trouble.close()
    this.stopped.abort()
    await this.following?.catch((error) => this.warn('state', `reading ${this.options.log.topic}`, error))
    await this.sources.close()
    await this.destination.close()
    await this.options.destination.close()
  }

  private async acquired(shards: readonly number[]): Promise<void> {
    // What the last owner was told must be known before its partitions are taken up: a removed topic is writable.
    await this.options.log.caughtUp([...new Set([SPEC_PARTITION, ...shards])], STATE_READ_WITHIN_MS)
    await this.ownership.take(shards)
    publish({ level: 'info', event: 'shards', message: `took ${shards.length} shards, ${this.ownership.count} held` })
    this.reconcile()
  }

  private async released(shards: readonly number[]): Promise<void> {
    this.ownership.giveUp(shards)
    await Promise.all([this.keepers.release(new Set(shards)), this.held.release(shards)])
    this.ownership.drop(shards)
  }

  private lost(shards: readonly number[]): void {
    this.ownership.drop(shards)
    void this.keepers.release(new Set(shards))
    this.held.abandon(shards)
    publish({ level: 'warn', event: 'shards', message: `lost ${shards.length} shards: the group session ran out` })
  }

  private async lookAtEnds(): Promise<void> {
    const resting = this.held.all.flatMap((partition) => {
      const { restingLogEnd, snapshot } = partition
      return restingLogEnd === undefined ? [] : [{ partition, expected: restingLogEnd, topic: snapshot.topic, index: snapshot.partition }]
    })
    const answers = await listOffsets(
      this.options.destination,
      resting.map(({ topic, index }) => ({ topic, partition: index, at: 'latest' })),
    )
    for (const [i, { partition, expected }] of resting.entries()) {
      const answer = answers[i]!
      if (answer.ok) partition.destinationEndSeen(expected, answer.value.offset)
    }
  }

  private warn(event: string, what: string, error: unknown): void {
    publish({ level: 'warn', event, message: `${what}: ${error instanceof Error ? error.message : error}` })
  }

  /** Many records arrive in one turn; one look at all of them is enough. */
  private scheduleReconcile(): void {
    if (this.reconcileScheduled) return
    this.reconcileScheduled = true
    setImmediate(() => {
      this.reconcileScheduled = false
      this.reconcile()
    })
  }

  /** Makes what runs equal to what should run. */
  private reconcile({ wake } = { wake: true }): void {
    if (this.stopped.signal.aborted) return
    this.destination.setThrottles(this.state)
    const holds = (shard: number) => this.ownership.holds(shard)
    const served = this.served()
    const wanted = wantedPartitions(served, holds)
    this.budget.setLimit(this.bufferBytes(wanted))
    const kept = new Set(served.flatMap(({ name }) => (holds(mirrorShardOf(name)) ? [name] : [])))
    this.sources.reconcile(new Set([...[...wanted.values()].map(({ mirror }) => mirror), ...this.held.mirrors, ...kept]))
    this.keepers.reconcile(kept, { wake })
    const mayBegin = ({ mirror }: Wanted) => this.sources.linkOf(mirror) !== undefined
    this.trouble.tell(this.held.reconcile(wanted, { wake, mayBegin }))
  }

  /** One budget serves all mirrors: the largest that any of them asks for. */
  private bufferBytes(wanted: ReadonlyMap<string, Wanted>): number {
    const mirrors = new Set([...wanted.values()].map(({ mirror }) => mirror))
    const asked = [...mirrors].map((mirror) => this.configOf(mirror).bufferBytes)
    return asked.length === 0 ? mirrorConfigOf(new Map()).bufferBytes : Math.max(...asked)
  }

  private served() {
    const { mirrors } = this.options
    return this.state.mirrors().filter(({ name }) => mirrors?.includes(name) ?? true)
  }

  private takeUp(want: Wanted, spec: () => TopicSpec): PartitionMirror {
    const { mirror, topic, partition, shard } = want
    const { options } = this
    // It begins before it is here.
    let taken: PartitionMirror | undefined
    const context: PartitionContext = {
      mirror,
      topic,
      partition,
      owner: options.owner,
      destination: this.destination,
      fastForwardSlots: this.fastForwardSlots,
      compareSlots: this.compareSlots,
      source: () => this.sources.linkOf(mirror)!,
      spec,
      config: () => this.configOf(mirror),
      recordGap: () => {
        const wish = this.state.recovery(mirror, topic, partition, spec().addedAt)
        return wish?.action === 'record-gap' ? wish : undefined
      },
      ownerEpoch: () => this.ownership.epochOf(shard),
      renewOwnerEpoch: () => this.ownership.renew(shard),
      mayAppend: () => this.group.alive,
      isReleased: () => taken?.isReleased ?? false,
      maxMessageBytes: () => this.care.maxMessageBytes(topic),
      forgetMaxMessageBytes: () => this.care.forget(topic),
      prepareDestination: () => this.care.hold(topic, spec(), () => this.holder(want)),
      deleteRecords: (before) => this.care.deleteRecords(topic, partition, before),
    }
    const write = (status: PartitionStatus) => this.writeStatus(want, status)
    taken = new PartitionMirror(context, this.state.status(mirror, topic, partition), write)
    return taken
  }

  /** Who has the topic, by the operators' word of now: what was read before may be old. */
  private async holder({ mirror, topic, spec }: Wanted): Promise<Holder> {
    await this.options.log.caughtUp([SPEC_PARTITION], STATE_READ_WITHIN_MS)
    return holderOf(this.state, mirror, topic, spec.addedAt)
  }

  private async writeStatus({ mirror, topic, partition, shard }: Wanted, status: PartitionStatus): Promise<void> {
    // On its way out after the shard was given up: what it says now would be taken for the new owner's by compaction.
    if (status.ownerEpoch < 0) throw new LostPlace()
    // Nobody would erase what is said of a mirror that is gone.
    if (this.state.mirror(mirror) === undefined) return
    const key = formatKey({ kind: 'status', mirror, topic, partition })
    await this.options.log.append(shard, [{ key, value: encodeValue('status', status) }])
  }

  private configOf(mirror: string): MirrorConfig {
    return mirrorConfigOf(this.state.mirror(mirror)?.configs ?? new Map())
  }
}

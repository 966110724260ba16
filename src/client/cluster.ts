import { setMaxListeners } from 'node:events'
import {
  type Api,
  Errors,
  FindCoordinator,
  Heartbeat,
  JoinGroup,
  type KafkaError,
  kafkaError,
  LeaveGroup,
  Metadata,
  type RequestOf,
  type ResponseOf,
  SyncGroup,
} from '../protocol/index.js'
import { type BrokerAddress, formatAddress } from './address.js'
import { BrokerPool } from './broker-pool.js'
import { type CallOptions, Calls, sendOn } from './calls.js'
import type { ClientConfig } from './config.js'
import { type Connection, type Open, type OpenOptions, openConnection } from './connection.js'
import { ConnectionError, type ConnectionErrorKind } from './errors.js'
import { type BrokerInfo, type MetadataAnswer, MetadataCache, metadataOf, type PartitionLeader, type TopicMetadata } from './metadata.js'
import { type Clock, systemClock } from './retry.js'

export { type CallOptions, isStaleRoute } from './calls.js'
export type { BrokerInfo, PartitionLeader, PartitionMetadata, TopicMetadata } from './metadata.js'

export interface ClusterDependencies {
  readonly open?: Open
  readonly clock?: Clock
}

/** JoinGroup is answered when the group is complete; nothing else may wait behind it, commits of its members included. */
const MEMBERSHIP: ReadonlySet<number> = new Set([JoinGroup, SyncGroup, Heartbeat, LeaveGroup].map(({ key }) => key))

export type CoordinatorKind = 'group' | 'transaction' | 'share'

const KEY_TYPES: Readonly<Record<CoordinatorKind, number>> = { group: 0, transaction: 1, share: 2 }
const REFRESH_SPACING_MS = 100
/**
 * One Kafka cluster: finds brokers, leaders and coordinators, keeps one shared connection per broker for ordinary
 * requests and one for group coordination (whose answers may wait), and retries what routing can heal.
 *
 * Every call may throw ConnectionError, KafkaError (routing only: error codes in a response are the caller's) or UnsupportedVersionError.
 */
export class Cluster {
  private config: ClientConfig
  private readonly open: Open
  private readonly clock: Clock
  private readonly cache = new MetadataCache()
  private readonly coordinators = new Map<string, number>()
  private readonly closing = new AbortController()
  private readonly calls: Calls
  private pool: BrokerPool
  private wanted = new Set<string>()
  private nextRefresh: Promise<void> | undefined
  private runningRefresh: Promise<unknown> | undefined
  private lastRefresh = Number.NEGATIVE_INFINITY

  constructor(config: ClientConfig, dependencies: ClusterDependencies = {}) {
    this.config = config
    this.open = dependencies.open ?? openConnection
    this.clock = dependencies.clock ?? systemClock
    // Every waiting call listens; Node would take that for a leak.
    setMaxListeners(0, this.closing.signal)
    this.pool = this.newPool()
    this.calls = new Calls({
      clock: this.clock,
      signal: this.closing.signal,
      config: () => this.config,
      proven: (address) => this.pool.proven(address),
      error: (kind, reason) => this.error(kind, reason),
    })
  }

  /** As users name the cluster: its bootstrap addresses. */
  get name(): string {
    return this.config.bootstrapServers.map(formatAddress).join(',')
  }

  /** The cluster's id, asked afresh. */
  async clusterId(): Promise<string> {
    return (await this.metadata([])).clusterId
  }

  /** All live brokers, asked afresh. */
  async brokers(): Promise<BrokerInfo[]> {
    return [...(await this.metadata([])).brokers]
  }

  /** The named topics, or all; asked afresh. A topic that cannot be described is there with its error code. */
  async topics(names?: readonly string[]): Promise<Map<string, TopicMetadata>> {
    const answer = await this.metadata(names === undefined ? null : names)
    return new Map(answer.topics.map((topic) => [topic.name, topic]))
  }

  /** The last known leader; never waits. */
  leaderOf(topic: string, partition: number): PartitionLeader | undefined {
    return this.cache.leaderOf(topic, partition)
  }

  /** Why there is no leader, as far as the last answer told. */
  missingLeader(topic: string, partition: number): KafkaError {
    return this.cache.missing(topic, partition)
  }

  /** Takes over a leader that an answer to Fetch or Produce told (KIP-951), if it is newer than what is known. */
  learnLeader(topic: string, partition: number, leader: PartitionLeader): void {
    this.cache.learn(topic, partition, leader)
  }

  /** Asks for the leaders of these topics. Calls are joined: one request at a time, starts at least 100 ms apart. */
  refresh(topics: readonly string[]): Promise<void> {
    for (const topic of topics) this.wanted.add(topic)
    this.nextRefresh ??= this.runRefresh()
    return this.nextRefresh
  }

  /** To whichever broker answers. */
  any<A extends Api>(api: A, request: RequestOf<A>, options: CallOptions<A> = {}): Promise<ResponseOf<A>> {
    return this.calls.make(() => this.anyConnection(), api, request, options)
  }

  /** To the broker with this id. */
  broker<A extends Api>(brokerId: number, api: A, request: RequestOf<A>, options: CallOptions<A> = {}): Promise<ResponseOf<A>> {
    return this.calls.make((stale) => this.brokerConnection(brokerId, 'shared', stale), api, request, options)
  }

  /** To the controller, or the broker that forwards to it. */
  controller<A extends Api>(api: A, request: RequestOf<A>, options: CallOptions<A> = {}): Promise<ResponseOf<A>> {
    return this.calls.make((stale) => this.controllerConnection(stale), api, request, options)
  }

  /** To the partition's leader. */
  leader<A extends Api>(
    topic: string,
    partition: number,
    api: A,
    request: RequestOf<A>,
    options: CallOptions<A> = {},
  ): Promise<ResponseOf<A>> {
    return this.calls.make((stale) => this.leaderConnection(topic, partition, stale), api, request, options)
  }

  /** To the coordinator of a group or transactional id. NOT_COORDINATOR and the like in the answer: give `errorsOf`, or {@link forgetCoordinator}. */
  coordinator<A extends Api>(
    kind: CoordinatorKind,
    key: string,
    api: A,
    request: RequestOf<A>,
    options: CallOptions<A> = {},
  ): Promise<ResponseOf<A>> {
    return this.calls.make(
      (stale) => this.coordinatorConnection(kind, key, MEMBERSHIP.has(api.key) ? 'group' : 'shared', stale),
      api,
      request,
      options,
    )
  }

  /** Makes the next call look the coordinator up again. */
  forgetCoordinator(kind: CoordinatorKind, key: string): void {
    this.coordinators.delete(`${kind}:${key}`)
  }

  /** A connection of the caller's own to a broker: one attempt, which waits out the broker's back-off. */
  async dedicated(brokerId: number, options: Pick<OpenOptions, 'clientId' | 'buffers'> = {}): Promise<Connection> {
    this.failIfClosed()
    const broker = this.cache.broker(brokerId) ?? (await this.freshBroker(brokerId))
    return this.pool.dedicated(broker, this.config, { ...this.openOptions(broker), ...options })
  }

  /** Other addresses or credentials from now on. Requests under way are answered on the old connections; dedicated ones are the caller's. */
  async reconfigure(config: ClientConfig): Promise<void> {
    this.config = config
    const before = this.pool
    this.pool = this.newPool()
    this.cache.clear()
    this.coordinators.clear()
    before.retire()
  }

  /** Closes all shared connections; calls under way are rejected. */
  async close(): Promise<void> {
    this.closing.abort()
    await this.pool.close()
  }

  private newPool(): BrokerPool {
    return new BrokerPool(this.open, this.clock, this.config.reconnectBackoffMs, this.closing.signal)
  }

  private async anyConnection(): Promise<Connection> {
    const open = this.pool.anyOpen('shared')
    if (open !== undefined) return open
    const failures: ConnectionError[] = []
    for (const { address, broker } of this.candidates()) {
      try {
        return await this.pool.get(
          'shared',
          address,
          this.config,
          broker === undefined ? { signal: this.closing.signal } : this.openOptions(broker),
        )
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error
        // Another address would be told the same, and each failure may count towards locking the account.
        if (error.kind === 'authentication') throw error
        failures.push(error)
      }
    }
    throw worst(failures)
  }

  /** Known brokers in random order, then the bootstrap addresses in the user's order. */
  private candidates(): Array<{ address: BrokerAddress; broker?: BrokerInfo }> {
    const known = this.cache.brokers.map((broker) => ({ broker, at: this.clock.random() })).sort((a, b) => a.at - b.at)
    const addresses = new Set(known.map(({ broker }) => formatAddress(broker)))
    return [
      ...known.map(({ broker }) => ({ address: broker, broker })),
      ...this.config.bootstrapServers.filter((address) => !addresses.has(formatAddress(address))).map((address) => ({ address })),
    ]
  }

  private async brokerConnection(brokerId: number, lane: string, stale: boolean): Promise<Connection> {
    const known = stale ? undefined : this.cache.broker(brokerId)
    const broker = known ?? (await this.freshBroker(brokerId))
    return this.pool.get(lane, broker, this.config, this.openOptions(broker))
  }

  private async freshBroker(brokerId: number): Promise<BrokerInfo> {
    await this.refresh([])
    const broker = this.cache.broker(brokerId)
    if (broker === undefined) throw kafkaError(Errors.BROKER_NOT_AVAILABLE, `broker ${brokerId} of ${this.name} is not available`)
    return broker
  }

  private async controllerConnection(stale: boolean): Promise<Connection> {
    if (stale || this.cache.controllerId < 0) await this.refresh([])
    if (this.cache.controllerId < 0) return this.anyConnection()
    return this.brokerConnection(this.cache.controllerId, 'shared', false)
  }

  private async leaderConnection(topic: string, partition: number, stale: boolean): Promise<Connection> {
    if (stale || this.cache.leaderOf(topic, partition) === undefined) await this.refresh([topic])
    const leader = this.cache.leaderOf(topic, partition)
    if (leader === undefined) throw this.cache.missing(topic, partition)
    return this.brokerConnection(leader.brokerId, 'shared', false)
  }

  private async coordinatorConnection(kind: CoordinatorKind, key: string, lane: string, stale: boolean): Promise<Connection> {
    const name = `${kind}:${key}`
    if (stale) this.coordinators.delete(name)
    let brokerId = this.coordinators.get(name)
    if (brokerId === undefined) {
      const connection = await this.anyConnection()
      const response = await sendOn(connection, FindCoordinator, { key, keyType: KEY_TYPES[kind], coordinatorKeys: [key] }, {})
      const found = response.coordinators[0] ?? response
      if (found.errorCode !== 0) throw kafkaError(found.errorCode, found.errorMessage)
      brokerId = found.nodeId
      this.coordinators.set(name, brokerId)
    }
    return this.brokerConnection(brokerId, lane, stale)
  }

  private async metadata(names: readonly string[] | null): Promise<MetadataAnswer> {
    const topics = names === null ? null : names.map((name) => ({ name }))
    const answer = metadataOf(await this.any(Metadata, { topics }))
    this.cache.update(answer)
    return answer
  }

  private async runRefresh(): Promise<void> {
    await this.runningRefresh?.catch(() => {})
    const wait = this.lastRefresh + REFRESH_SPACING_MS - this.clock.now()
    if (wait > 0) await this.clock.sleep(wait, this.closing.signal).catch(() => {})
    this.lastRefresh = this.clock.now()
    const names = [...this.wanted]
    this.wanted.clear()
    this.nextRefresh = undefined
    this.runningRefresh = this.metadata(names)
    await this.runningRefresh
  }

  private openOptions(broker: BrokerInfo) {
    const bootstrap = this.config.bootstrapServers.some((address) => formatAddress(address) === formatAddress(broker))
    return {
      brokerId: broker.id,
      random: () => this.clock.random(),
      signal: this.closing.signal,
      advertisedBy: bootstrap ? undefined : { brokerId: broker.id, bootstrap: this.name },
    }
  }

  private failIfClosed(): void {
    if (this.closing.signal.aborted) throw this.error('closed', 'the client is closed')
  }

  private error(kind: ConnectionErrorKind, reason: string): ConnectionError {
    return new ConnectionError({ kind, address: this.config.bootstrapServers[0]!, reason })
  }
}

/** The failure that says most about what to do; of several plain ones the first, which also names the others. */
function worst(failures: readonly ConnectionError[]): ConnectionError {
  const first = failures.find((failure) => !failure.retriable) ?? failures[0]!
  const others = failures.filter((failure) => failure !== first).map((failure) => `${formatAddress(failure.address)}: ${failure.reason}`)
  if (others.length === 0) return first
  return new ConnectionError({ ...first.details(), reason: `${first.reason} (also ${others.join('; ')})` })
}

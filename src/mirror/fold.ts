import { ShapeError } from './json.js'
import type {
  AclRecord,
  MirrorSpec,
  PartitionStatus,
  RecoveryWish,
  RemovalResult,
  StateKind,
  StateValues,
  SyncLoopName,
  SyncStatus,
  TopicSpec,
} from './state.js'
import { parseKey, type StateKey } from './state-keys.js'
import { decodeValue } from './state-values.js'
import type { ThrottledReplica } from './throttles.js'

/** A record of the state topic; a null value is a tombstone. */
export interface StateRecord {
  readonly key: string
  readonly value: string | null
}

/** One mirror as it is known. It exists when `spec` is there; the rest may arrive earlier or be left over. */
export interface MirrorEntry {
  readonly name: string
  readonly spec: MirrorSpec | undefined
  readonly configs: ReadonlyMap<string, string>
  readonly topics: ReadonlyMap<string, TopicSpec>
  readonly results: ReadonlyMap<string, RemovalResult>
  /** topic → partition → status */
  readonly statuses: ReadonlyMap<string, ReadonlyMap<number, PartitionStatus>>
  /** topic → partition → what an operator wishes for it */
  readonly recoveries: ReadonlyMap<string, ReadonlyMap<number, RecoveryWish>>
  /** What became of the last round of each slow loop that has run. */
  readonly syncs: ReadonlyMap<SyncLoopName, SyncStatus>
  /** Access rules the mirror created, withholds or guards with, by their binding. */
  readonly acls: ReadonlyMap<string, AclRecord>
}

/**
 * What the records of the state topic amount to. Records of different keys may be folded in any order; of one key the
 * later one wins, save that a status (of a partition or a loop) of a lower owner epoch than the known one is a zombie's and ignored.
 */
export class MirrorState {
  private readonly entries = new Map<string, MutableEntry>()
  private readonly unreadable = new Map<string, string>()
  private readonly brokers = new Map<number, number>()
  private readonly throttledTopics = new Map<string, readonly ThrottledReplica[] | '*'>()

  static of(records: Iterable<StateRecord>): MirrorState {
    const state = new MirrorState()
    for (const record of records) state.apply(record)
    return state
  }

  /** Key → why its value cannot be read: written by a newer version, or by somebody else. */
  get problems(): ReadonlyMap<string, string> {
    return this.unreadable
  }

  /** Broker id → bytes per second. */
  get brokerThrottles(): ReadonlyMap<number, number> {
    return this.brokers
  }

  get topicThrottles(): ReadonlyMap<string, readonly ThrottledReplica[] | '*'> {
    return this.throttledTopics
  }

  /** Mirrors that exist, sorted by name. */
  mirrors(): (MirrorEntry & { readonly spec: MirrorSpec })[] {
    const existing = [...this.entries.values()].filter((entry): entry is MutableEntry & { spec: MirrorSpec } => entry.spec !== undefined)
    return existing.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** An existing mirror, or undefined. */
  mirror(name: string): (MirrorEntry & { readonly spec: MirrorSpec }) | undefined {
    const entry = this.entries.get(name)
    return entry?.spec === undefined ? undefined : (entry as MutableEntry & { spec: MirrorSpec })
  }

  status(mirror: string, topic: string, partition: number): PartitionStatus | undefined {
    return this.entries.get(mirror)?.statuses.get(topic)?.get(partition)
  }

  /** What an operator wishes for a partition of the topic as it was added at `addedAt`. */
  recovery(mirror: string, topic: string, partition: number, addedAt: number): RecoveryWish | undefined {
    const wish = this.entries.get(mirror)?.recoveries.get(topic)?.get(partition)
    return wish?.addedAt === addedAt ? wish : undefined
  }

  /** topic → partition → status, also of a mirror that was just deleted. */
  statusesOf(mirror: string): ReadonlyMap<string, ReadonlyMap<number, PartitionStatus>> {
    return this.entries.get(mirror)?.statuses ?? new Map()
  }

  /** What became of the last round of each loop, also of a mirror that was just deleted. */
  syncsOf(mirror: string): ReadonlyMap<SyncLoopName, SyncStatus> {
    return this.entries.get(mirror)?.syncs ?? new Map()
  }

  /** The existing mirror that copies or is about to copy `topic`; removed topics belong to nobody. */
  mirrorOf(topic: string): string | undefined {
    return this.mirrors().find((entry) => isActive(entry.topics.get(topic)))?.name
  }

  /** Folds one record in. Returns what it was about, or undefined if it changed nothing. Never throws. */
  apply(record: StateRecord): StateKey | undefined {
    const key = parseKey(record.key)
    if (key === undefined) return undefined
    try {
      const changed = this.applyTo(key, record.value)
      this.unreadable.delete(record.key)
      return changed ? key : undefined
    } catch (error) {
      if (!(error instanceof ShapeError)) throw error
      this.unreadable.set(record.key, error.message)
      return undefined
    }
  }

  private applyTo(key: StateKey, value: string | null): boolean {
    const decoded = <K extends StateKind>(kind: K): StateValues[K] | undefined => (value === null ? undefined : decodeValue(kind, value))
    switch (key.kind) {
      case 'mirror':
        this.entry(key.mirror).spec = decoded('mirror')
        return true
      case 'config':
        return put(this.entry(key.mirror).configs, key.key, decoded('config')?.value)
      case 'topic':
        return put(this.entry(key.mirror).topics, key.topic, decoded('topic'))
      case 'result':
        return put(this.entry(key.mirror).results, key.topic, decoded('result'))
      case 'throttle/broker':
        return put(this.brokers, key.broker, decoded('throttle/broker')?.rate)
      case 'throttle/topic':
        return put(this.throttledTopics, key.topic, decoded('throttle/topic')?.replicas)
      case 'status':
        return this.applyStatus(key, decoded('status'))
      case 'recovery':
        return putInner(this.entry(key.mirror).recoveries, key.topic, key.partition, decoded('recovery'))
      case 'sync':
        return this.applySync(key, decoded('sync'))
      case 'acl':
        return put(this.entry(key.mirror).acls, key.binding, decoded('acl'))
    }
  }

  private applyStatus(key: StateKey & { kind: 'status' }, status: PartitionStatus | undefined): boolean {
    const { statuses } = this.entry(key.mirror)
    const known = statuses.get(key.topic)?.get(key.partition)
    if (status !== undefined && known !== undefined && status.ownerEpoch < known.ownerEpoch) return false
    putInner(statuses, key.topic, key.partition, status)
    return true
  }

  private applySync(key: StateKey & { kind: 'sync' }, status: SyncStatus | undefined): boolean {
    const { syncs } = this.entry(key.mirror)
    const known = syncs.get(key.loop)
    if (status !== undefined && known !== undefined && status.ownerEpoch < known.ownerEpoch) return false
    return put(syncs, key.loop, status)
  }

  private entry(name: string): MutableEntry {
    const known = this.entries.get(name)
    if (known !== undefined) return known
    const entry: MutableEntry = {
      name,
      spec: undefined,
      configs: new Map(),
      topics: new Map(),
      results: new Map(),
      statuses: new Map(),
      recoveries: new Map(),
      syncs: new Map(),
      acls: new Map(),
    }
    this.entries.set(name, entry)
    return entry
  }
}

interface MutableEntry {
  readonly name: string
  spec: MirrorSpec | undefined
  readonly configs: Map<string, string>
  readonly topics: Map<string, TopicSpec>
  readonly results: Map<string, RemovalResult>
  readonly statuses: Map<string, Map<number, PartitionStatus>>
  readonly recoveries: Map<string, Map<number, RecoveryWish>>
  readonly syncs: Map<SyncLoopName, SyncStatus>
  readonly acls: Map<string, AclRecord>
}

/** A topic that belongs to its mirror; it no longer does once it was removed. */
export type ActiveTopic = TopicSpec & { readonly desired: Exclude<TopicSpec['desired'], 'STOPPED'> }

export const isActive = (spec: TopicSpec | undefined): spec is ActiveTopic => spec !== undefined && spec.desired !== 'STOPPED'

/** One whose addition is finished: before that there is nothing to copy into. */
export const isAdded = (spec: TopicSpec | undefined): spec is ActiveTopic => isActive(spec) && spec.desired !== 'ADDING'

function put<K, V>(map: Map<K, V>, key: K, value: V | undefined): boolean {
  if (value === undefined) return map.delete(key)
  map.set(key, value)
  return true
}

function putInner<V>(outer: Map<string, Map<number, V>>, topic: string, partition: number, value: V | undefined): boolean {
  const partitions = outer.get(topic) ?? new Map<number, V>()
  const changed = put(partitions, partition, value)
  put(outer, topic, partitions.size === 0 ? undefined : partitions)
  return changed
}

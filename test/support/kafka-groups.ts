import { accessOf, type ClusterAccess } from './cluster-access.js'
import type { KafkaWorker } from './kafka-worker.js'
import { eventually } from './wait.js'

export interface Position {
  readonly topic: string
  readonly partition?: number
  readonly offset: bigint
  readonly metadata?: string
  readonly leaderEpoch?: number
}

export interface ReadPosition {
  readonly offset: bigint
  readonly metadata: string
  /** −1: none. */
  readonly leaderEpoch: number
}

/** Groups of one cluster through Kafka's own clients. */
export class KafkaGroups {
  readonly #worker: KafkaWorker
  readonly #cluster: ClusterAccess

  constructor(worker: KafkaWorker, cluster: ClusterAccess) {
    this.#worker = worker
    this.#cluster = accessOf(cluster)
  }

  /** Group → type and state as Kafka spells them. */
  async list(): Promise<Record<string, { type: string; state: string }>> {
    return this.#worker.request('groups', { ...this.#cluster })
  }

  /** Commits for groups without members, all at once; those that are not there are made. */
  async commit(groups: Readonly<Record<string, readonly Position[]>>): Promise<void> {
    const positions = Object.fromEntries(
      Object.entries(groups).map(([group, list]) => [group, list.map((one) => ({ ...one, offset: Number(one.offset) }))]),
    )
    await this.#worker.request('commitGroups', { ...this.#cluster, positions })
  }

  /** Group → `topic-partition` → position. */
  async positions(...groups: readonly string[]): Promise<Record<string, Record<string, ReadPosition>>> {
    type Spelled = Record<string, Record<string, Omit<ReadPosition, 'offset'> & { offset: string }>>
    const result = await this.#worker.request<Spelled>('groupPositions', { ...this.#cluster, groups })
    return mapValues(result, (positions) => mapValues(positions, (position) => ({ ...position, offset: BigInt(position.offset) })))
  }

  /** `topic-partition` → where a share group starts. */
  async shareOffsets(group: string): Promise<Record<string, bigint>> {
    return mapValues(await this.#worker.request<Record<string, string>>('shareOffsets', { ...this.#cluster, group }), BigInt)
  }

  /** Where a share group without members starts; it is made if it is not there. */
  async alterShareOffsets(group: string, topic: string, offsets: Record<number, bigint>): Promise<void> {
    await this.#worker.request('alterShareOffsets', { ...this.#cluster, group, topic, offsets: mapValues(offsets, Number) })
  }

  /** Sets settings of a group. */
  async configure(group: string, configs: Record<string, string>): Promise<void> {
    await this.#worker.request('configureGroup', { ...this.#cluster, group, configs })
  }

  /** A member that reads until it leaves; it has its partitions, or of a share group nothing yet, when this resolves. */
  async join(group: string, topic: string, options: JoinOptions = {}): Promise<Member> {
    const { protocol = 'classic', ...others } = options
    const lines: string[] = []
    const command = protocol === 'share' ? 'joinShareGroup' : 'joinGroup'
    const { id, result } = this.#worker.start(command, { ...this.#cluster, ...others, group, topic, protocol }, (line) => lines.push(line))
    let failure: unknown
    result.catch((error) => {
      failure = error
    })
    const member = {
      records: () =>
        lines
          .map((line) => line.split('\t'))
          .filter(([kind]) => kind === 'record')
          .map(([, partition, offset]) => ({ partition: partition!, offset: BigInt(offset!) })),
      leave: async () => {
        await this.#worker.request('leaveGroup', { of: id })
        await result
      },
    }
    if (protocol === 'share') return member
    await eventually(
      () => {
        if (failure !== undefined) return true
        return lines.some((line) => line.startsWith('assigned'))
      },
      { what: `the member of ${group} gets partitions` },
    )
    if (failure !== undefined) throw failure
    return member
  }
}

export interface JoinOptions {
  readonly protocol?: 'classic' | 'consumer' | 'share'
  /** False: reads without committing. */
  readonly commit?: boolean
  /** Most records of one poll, after which it commits. */
  readonly max?: number
}

export interface Member {
  /** What it has read so far. */
  records(): { readonly partition: string; readonly offset: bigint }[]
  leave(): Promise<void>
}

function mapValues<A, B>(record: Record<string, A>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))
}

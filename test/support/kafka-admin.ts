import { accessOf, type ClusterAccess } from './kafka-log.js'
import type { KafkaWorker } from './kafka-worker.js'

/** Names as in Kafka's tools: TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID; READ, WRITE, DESCRIBE, ALTER_CONFIGS … */
export interface Acl {
  readonly resourceType: string
  readonly resource: string
  /** Default: LITERAL. */
  readonly patternType?: 'LITERAL' | 'PREFIXED'
  readonly operation: string
  readonly principal: string
  /** Default: *. */
  readonly host?: string
  /** Default: ALLOW. */
  readonly permission?: 'ALLOW' | 'DENY'
}

/** Topics, groups and rights of one cluster through Kafka's own admin client. */
export class KafkaAdmin {
  readonly #worker: KafkaWorker
  readonly #cluster: ClusterAccess

  constructor(worker: KafkaWorker, cluster: ClusterAccess) {
    this.#worker = worker
    this.#cluster = accessOf(cluster)
  }

  async createTopic(
    topic: string,
    options: {
      partitions?: number
      replicationFactor?: number
      /** The brokers of every partition, the preferred leader first, in place of the two above. */
      assignments?: readonly (readonly number[])[]
      configs?: Record<string, string>
    } = {},
  ): Promise<void> {
    await this.#worker.request('createTopic', { ...this.#cluster, topic, ...options })
  }

  async deleteTopic(topic: string): Promise<void> {
    await this.#worker.request('deleteTopic', { ...this.#cluster, topic })
  }

  async addPartitions(topic: string, partitions: number): Promise<void> {
    await this.#worker.request('addPartitions', { ...this.#cluster, topic, partitions })
  }

  /** All topics with their ids in Kafka's 22-character form. */
  async topics(): Promise<Record<string, string>> {
    return this.#worker.request('topics', { ...this.#cluster })
  }

  /** The settings made on the topic itself, without defaults. */
  async topicConfigs(topic: string): Promise<Record<string, string>> {
    return this.#worker.request('topicConfigs', { ...this.#cluster, topic })
  }

  /** null removes the topic's own setting. */
  async alterTopicConfigs(topic: string, configs: Record<string, string | null>): Promise<void> {
    await this.#worker.request('alterTopicConfigs', { ...this.#cluster, topic, configs })
  }

  /** Moves the log start of a partition. */
  async deleteRecords(topic: string, partition: number, before: bigint): Promise<void> {
    await this.#worker.request('deleteRecords', { ...this.#cluster, topic, partition, before: String(before) })
  }

  /** Log start and log end of every partition, by partition number. */
  async offsets(topic: string): Promise<{ partition: number; beginningOffset: bigint; endOffset: bigint }[]> {
    const result = await this.#worker.request<{ partition: number; beginningOffset: string; endOffset: string }[]>('offsets', {
      ...this.#cluster,
      topic,
    })
    return result.map((bounds) => ({ ...bounds, beginningOffset: BigInt(bounds.beginningOffset), endOffset: BigInt(bounds.endOffset) }))
  }

  /** Leader (−1 when there is none) and in-sync replicas of every partition, by partition number. */
  async leaders(topic: string): Promise<{ partition: number; leader: number; inSync: number[] }[]> {
    return this.#worker.request('leaders', { ...this.#cluster, topic })
  }

  /** Makes one of a partition's replicas its leader. Throws when that one is not in sync. */
  async moveLeader(topic: string, partition: number, leader: number): Promise<void> {
    await this.#worker.request('moveLeader', { ...this.#cluster, topic, partition, leader })
  }

  /** Throws all members out of a group; they learn of it at their next heartbeat, as after a coordinator's error. */
  async expelMembers(group: string): Promise<void> {
    await this.#worker.request('expelMembers', { ...this.#cluster, group })
  }

  /** Deletes a group without members. */
  async deleteGroup(group: string): Promise<void> {
    await this.#worker.request('deleteGroup', { ...this.#cluster, group })
  }

  /** Commits offsets for an empty group. */
  async commit(group: string, topic: string, offsets: Record<number, bigint>): Promise<void> {
    const texts = Object.fromEntries(Object.entries(offsets).map(([partition, offset]) => [partition, String(offset)]))
    await this.#worker.request('commit', { ...this.#cluster, group, topic, offsets: texts })
  }

  /** Committed offsets by `topic-partition`. */
  async committed(group: string): Promise<Record<string, bigint>> {
    const result = await this.#worker.request<Record<string, string>>('committed', { ...this.#cluster, group })
    return Object.fromEntries(Object.entries(result).map(([partition, offset]) => [partition, BigInt(offset)]))
  }

  async addAcl(acl: Acl): Promise<void> {
    await this.#worker.request('addAcl', { ...this.#cluster, ...acl })
  }

  async removeAcl(acl: Acl): Promise<void> {
    const { removed } = await this.#worker.request<{ removed: number }>('removeAcl', { ...this.#cluster, ...acl })
    if (removed !== 1) throw new Error(`${removed} rules were removed where one was to be`)
  }

  /** All rules, sorted, as `ALLOW READ TOPIC LITERAL orders User:alice *`. */
  async acls(): Promise<string[]> {
    return this.#worker.request('acls', { ...this.#cluster })
  }

  async setScram(user: string, mechanism: 'SCRAM-SHA-256' | 'SCRAM-SHA-512', password: string): Promise<void> {
    await this.#worker.request('setScram', { ...this.#cluster, user, mechanism, password })
  }
}

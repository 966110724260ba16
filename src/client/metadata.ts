import { Errors, KafkaError, kafkaError, type Metadata, type ResponseOf } from '../protocol/index.js'

export interface BrokerInfo {
  readonly id: number
  readonly host: string
  readonly port: number
  readonly rack: string | undefined
}

export interface PartitionMetadata {
  readonly partition: number
  /** Broker id; −1 when there is none. */
  readonly leader: number
  /** −1 when the broker doesn't tell. */
  readonly leaderEpoch: number
  readonly replicas: readonly number[]
  readonly isr: readonly number[]
  readonly errorCode: number
}

export interface TopicMetadata {
  readonly name: string
  /** Hex text with hyphens; all zeros from brokers before 2.8. */
  readonly topicId: string
  readonly internal: boolean
  /** 0, or why the topic could not be described, for example UNKNOWN_TOPIC_OR_PARTITION. */
  readonly errorCode: number
  /** By partition number. */
  readonly partitions: readonly PartitionMetadata[]
}

/** Whether the topic exists, as far as its brokers say. */
export const isThere = (topic: TopicMetadata | undefined): topic is TopicMetadata => topic?.errorCode === 0 && topic.partitions.length > 0

/** Whether the topic exists and every partition has a leader. */
export const isLed = (topic: TopicMetadata | undefined): topic is TopicMetadata =>
  isThere(topic) && topic.partitions.every(({ leader }) => leader >= 0)

export interface PartitionLeader {
  readonly brokerId: number
  readonly leaderEpoch: number
  readonly topicId: string
}

/** What one Metadata answer says, in our words. */
export interface MetadataAnswer {
  readonly clusterId: string
  readonly controllerId: number
  readonly brokers: readonly BrokerInfo[]
  readonly topics: readonly TopicMetadata[]
}

/** @throws KafkaError when the whole request was refused. */
export function metadataOf(response: ResponseOf<typeof Metadata>): MetadataAnswer {
  if (response.errorCode !== 0) throw kafkaError(response.errorCode)
  return {
    clusterId: response.clusterId ?? '',
    controllerId: response.controllerId,
    brokers: response.brokers.map(({ nodeId, host, port, rack }) => ({ id: nodeId, host, port, rack: rack ?? undefined })),
    topics: response.topics.map((topic) => ({
      name: topic.name ?? '',
      topicId: topic.topicId,
      internal: topic.isInternal,
      errorCode: topic.errorCode,
      partitions: topic.partitions
        .map((p) => ({
          partition: p.partitionIndex,
          leader: p.leaderId,
          leaderEpoch: p.leaderEpoch,
          replicas: p.replicaNodes,
          isr: p.isrNodes,
          errorCode: p.errorCode,
        }))
        .sort((a, b) => a.partition - b.partition),
    })),
  }
}

interface CachedTopic {
  readonly topicId: string
  readonly errorCode: number
  readonly partitions: ReadonlySet<number>
  readonly leaders: Map<number, PartitionLeader>
}

/** Last known brokers and leaders. A leader of an older epoch never replaces a newer one of the same topic. */
export class MetadataCache {
  private brokersById = new Map<number, BrokerInfo>()
  private readonly topics = new Map<string, CachedTopic>()
  controllerId = -1

  get brokers(): BrokerInfo[] {
    return [...this.brokersById.values()]
  }

  broker(id: number): BrokerInfo | undefined {
    return this.brokersById.get(id)
  }

  leaderOf(topic: string, partition: number): PartitionLeader | undefined {
    return this.topics.get(topic)?.leaders.get(partition)
  }

  update(answer: MetadataAnswer): void {
    // An answer without brokers comes from one that is just starting.
    if (answer.brokers.length > 0) this.brokersById = new Map(answer.brokers.map((broker) => [broker.id, broker]))
    this.controllerId = answer.controllerId
    for (const topic of answer.topics) this.updateTopic(topic)
  }

  /** A leader learnt elsewhere, for example from an answer to Fetch or Produce (KIP-951). */
  learn(topic: string, partition: number, leader: PartitionLeader): void {
    const cached = this.topics.get(topic)
    const known = cached?.leaders.get(partition)
    if (cached === undefined || cached.topicId !== leader.topicId || !newer(leader, known)) return
    cached.leaders.set(partition, leader)
  }

  /** Why there is no leader, as an error to throw. */
  missing(topic: string, partition: number): KafkaError {
    const cached = this.topics.get(topic)
    const exists = cached?.partitions.has(partition) ?? false
    const error = kafkaError(cached?.errorCode || (exists ? Errors.LEADER_NOT_AVAILABLE : Errors.UNKNOWN_TOPIC_OR_PARTITION))
    return new KafkaError(error.code, error.kafkaName, error.retriable, `${topic}-${partition}: ${error.message}`)
  }

  clear(): void {
    this.brokersById.clear()
    this.topics.clear()
    this.controllerId = -1
  }

  private updateTopic(topic: TopicMetadata): void {
    const before = this.topics.get(topic.name)
    const leaders = new Map<number, PartitionLeader>()
    for (const { partition, leader, leaderEpoch } of topic.partitions) {
      const known = before?.topicId === topic.topicId ? before.leaders.get(partition) : undefined
      const told = leader < 0 ? undefined : { brokerId: leader, leaderEpoch, topicId: topic.topicId }
      const kept = told === undefined || newer(told, known) ? told : known
      if (kept !== undefined) leaders.set(partition, kept)
    }
    const partitions = new Set(topic.partitions.map(({ partition }) => partition))
    this.topics.set(topic.name, { topicId: topic.topicId, errorCode: topic.errorCode, partitions, leaders })
  }
}

/** Epoch −1 is a broker that tells none: the latest word counts then. */
const newer = (told: PartitionLeader, known: PartitionLeader | undefined) =>
  known === undefined || told.leaderEpoch < 0 || told.leaderEpoch >= known.leaderEpoch

import type { Cluster } from '../client/cluster.js'
import { DeleteRecords } from '../protocol/api/delete-records.js'
import { DescribeConfigs } from '../protocol/api/describe-configs.js'
import { IncrementalAlterConfigs } from '../protocol/api/incremental-alter-configs.js'
import { Errors, kafkaError } from '../protocol/errors.js'

const TOPIC = 2
const SET = 0
const FRESH_MS = 30_000
const DELETE_RECORDS_TIMEOUT_MS = 30_000

/** The little that copying needs of the destination's topics beside their logs. */
export class TopicCare {
  private readonly limits = new Map<string, { readonly value: Promise<number>; readonly at: number }>()

  constructor(
    private readonly destination: Cluster,
    private readonly now: () => number = Date.now,
  ) {}

  /** `max.message.bytes` of the topic, at most half a minute old; partitions of a topic share one look. Throws KafkaError. */
  async maxMessageBytes(topic: string): Promise<number> {
    const known = this.limits.get(topic)
    if (known !== undefined && this.now() - known.at < FRESH_MS) return known.value
    const value = this.readMaxMessageBytes(topic)
    this.limits.set(topic, { value, at: this.now() })
    value.catch(() => this.limits.delete(topic))
    return value
  }

  /** Sets topic settings, leaving all others alone. Throws KafkaError. */
  async apply(topic: string, settings: ReadonlyMap<string, string>): Promise<void> {
    this.limits.delete(topic)
    const response = await this.destination.controller(IncrementalAlterConfigs, {
      resources: [
        {
          resourceType: TOPIC,
          resourceName: topic,
          configs: [...settings].map(([name, value]) => ({ name, configOperation: SET, value })),
        },
      ],
      validateOnly: false,
    })
    for (const { errorCode, errorMessage } of response.responses) if (errorCode !== 0) throw kafkaError(errorCode, errorMessage)
  }

  /**
   * Moves the destination's log start to `before`. A compact-only topic forbids it (POLICY_VIOLATION), and needs it less:
   * what lies below is superseded. Throws KafkaError.
   */
  async deleteRecords(topic: string, partition: number, before: bigint): Promise<void> {
    const response = await this.destination.leader(topic, partition, DeleteRecords, {
      topics: [{ name: topic, partitions: [{ partitionIndex: partition, offset: before }] }],
      timeoutMs: DELETE_RECORDS_TIMEOUT_MS,
    })
    const errorCode = response.topics[0]?.partitions[0]?.errorCode ?? 0
    if (errorCode !== 0 && errorCode !== Errors.POLICY_VIOLATION) throw kafkaError(errorCode)
  }

  private async readMaxMessageBytes(topic: string): Promise<number> {
    const response = await this.destination.any(DescribeConfigs, {
      resources: [{ resourceType: TOPIC, resourceName: topic, configurationKeys: ['max.message.bytes'] }],
    })
    const result = response.results[0]
    if (result === undefined || result.errorCode !== 0)
      throw kafkaError(result?.errorCode ?? Errors.UNKNOWN_SERVER_ERROR, result?.errorMessage)
    const value = result.configs.find(({ name }) => name === 'max.message.bytes')?.value
    return value === undefined || value === null ? Number.MAX_SAFE_INTEGER : Number(value)
  }
}

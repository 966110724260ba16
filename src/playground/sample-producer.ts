import { setTimeout as pause } from 'node:timers/promises'
import { createTopics } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { kafkaError, Produce } from '../protocol/index.js'
import { encodeBatch, type SampleRecord, sampleCustomer, sampleOrder } from './sample-records.js'

interface SampleTopic {
  readonly name: string
  readonly partitions: number
  readonly make: (id: number, random: () => number) => SampleRecord
}

/** What the playground's source cluster holds. */
export const SAMPLE_TOPICS: readonly SampleTopic[] = [
  { name: 'orders', partitions: 3, make: sampleOrder },
  { name: 'customers', partitions: 1, make: sampleCustomer },
]

const TICK_MS = 500
const RECORDS_PER_TICK = 5

/** Fills the sample topics of the source: some records to begin with, then a few a second. */
export class SampleProducer {
  readonly #cluster: Cluster
  readonly #topicIds = new Map<string, string>()
  readonly #random: () => number
  #nextId = 1

  constructor(cluster: Cluster, random: () => number = Math.random) {
    this.#cluster = cluster
    this.#random = random
  }

  /** Creates the topics and writes `records` into each partition. Throws KafkaError, ConnectionError. */
  async prepare(records: number): Promise<void> {
    const created = await createTopics(
      this.#cluster,
      SAMPLE_TOPICS.map(({ name, partitions }) => ({ name, partitions, replicationFactor: 1 })),
    )
    for (const [name, result] of created) {
      if (!result.ok) throw result.error
      this.#topicIds.set(name, result.value.topicId)
    }
    for (const topic of SAMPLE_TOPICS) {
      for (let partition = 0; partition < topic.partitions; partition++) await this.#write(topic, partition, records)
    }
  }

  /** Writes until the signal is aborted. A broker that is away is waited for: whoever plays may well stop it. */
  async run(signal: AbortSignal): Promise<void> {
    for (let tick = 0; !signal.aborted; tick++) {
      for (const topic of SAMPLE_TOPICS) {
        await this.#write(topic, tick % topic.partitions, RECORDS_PER_TICK).catch(() => undefined)
      }
      await pause(TICK_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  async #write(topic: SampleTopic, partition: number, count: number): Promise<void> {
    const batch = encodeBatch(
      Array.from({ length: count }, () => topic.make(this.#nextId++, this.#random)),
      Date.now(),
    )
    const topicData = [
      { name: topic.name, topicId: this.#topicIds.get(topic.name)!, partitionData: [{ index: partition, records: [batch] }] },
    ]
    const request = { acks: -1, timeoutMs: 10_000, topicData }
    const response = await this.#cluster.leader(topic.name, partition, Produce, request, {
      errorsOf: (answer) => answer.responses.flatMap((item) => item.partitionResponses.map(({ errorCode }) => errorCode)),
    })
    const { errorCode, errorMessage } = response.responses[0]!.partitionResponses[0]!
    if (errorCode !== 0) throw kafkaError(errorCode, errorMessage ?? undefined)
  }
}

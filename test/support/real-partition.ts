import { describeProducers, writeTxnMarkers } from '../../src/client/admin.js'
import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import { KafkaError } from '../../src/protocol/errors.js'
import { Produce } from '../../src/protocol/index.js'
import type { TestBroker } from './brokers.js'
import type { AppendAnswer, Marker, ModelBroker } from './model-broker.js'
import { eventually } from './wait.js'

/** One partition of a real broker, asked in the words of the model. */
export class RealPartition {
  constructor(
    private readonly cluster: Cluster,
    private readonly topic: string,
    private readonly partition: number,
  ) {}

  async append(bytes: Buffer): Promise<AppendAnswer> {
    const { topic, partition, cluster } = this
    const topicId = cluster.leaderOf(topic, partition)!.topicId
    const topicData = [{ name: topic, topicId, partitionData: [{ index: partition, records: [bytes] }] }]
    const request = { transactionalId: null, acks: -1, timeoutMs: 10_000, topicData }
    const response = await cluster.leader(topic, partition, Produce, request, { retry: false })
    const { errorCode, baseOffset } = response.responses[0]!.partitionResponses[0]!
    return { errorCode, baseOffset }
  }

  /** So many markers in one request; its error code. */
  async mark(marker: Marker, count: number): Promise<number> {
    try {
      await writeTxnMarkers(this.cluster, { ...marker, topic: this.topic, partition: this.partition, count })
      return 0
    } catch (error) {
      if (error instanceof KafkaError) return error.code
      throw error
    }
  }

  async describeProducers(): Promise<ReturnType<ModelBroker['describeProducers']>> {
    const [result] = await describeProducers(this.cluster, [{ topic: this.topic, partition: this.partition }])
    if (!result!.ok) throw result!.error
    return result!.value
      .map(({ producerId, producerEpoch, lastSequence, coordinatorEpoch }) => ({
        producerId,
        producerEpoch,
        lastSequence,
        coordinatorEpoch,
      }))
      .sort((a, b) => Number(a.producerId - b.producerId))
  }
}

/** The partitions of a new topic; close the cluster when done. */
export async function realPartitions(
  { admin, bootstrap }: TestBroker,
  topic: string,
  options: { readonly partitions: number; readonly configs: Record<string, string> },
): Promise<{ readonly partitions: RealPartition[]; readonly cluster: Cluster }> {
  await admin.createTopic(topic, options)
  const cluster = new Cluster(clientConfigOf(new Map([['bootstrap.servers', bootstrap]])).config)
  const all = Array.from({ length: options.partitions }, (_, partition) => ({ topic, partition }))
  // A new topic's leaders need a moment.
  await eventually(async () => (await describeProducers(cluster, all)).every(({ ok }) => ok))
  return { partitions: all.map(({ partition }) => new RealPartition(cluster, topic, partition)), cluster }
}

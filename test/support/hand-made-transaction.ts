import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import { Produce } from '../../src/protocol/api/produce.js'
import { WriteTxnMarkers } from '../../src/protocol/api/write-txn-markers.js'
import { batch } from './batches.js'

const TRANSACTIONAL = 0x10

/**
 * Writes a transaction of `records` records and its end without a coordinator: for brokers that have none (KRaft's preview
 * in 2.8), and that take transactional batches unasked (before KIP-890).
 */
export async function writeTransactionByHand(
  bootstrap: string,
  options: { topic: string; partition: number; producerId: bigint; records: number; commit: boolean },
): Promise<void> {
  const { topic, partition, producerId, records, commit } = options
  const cluster = new Cluster(clientConfigOf(new Map([['bootstrap.servers', bootstrap]])).config)
  try {
    const data = batch({ attributes: TRANSACTIONAL, producerId, producerEpoch: 0, baseSequence: 0, records, timestamp: BigInt(Date.now()) })
    await cluster.refresh([topic])
    const topicId = cluster.leaderOf(topic, partition)!.topicId
    const produced = await cluster.leader(topic, partition, Produce, {
      transactionalId: `by-hand-${producerId}`,
      acks: -1,
      timeoutMs: 10_000,
      topicData: [{ name: topic, topicId, partitionData: [{ index: partition, records: [data] }] }],
    })
    const marked = await cluster.leader(topic, partition, WriteTxnMarkers, {
      markers: [
        {
          producerId,
          producerEpoch: 0,
          transactionResult: commit,
          topics: [{ name: topic, partitionIndexes: [partition] }],
          coordinatorEpoch: 0,
        },
      ],
    })
    const errors = [
      ...produced.responses.flatMap((answer) => answer.partitionResponses),
      ...marked.markers.flatMap((marker) => marker.topics).flatMap((answer) => answer.partitions),
    ].map(({ errorCode }) => errorCode)
    if (errors.some((code) => code !== 0)) throw new Error(`the broker answers with errors ${errors}`)
  } finally {
    await cluster.close()
  }
}

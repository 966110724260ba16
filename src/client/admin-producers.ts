import { Errors, InitProducerId, kafkaError, WriteTxnMarkers } from '../protocol/index.js'
import type { CallOptions, Cluster } from './cluster.js'
import { type Result, resultOf } from './result.js'

export interface ProducerIdAndEpoch {
  readonly producerId: bigint
  readonly producerEpoch: number
}

/**
 * A new producer id without a transactional id, else that id's producer with a raised epoch, which fences earlier ones (KIP-98).
 *
 * @throws KafkaError, among them CONCURRENT_TRANSACTIONS while an earlier transaction is still ending
 * @throws ConnectionError
 */
export async function initProducerId(
  cluster: Cluster,
  options: { readonly transactionalId?: string; readonly transactionTimeoutMs?: number } & Pick<CallOptions, 'deadlineMs'> = {},
): Promise<ProducerIdAndEpoch> {
  const { transactionalId, transactionTimeoutMs = 60_000, deadlineMs } = options
  const request = { transactionalId: transactionalId ?? null, transactionTimeoutMs }
  const call: CallOptions<typeof InitProducerId> = { deadlineMs, errorsOf: (answer) => [answer.errorCode] }
  const answer =
    transactionalId === undefined
      ? await cluster.any(InitProducerId, request, call)
      : await cluster.coordinator('transaction', transactionalId, InitProducerId, request, call)
  if (answer.errorCode !== 0) throw kafkaError(answer.errorCode)
  return { producerId: answer.producerId, producerEpoch: answer.producerEpoch }
}

export interface Markers extends ProducerIdAndEpoch {
  readonly topic: string
  readonly partition: number
  /** Must not be lower than that of the last marker of this producer id. */
  readonly coordinatorEpoch: number
  /** How many control records to append. */
  readonly count: number
  /** Default true: commit markers. */
  readonly commit?: boolean
}

/**
 * Appends control records to several partitions that a broker leads, those of each by another producer (KIP-98); outcomes in
 * their order. Of several records in one partition there is one outcome, the last one's. Sent once, as {@link writeTxnMarkers}.
 *
 * @throws ConnectionError
 */
export async function writeMarkersOfMany(cluster: Cluster, brokerId: number, items: readonly Markers[]): Promise<Array<Result<void>>> {
  const request = { markers: items.flatMap((item) => Array.from({ length: item.count }, () => markerRequest(item))) }
  const response = await cluster.broker(brokerId, WriteTxnMarkers, request, { retry: false })
  const errors = new Map<string, number>()
  for (const { producerId, topics } of response.markers)
    for (const { name, partitions } of topics)
      for (const { partitionIndex, errorCode } of partitions) errors.set(`${producerId}/${name}/${partitionIndex}`, errorCode)
  return items.map(({ producerId, topic, partition }) =>
    resultOf(errors.get(`${producerId}/${topic}/${partition}`) ?? Errors.UNKNOWN_SERVER_ERROR, null, undefined),
  )
}

const markerRequest = ({ topic, partition, producerId, producerEpoch, coordinatorEpoch, commit = true }: Markers) => ({
  producerId,
  producerEpoch,
  transactionResult: commit,
  coordinatorEpoch,
  topics: [{ name: topic, partitionIndexes: [partition] }],
})

/**
 * Appends control records to one partition (KIP-98). Sent once: a repeated marker would land twice, so after a
 * ConnectionError with `uncertain` the log end tells what happened.
 *
 * @throws KafkaError
 * @throws ConnectionError
 */
export async function writeTxnMarkers(
  cluster: Cluster,
  markers: Markers,
  options: Pick<CallOptions, 'deadlineMs' | 'timeoutMs'> = {},
): Promise<void> {
  const { topic, partition, count } = markers
  const marker = markerRequest(markers)
  const request = { markers: Array.from({ length: count }, () => marker) }
  const response = await cluster.leader(topic, partition, WriteTxnMarkers, request, { ...options, retry: false })
  for (const answer of response.markers.flatMap((m) => m.topics).flatMap((t) => t.partitions)) {
    if (answer.errorCode !== 0) throw kafkaError(answer.errorCode)
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { AddPartitionsToTxn, EndTxn, Errors, KafkaError, kafkaError } from '../protocol/index.js'
import { initProducerId, type ProducerIdAndEpoch } from './admin-producers.js'
import type { Cluster } from './cluster.js'

const TRANSACTION_TIMEOUT_MS = 30_000
/** Markers of an ended transaction are written within milliseconds, unless a leader is away. */
const SETTLED_WITHIN_MS = 60_000

/**
 * Makes this caller the only one who may use the transactional id (KIP-98): whoever used it before is fenced, a transaction
 * he left open is aborted, and all its markers are in the logs when this resolves.
 *
 * @throws KafkaError, among them CONCURRENT_TRANSACTIONS when an earlier transaction is still ending after a minute
 * @throws ConnectionError
 */
export async function claimTransactionalId(cluster: Cluster, transactionalId: string): Promise<ProducerIdAndEpoch> {
  const options = { transactionalId, transactionTimeoutMs: TRANSACTION_TIMEOUT_MS }
  return whileConcurrent(() => initProducerId(cluster, options))
}

export interface EmptyTransaction extends ProducerIdAndEpoch {
  readonly transactionalId: string
  readonly topic: string
  readonly partition: number
}

/**
 * Commits a transaction without data, which appends exactly one control record to the partition. The broker answers before
 * it is in the log: the log end tells when. Safe against lost answers: both requests may be repeated.
 *
 * @throws KafkaError, among them PRODUCER_FENCED and INVALID_PRODUCER_EPOCH once somebody else has claimed the id
 * @throws ConnectionError
 */
export async function commitEmptyTransaction(cluster: Cluster, transaction: EmptyTransaction): Promise<void> {
  const { transactionalId, producerId, producerEpoch, topic, partition } = transaction
  const request = {
    v3AndBelowTransactionalId: transactionalId,
    v3AndBelowProducerId: producerId,
    v3AndBelowProducerEpoch: producerEpoch,
    v3AndBelowTopics: [{ name: topic, partitions: [partition] }],
  }
  await whileConcurrent(async () => {
    const added = await cluster.coordinator('transaction', transactionalId, AddPartitionsToTxn, request, {
      errorsOf: ({ resultsByTopicV3AndBelow }) =>
        resultsByTopicV3AndBelow.flatMap((one) => one.resultsByPartition).map((one) => one.partitionErrorCode),
    })
    for (const { partitionErrorCode } of added.resultsByTopicV3AndBelow.flatMap((one) => one.resultsByPartition))
      if (partitionErrorCode !== 0) throw kafkaError(partitionErrorCode)
  })
  const ended = await cluster.coordinator(
    'transaction',
    transactionalId,
    EndTxn,
    { transactionalId, producerId, producerEpoch, committed: true },
    { errorsOf: ({ errorCode }) => [errorCode] },
  )
  if (ended.errorCode !== 0) throw kafkaError(ended.errorCode)
}

/** Asks again while an earlier transaction of the same id is still ending. */
async function whileConcurrent<T>(ask: () => Promise<T>): Promise<T> {
  const until = performance.now() + SETTLED_WITHIN_MS
  for (let wait = 1; ; wait = Math.min(wait * 2, 100)) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof KafkaError && error.code === Errors.CONCURRENT_TRANSACTIONS) || performance.now() > until) throw error
    }
    await sleep(wait)
  }
}

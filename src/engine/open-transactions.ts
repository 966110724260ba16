import { describeProducers, type TopicPartition } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { type OpenTransaction, publish } from './events.js'

export type { OpenTransaction } from './events.js'

/**
 * The oldest open transaction of each of these partitions, by `topic/partition` (DescribeProducers, KIP-664); none for partitions
 * whose leader is too old to tell or does not answer. Never throws.
 */
export async function openTransactions(
  cluster: Cluster,
  partitions: readonly TopicPartition[],
): Promise<ReadonlyMap<string, OpenTransaction>> {
  const found = new Map<string, OpenTransaction>()
  if (partitions.length === 0) return found
  const answers = await describeProducers(cluster, partitions)
  for (const [i, { topic, partition }] of partitions.entries()) {
    const answer = answers[i]!
    if (!answer.ok) continue
    const open = answer.value.filter(({ currentTransactionStartOffset }) => currentTransactionStartOffset >= 0n)
    const [oldest] = open.sort((a, b) => (a.currentTransactionStartOffset < b.currentTransactionStartOffset ? -1 : 1))
    if (oldest === undefined) continue
    const { producerId, currentTransactionStartOffset: firstOffset, lastTimestamp } = oldest
    found.set(`${topic}/${partition}`, { producerId, firstOffset, lastWriteAt: Number(lastTimestamp) })
  }
  return found
}

/** A partition as the watch sees it. */
export interface WatchedPartition extends TopicPartition {
  readonly mirror: string
  readonly sourceHighWatermark: bigint | undefined
  readonly lastStableOffset: bigint | undefined
  readonly logEndOffset: bigint | undefined
}

export interface TransactionWatchPort {
  partitions(): readonly WatchedPartition[]
  /** Undefined when the mirror's source is not open. */
  source(mirror: string): Cluster | undefined
}

const LOOK_EVERY_MS = 5_000

/** True once all that is stable was copied and there is more: the partition waits for the end of a transaction. */
export const waitsForTransaction = ({
  sourceHighWatermark,
  lastStableOffset,
  logEndOffset,
}: Omit<WatchedPartition, 'mirror' | 'topic' | 'partition'>) =>
  sourceHighWatermark !== undefined &&
  lastStableOffset !== undefined &&
  logEndOffset !== undefined &&
  lastStableOffset < sourceHighWatermark &&
  logEndOffset >= lastStableOffset

/**
 * Asks the source who keeps partitions waiting, for those that wait at the same offset from one look to the next, all partitions of
 * a mirror at once.
 */
export class TransactionWatch {
  private readonly found = new Map<string, OpenTransaction>()
  /** Partitions that waited at the last look, and where. */
  private waiting = new Map<string, bigint>()
  private timer: NodeJS.Timeout | undefined
  private looking = false

  constructor(private readonly port: TransactionWatchPort) {}

  start(): void {
    this.timer ??= setInterval(() => void this.look(), LOOK_EVERY_MS).unref()
  }

  close(): void {
    clearInterval(this.timer)
  }

  /** For whose end a partition waits, as far as that is known. */
  of(partition: WatchedPartition): OpenTransaction | undefined {
    return waitsForTransaction(partition) ? this.found.get(keyOf(partition)) : undefined
  }

  /** Never throws. */
  async look(): Promise<void> {
    if (this.looking) return
    this.looking = true
    try {
      const waiting = this.port.partitions().filter(waitsForTransaction)
      const still = waiting.filter((one) => this.waiting.get(keyOf(one)) === one.lastStableOffset)
      this.waiting = new Map(waiting.map((one) => [keyOf(one), one.lastStableOffset!]))
      for (const key of this.found.keys()) if (!this.waiting.has(key)) this.found.delete(key)
      const mirrors = new Set(still.map(({ mirror }) => mirror))
      await Promise.all(
        [...mirrors].map((mirror) =>
          this.ask(
            mirror,
            still.filter((one) => one.mirror === mirror),
          ),
        ),
      )
    } catch (error) {
      publish({ level: 'debug', event: 'open-transaction', message: error instanceof Error ? error.message : String(error) })
    } finally {
      this.looking = false
    }
  }

  private async ask(mirror: string, partitions: readonly WatchedPartition[]): Promise<void> {
    const source = this.port.source(mirror)
    if (source === undefined) return
    const open = await openTransactions(source, partitions)
    for (const { topic, partition } of partitions) {
      const key = keyOf({ mirror, topic, partition })
      const transaction = open.get(`${topic}/${partition}`)
      const before = this.found.get(key)
      if (transaction === undefined) this.found.delete(key)
      else this.found.set(key, transaction)
      if (transaction === undefined || before?.firstOffset === transaction.firstOffset) continue
      const message = `waits at offset ${transaction.firstOffset} for the open transaction of producer ${transaction.producerId} on the source`
      publish({ level: 'info', event: 'open-transaction', message, mirror, topic, partition })
    }
  }
}

const keyOf = ({ mirror, topic, partition }: Pick<WatchedPartition, 'mirror' | 'topic' | 'partition'>) => `${mirror}/${topic}/${partition}`

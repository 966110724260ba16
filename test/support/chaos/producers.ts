import type { TestBroker } from '../brokers.js'
import { type SteadyWriter, writeSteadily, writeTransactions } from '../kafka-log.js'
import type { KafkaWorker } from '../kafka-worker.js'
import { inTime } from '../wait.js'

export interface ChaosTopic {
  readonly topic: string
  readonly partitions: number
  readonly configs?: Readonly<Record<string, string>>
  /** Records of one key replace each other on both sides, each at its own time. */
  readonly compacted?: boolean
}

/** Cleaned every few seconds, while it is copied. */
const COMPACTED = {
  'cleanup.policy': 'compact',
  'segment.ms': '3000',
  'min.cleanable.dirty.ratio': '0.01',
  'max.compaction.lag.ms': '3000',
}

export const CHAOS_TOPICS: readonly ChaosTopic[] = [
  { topic: 'plain', partitions: 4 },
  { topic: 'idempotent', partitions: 4 },
  { topic: 'small', partitions: 2 },
  { topic: 'transactions', partitions: 3 },
  { topic: 'compacted', partitions: 2, configs: COMPACTED, compacted: true },
]

/** Kafka's producers of every kind, each on a topic of its own, through whatever befalls the source. */
export class ChaosProducers {
  private writing = true
  private readonly steady: SteadyWriter[] = []
  private transacting: Promise<void> | undefined
  /** What went wrong meanwhile, which is no fault: the source's brokers die. */
  readonly troubles: string[] = []

  private constructor(
    private readonly worker: KafkaWorker,
    private readonly source: TestBroker,
  ) {}

  static async start(worker: KafkaWorker, source: TestBroker): Promise<ChaosProducers> {
    const producers = new ChaosProducers(worker, source)
    const write = async (
      topic: string,
      options: { recordsPerSecond: number; codec?: 'lz4' | 'zstd' },
      properties: Record<string, string>,
    ) => {
      const { partitions } = CHAOS_TOPICS.find((one) => one.topic === topic)!
      const cluster = { bootstrap: source.bootstrap, properties }
      producers.steady.push(await writeSteadily(worker, cluster, { topic, partitions, ...options }))
    }
    await write('plain', { recordsPerSecond: 400 }, { 'enable.idempotence': 'false', 'linger.ms': '5' })
    await write('idempotent', { recordsPerSecond: 400, codec: 'zstd' }, { 'linger.ms': '20' })
    await write('small', { recordsPerSecond: 60, codec: 'lz4' }, { 'linger.ms': '0', 'batch.size': '1' })
    await write('compacted', { recordsPerSecond: 300 }, { 'linger.ms': '5' })
    producers.transacting = producers.transact()
    return producers
  }

  /** Resolves once all is written and no transaction is open. */
  async stop(): Promise<void> {
    this.writing = false
    const steady = this.steady.map(async (writer) => {
      const { sent, failed } = await writer.stop()
      if (failed > 0) this.troubles.push(`${failed} of ${sent} records failed`)
    })
    await inTime(Promise.all(steady), 60_000, 'The last acknowledgement of the steady producers')
    await inTime(this.transacting!, 60_000, 'The end of the transactions')
    // The id of all transactions before: what they left open is over once this one is.
    await inTime(this.transaction(1), 30_000, 'The last transaction')
  }

  private async transact(): Promise<void> {
    for (let round = 1; this.writing; round++) {
      await this.transaction(round).catch((error: Error) => this.troubles.push(error.message.slice(0, 200)))
    }
  }

  private async transaction(seed: number): Promise<void> {
    const { topic, partitions } = CHAOS_TOPICS.find((one) => one.topic === 'transactions')!
    const content = { transactionalId: 'chaos', transactions: 5, records: 30, abortEvery: 3, seed }
    // A transaction that meets a dead broker is given up in seconds and not after minutes.
    const properties = {
      'transaction.timeout.ms': '10000',
      'delivery.timeout.ms': '10000',
      'request.timeout.ms': '5000',
      'max.block.ms': '15000',
    }
    await writeTransactions(this.worker, { bootstrap: this.source.bootstrap, properties }, { topic, partitions, ...content })
  }
}

import type { TestBrokers } from './brokers.js'
import { type SteadyWriter, writeSteadily, writeTransactions } from './kafka-log.js'

export interface LoadOptions {
  /** Topic of plain records, 1,000 a second. */
  readonly plain?: { readonly topic: string; readonly partitions: number; readonly recordsPerSecond?: number }
  /** Topic of transactions of 20 records, one after the other, every fourth aborted. */
  readonly transactions?: { readonly topic: string; readonly partitions: number }
}

/** Producers that write to the source until they are told to stop. */
export class Load {
  private writing = true
  private rounds = 0

  private constructor(
    private readonly plain: SteadyWriter | undefined,
    private transacting: Promise<void> | undefined,
  ) {}

  static async start({ source, worker }: Pick<TestBrokers, 'source' | 'worker'>, options: LoadOptions): Promise<Load> {
    const { plain, transactions } = options
    const load = new Load(plain && (await writeSteadily(worker, source, { recordsPerSecond: 1_000, codec: 'lz4', ...plain })), undefined)
    if (transactions !== undefined) {
      load.transacting = (async () => {
        for (; load.writing; load.rounds++) {
          const content = { transactionalId: `load-${transactions.topic}`, transactions: 8, records: 20, abortEvery: 4, seed: load.rounds }
          await writeTransactions(worker, source, { ...transactions, ...content })
        }
      })()
      // Told by stop.
      load.transacting.catch(() => {})
    }
    return load
  }

  /** Resolves once everything sent is acknowledged. Throws when something failed: the test would show nothing. */
  async stop(): Promise<void> {
    this.writing = false
    const written = await this.plain?.stop()
    await this.transacting
    if ((written?.failed ?? 0) > 0) throw new Error(`${written!.failed} records of the load were not written`)
  }
}

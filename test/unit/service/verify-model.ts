import type { Cluster } from '../../../src/client/cluster.js'
import { ByteBudget } from '../../../src/engine/byte-budget.js'
import { Errors, kafkaError } from '../../../src/protocol/errors.js'
import { scanBatches } from '../../../src/records/index.js'
import type { Side } from '../../../src/service/verify/comparison.js'
import type { FetchedPartition, LogReader, ReadPosition } from '../../../src/service/verify/log-reader.js'
import type { VerifierContext } from '../../../src/service/verify/partition-verifier.js'

/** One side's log as a broker would give it. */
export class ModelLog {
  start = 0n
  /** High watermark and last stable offset, unless that is lower. */
  end: bigint
  /** Offsets asked for. */
  readonly asked: bigint[] = []
  /** Called before each answer. */
  beforeAnswer: (position: ReadPosition) => void = () => {}

  constructor(
    readonly batches: readonly Buffer[],
    public lastStableOffset?: bigint,
  ) {
    const last = [...scanBatches(Buffer.concat(batches))].at(-1)?.header
    this.end = last === undefined ? 0n : last.baseOffset + BigInt(last.lastOffsetDelta + 1)
  }

  /** Whole batches from the one that holds the offset on, up to `maxBytes` but at least one. */
  answer(position: ReadPosition): FetchedPartition {
    this.beforeAnswer(position)
    this.asked.push(position.offset)
    if (position.offset < this.start || position.offset > this.end) throw kafkaError(Errors.OFFSET_OUT_OF_RANGE)
    const chosen: Buffer[] = []
    for (const bytes of this.batches) {
      const [batch] = scanBatches(bytes)
      const { baseOffset, lastOffsetDelta } = batch!.header
      if (baseOffset + BigInt(lastOffsetDelta) < position.offset || baseOffset >= this.end) continue
      if (chosen.length > 0 && Buffer.concat(chosen).length + bytes.length > position.maxBytes) break
      chosen.push(bytes)
    }
    return { records: Buffer.concat(chosen), abortedTransactions: [] } as unknown as FetchedPartition
  }
}

/** What a verifier needs of the world, for one partition. */
export function contextOf(logs: Readonly<Record<Side, ModelLog>>, maxBytes = 2_000): VerifierContext & { moved: number } {
  const budget = new ByteBudget(64 << 20)
  const reader = (side: Side) =>
    ({
      budget,
      options: { place: { side, name: `the ${side}` }, signal: new AbortController().signal },
      read: async (position: ReadPosition) => logs[side].answer(position),
    }) as unknown as LogReader
  const context = {
    clusters: { mirror: 'm', source: clusterOf(logs.source), destination: clusterOf(logs.destination) },
    readers: { source: reader('source'), destination: reader('destination') },
    maxBytes,
    moved: 0,
    progress(offsets: number) {
      context.moved += offsets
    },
  }
  return context
}

/** A cluster that answers ListOffsets. */
const clusterOf = (log: ModelLog) =>
  ({
    leaderOf: () => ({ brokerId: 0, leaderEpoch: 0, topicId: '' }),
    broker: async (_id: number, _api: unknown, { isolationLevel, topics }: ListOffsetsRequest) => ({
      topics: topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex, timestamp }) => {
          const latest = isolationLevel === 1 ? (log.lastStableOffset ?? log.end) : log.end
          return { partitionIndex, errorCode: 0, leaderEpoch: 0, offset: timestamp === -2n ? log.start : latest }
        }),
      })),
    }),
  }) as unknown as Cluster

interface ListOffsetsRequest {
  isolationLevel: number
  topics: { name: string; partitions: { partitionIndex: number; timestamp: bigint }[] }[]
}

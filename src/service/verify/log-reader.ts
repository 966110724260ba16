import type { Cluster } from '../../client/cluster.js'
import { isStaleRoute } from '../../client/cluster.js'
import { ConnectionError } from '../../client/errors.js'
import { retrying, systemClock } from '../../client/retry.js'
import type { ByteBudget } from '../../engine/byte-budget.js'
import type { Place } from '../../mirror/failures.js'
import type { Fetch } from '../../protocol/api/fetch.js'
import { Errors, KafkaError, kafkaError } from '../../protocol/errors.js'
import type { ResponseOf } from '../../protocol/schema.js'
import { FetchLane } from './fetch-lane.js'

export type FetchedPartition = ResponseOf<typeof Fetch>['responses'][number]['partitions'][number]

export interface ReaderOptions {
  readonly place: Place
  readonly clientId: string
  readonly isolation: 'read_committed' | 'read_uncommitted'
  readonly budget: ByteBudget
  readonly signal: AbortSignal
}

export interface ReadPosition {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  readonly offset: bigint
  readonly maxBytes: number
  /** As consumers see it, with the index of aborted transactions; default is the reader's isolation. */
  readonly committed?: boolean
}

/** A moved leader or a restarted broker is waited for this long. */
const PATIENCE_MS = 20_000
const BACKOFF = { initial: 100, max: 2_000 }
const IDLE_WAIT_MS = 500

/** Reads logs of one cluster, from whoever leads them. */
export class LogReader {
  private readonly lanes = new Map<number, FetchLane>()

  constructor(
    readonly cluster: Cluster,
    readonly options: ReaderOptions,
  ) {}

  get budget(): ByteBudget {
    return this.options.budget
  }

  /** One partition's record set from an offset on. Throws KafkaError, OFFSET_OUT_OF_RANGE among them, and ConnectionError. */
  async read(position: ReadPosition): Promise<FetchedPartition> {
    let stale = false
    return retrying(
      { clock: systemClock, deadlineMs: PATIENCE_MS, backoff: BACKOFF, signal: this.options.signal, attemptsFor },
      async () => {
        this.options.signal.throwIfAborted()
        if (stale || this.cluster.leaderOf(position.topic, position.partition) === undefined) await this.cluster.refresh([position.topic])
        stale = true
        return this.attempt(position)
      },
    )
  }

  async close(): Promise<void> {
    await Promise.all([...this.lanes.values()].map((lane) => lane.close()))
  }

  private async attempt({ topic, topicId, partition, offset, maxBytes, committed }: ReadPosition): Promise<FetchedPartition> {
    const leader = this.cluster.leaderOf(topic, partition)
    if (leader === undefined) throw this.cluster.missingLeader(topic, partition)
    const response = await this.lane(leader.brokerId).fetch({
      maxWaitMs: IDLE_WAIT_MS,
      minBytes: 1,
      maxBytes,
      isolationLevel: (committed ?? this.options.isolation === 'read_committed') ? 1 : 0,
      topics: [
        {
          topic,
          topicId,
          partitions: [{ partition, currentLeaderEpoch: leader.leaderEpoch, fetchOffset: offset, partitionMaxBytes: maxBytes }],
        },
      ],
    })
    const answer = response.responses[0]?.partitions[0]
    const errorCode = response.errorCode || (answer?.errorCode ?? Errors.UNKNOWN_SERVER_ERROR)
    if (answer === undefined || errorCode !== 0) throw kafkaError(errorCode)
    return answer
  }

  private lane(brokerId: number): FetchLane {
    let lane = this.lanes.get(brokerId)
    if (lane === undefined) {
      const { clientId, budget } = this.options
      lane = new FetchLane(() => this.cluster.dedicated(brokerId, { clientId, buffers: budget.buffers }))
      this.lanes.set(brokerId, lane)
    }
    return lane
  }
}

function attemptsFor(error: unknown): number {
  if (error instanceof ConnectionError) return error.retriable ? Number.POSITIVE_INFINITY : 1
  if (!(error instanceof KafkaError)) return 1
  return error.retriable || isStaleRoute(error.code) ? Number.POSITIVE_INFINITY : 1
}

import { listOffsets, type OffsetPoint, type TopicPartition } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { sourceOf, toMirrorError } from '../mirror/failures.js'
import type { Mirror } from '../mirror/spec-store.js'
import { within } from './context.js'
import { checkedClusterId, openSource } from './source-connection.js'

const REACHED_WITHIN_MS = 5_000
const OFFSETS_WITHIN_MS = 3_000

/** topic/partition → offset, for what is known. */
export type Offsets = ReadonlyMap<string, bigint>

/**
 * A mirror's source for a use case that works without it: it has some seconds to answer, while other work goes on, and is
 * then done without. Whoever opens it closes it.
 */
export class SourceContact {
  private cluster: Cluster | undefined
  private why: string | undefined
  private readonly reached: Promise<Cluster | undefined>

  constructor(
    private readonly mirror: Mirror,
    reachedWithinMs = REACHED_WITHIN_MS,
  ) {
    this.reached = within(reachedWithinMs, this.open(), (error) => this.failed(error))
  }

  /** The source, or undefined if it does not answer in time, refuses us or is another cluster than it was. Never throws. */
  whenReached(): Promise<Cluster | undefined> {
    return this.reached
  }

  /** A phrase saying why it could not be reached or asked; undefined if it could. */
  get trouble(): string | undefined {
    return this.why
  }

  /** Offsets of these partitions as far as it answers in time. Never throws. */
  async offsets(partitions: readonly TopicPartition[], at: OffsetPoint = 'latest'): Promise<Offsets> {
    const source = await this.reached
    if (source === undefined) return new Map()
    const asked = listOffsets(
      source,
      partitions.map(({ topic, partition }) => ({ topic, partition, at })),
    )
    const answers = await within(OFFSETS_WITHIN_MS, asked, (error) => this.failed(error))
    if (answers === undefined) return new Map()
    this.why = undefined
    return new Map(answers.flatMap((answer, i) => (answer.ok ? [[keyOf(partitions[i]!), answer.value.offset] as const] : [])))
  }

  async close(): Promise<void> {
    await this.cluster?.close()
  }

  private async open(): Promise<Cluster> {
    const { cluster } = openSource({ mirror: this.mirror.name, configs: this.mirror.configs })
    this.cluster = cluster
    await checkedClusterId(cluster, this.mirror.name, this.mirror.spec.sourceClusterId)
    return cluster
  }

  private failed(error: unknown): void {
    this.why = toMirrorError(error, sourceOf(this.mirror.name)).message
  }
}

export const keyOf = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`

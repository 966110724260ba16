import { ConnectionError } from '../client/errors.js'
import { KafkaError } from '../protocol/errors.js'
import type { CopyStart } from './copy-session.js'
import { Fenced, LostPlace } from './errors.js'
import { fillWithMarkers } from './marker-fill.js'
import type { PartitionContext } from './partition-context.js'

/**
 * Fills of one partition under the rule for markers: they have no sequence and cannot be taken back, so after one of
 * unknown fate the next needs a new owner epoch, under which a late one is refused.
 */
export class PartitionFiller {
  private unknownFate = false

  constructor(private readonly context: PartitionContext) {}

  /** Markers of an earlier fill may still land. */
  get uncertain(): boolean {
    return this.unknownFate
  }

  /** Fills `count` offsets of the session that began at `start`. Throws as {@link fillWithMarkers}, and what the renewal throws. */
  async fill(start: CopyStart, leaderEpoch: number, baseOffset: bigint, count: number, isOver: () => boolean): Promise<void> {
    const { destination } = this.context
    const before = this.unknownFate
    if (before) await this.context.renewOwnerEpoch()
    this.unknownFate = true
    const fill = fillWithMarkers(
      {
        cluster: destination.cluster,
        topic: start.topic,
        partition: start.partition,
        leaderEpoch,
        producerId: start.producerId,
        producerEpoch: start.producerEpoch,
        ownerEpoch: this.context.ownerEpoch(),
        mayAppend: () => this.context.mayAppend() && !isOver(),
      },
      baseOffset,
      count,
    )
    await fill.catch((error) => {
      if (!mayStillLand(error)) this.unknownFate = before
      throw error
    })
    this.unknownFate = false
  }
}

/** Whether markers may reach the log after this error: only if a request for them was never answered. */
const mayStillLand = (error: unknown) =>
  error instanceof ConnectionError
    ? error.uncertain
    : !(error instanceof KafkaError || error instanceof Fenced || error instanceof LostPlace)

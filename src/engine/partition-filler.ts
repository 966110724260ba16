import { claimTransactionalId, type ProducerIdAndEpoch } from '../client/admin.js'
import { ConnectionError } from '../client/errors.js'
import type { PartitionStatus } from '../mirror/state.js'
import { transactionalIdOf } from '../mirror/transactional-id.js'
import { Errors, KafkaError } from '../protocol/errors.js'
import type { CopyStart } from './copy-session.js'
import { Fenced, LostPlace, Realign } from './errors.js'
import { fillWithMarkers } from './marker-fill.js'
import type { PartitionContext } from './partition-context.js'
import { fillWithTransactions } from './transaction-fill.js'

export type FillMode = PartitionStatus['fillMode']

/** Which way of filling is on record for the partition, and how to put another there. */
export interface FillRecord {
  readonly mode: FillMode
  record(mode: FillMode): Promise<void>
}

/** One fill: `count` offsets from the destination's log end on. */
export interface Fill {
  readonly start: CopyStart
  /** The destination's leader. */
  readonly leader: { readonly brokerId: number; readonly leaderEpoch: number }
  readonly baseOffset: bigint
  readonly count: number
  readonly isOver: () => boolean
}

/**
 * Fills of one partition, with markers where the right to write them is there, else with empty transactions, and under the
 * rules of both. Markers have no sequence and cannot be taken back, so after one of unknown fate the next needs a new owner epoch, under
 * which a late one is refused. Transactions end some time after their answer, so what an earlier owner began must be over
 * before the log end is read: see {@link settle}.
 */
export class PartitionFiller {
  /** A marker of an earlier fill may still land. */
  private strayMarker = false
  /** The owner epoch of the last marker that surely landed. */
  private landedEpoch: number | undefined
  /** A transaction of ours may not be over. */
  private openTransaction = false
  /** Claimed by this owner, with nothing of it under way. */
  private producer: ProducerIdAndEpoch | undefined

  constructor(
    private readonly context: PartitionContext,
    private readonly onRecord: FillRecord,
  ) {}

  /** Something of an earlier fill may still land. */
  get uncertain(): boolean {
    return this.strayMarker || this.openTransaction
  }

  /**
   * Makes sure that no transaction is under way, this owner's or an earlier one's; must be called before the log end is read.
   * Does nothing while markers are in use, whose fate only the log tells. Throws KafkaError, ConnectionError.
   */
  async settle(): Promise<void> {
    if (this.onRecord.mode !== 'transactions' || this.producer !== undefined) return
    const { mirror, topic, partition, destination } = this.context
    if (!this.context.mayAppend()) throw new LostPlace()
    const transactionalId = transactionalIdOf(mirror, topic, partition)
    try {
      this.producer = await claimTransactionalId(destination.cluster, transactionalId)
      this.openTransaction = false
    } catch (error) {
      if (!(error instanceof KafkaError && error.code === Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)) throw error
      throw new Error(
        `offsets can't be filled: ALTER on the cluster and WRITE on transactional id ${transactionalId} are both missing on the destination`,
      )
    }
  }

  /** Throws as {@link fillWithMarkers} and {@link fillWithTransactions}; Realign when the way was changed; what the renewal of the owner epoch throws. */
  async fill(fill: Fill): Promise<void> {
    const { destination } = this.context
    if (destination.refusesMarkers) return this.withTransactions(fill)
    try {
      await this.withMarkers(fill)
    } catch (error) {
      if (!(error instanceof KafkaError && error.code === Errors.CLUSTER_AUTHORIZATION_FAILED)) throw error
      destination.markersRefused()
      return this.withTransactions(fill)
    }
    if (this.onRecord.mode !== 'markers') await this.onRecord.record('markers')
  }

  private async withMarkers({ start, leader, baseOffset, count, isOver }: Fill): Promise<void> {
    const { destination } = this.context
    const before = this.strayMarker
    if (before) await this.context.renewOwnerEpoch()
    this.strayMarker = true
    const ownerEpoch = this.context.ownerEpoch()
    const fill = fillWithMarkers(
      {
        cluster: destination.cluster,
        topic: start.topic,
        partition: start.partition,
        leaderEpoch: leader.leaderEpoch,
        producerId: start.producerId,
        producerEpoch: start.producerEpoch,
        ownerEpoch,
        isFirst: ownerEpoch !== this.landedEpoch,
        lane: destination.markerLane(leader.brokerId),
        mayAppend: () => this.context.mayAppend() && !isOver(),
      },
      baseOffset,
      count,
    )
    await fill.catch((error) => {
      if (!mayStillLand(error)) this.strayMarker = before
      throw error
    })
    this.strayMarker = false
    this.landedEpoch = ownerEpoch
  }

  private async withTransactions({ start, leader, baseOffset, count, isOver }: Fill): Promise<void> {
    const { mirror, destination } = this.context
    // On record before the first one, or the next owner would not know that one may be open.
    if (this.onRecord.mode !== 'transactions') await this.onRecord.record('transactions')
    const { producer } = this
    if (producer === undefined) throw new Realign('fills are made with transactions from now on: the right to write markers is missing')
    this.producer = undefined
    this.openTransaction = true
    await fillWithTransactions(
      {
        cluster: destination.cluster,
        topic: start.topic,
        partition: start.partition,
        leaderEpoch: leader.leaderEpoch,
        transactionalId: transactionalIdOf(mirror, start.topic, start.partition),
        producer,
        mayAppend: () => this.context.mayAppend() && !isOver(),
      },
      baseOffset,
      count,
    )
    this.producer = producer
    this.openTransaction = false
  }
}

/** Whether markers may reach the log after this error: only if a request for them was never answered. */
const mayStillLand = (error: unknown) =>
  error instanceof ConnectionError
    ? error.uncertain
    : !(error instanceof KafkaError || error instanceof Fenced || error instanceof LostPlace || error instanceof Realign)

import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster, PartitionLeader } from '../client/cluster.js'
import { untouchedEnd } from '../mirror/found.js'
import { most } from '../mirror/offsets.js'
import { Errors } from '../protocol/errors.js'
import { idsDiffer } from '../protocol/uuid.js'
import { type Alignment, decideAlignment, type LogPositions, seeWhatDiffers } from './alignment.js'
import { compareWithSource } from './compare-with-source.js'
import type { CopyStart } from './copy-session.js'
import { PartitionFailure, SourceGone } from './errors.js'
import { fastForward } from './fast-forward.js'
import type { PartitionContext } from './partition-context.js'
import { appendPosition, destinationLogStart, firstBatch, sourcePositions } from './positions.js'
import type { StatusBook } from './status-book.js'
import { checkNotTruncated } from './truncation.js'

const DELETED_LOOKS = 3
const DELETED_EVERY_MS = 500

/** Where a copy session starts and over which leaders it runs. */
export interface Aligned {
  readonly start: CopyStart
  readonly sourceLeader: PartitionLeader
  readonly destinationLeader: PartitionLeader
}

export interface AlignmentOptions {
  /** Whether to compare the destination's last records before trusting them: a foreign write may have gone unnoticed. */
  readonly compare: boolean
  /** Told of the destination's log end as a fast-forward moves it. */
  fastForwarded(logEndOffset: bigint): void
}

/**
 * Takes up a partition: reads both logs, checks identities, and does what {@link decideAlignment} says until the next
 * offset to copy is known. Throws PartitionFailure for verdicts; any other error means "try again".
 */
export async function alignPartition(context: PartitionContext, book: StatusBook, options: AlignmentOptions): Promise<Aligned> {
  const { topic, partition } = context
  await context.source().verify()
  for (;;) {
    const sourceLeader = await leader(context, 'source', context.spec().sourceTopicId)
    const destinationLeader = await leader(context, 'destination', book.status.destinationTopicId)
    const { producer, positions } = await readPositions(context, sourceLeader, destinationLeader)
    await checkIdentities(context, book, sourceLeader, destinationLeader, positions)
    const { status } = book
    const decision = decideAlignment({
      ...positions,
      mirror: context.mirror,
      topic,
      partition,
      everMirrored: status.sourceLeaderEpochs.length > 0,
      untouchedEnd: untouchedEnd(context.spec(), partition, status),
      fastForwardTarget: status.fastForward?.done === false ? status.fastForward.target : undefined,
      onGap: context.config().onGap,
      recordGap: context.recordGap(),
    })
    if (decision.kind === 'failed') throw new PartitionFailure(decision.reason)
    if (decision.kind === 'fast-forward') {
      await moveForward(context, book, destinationLeader, decision, options)
      continue
    }
    if (decision.kind === 'compare' || options.compare) {
      if (decision.kind === 'compare' && status.state !== 'FAILED') await book.update({ state: 'EPOCH_FENCING' })
      const from = most(positions.source.logStartOffset, positions.destination.logStartOffset)
      const ids = { source: sourceLeader.topicId, destination: destinationLeader.topicId }
      await compareWithSource(context, { ids, from, end: decision.from, own: decision.kind !== 'compare' })
    }
    const copied = { topic, partition, lastEpoch: epochBefore(book, decision.from), logEndOffset: decision.from }
    await checkNotTruncated(context.source().cluster, copied, sourceLeader.leaderEpoch)
    const from = { next: decision.from, fetch: most(decision.from, positions.source.logStartOffset) }
    const start = await copyStart(context, book, producer, sourceLeader, destinationLeader, from)
    return { start, sourceLeader, destinationLeader }
  }
}

interface Producer {
  readonly id: bigint
  readonly epoch: number
  readonly nextSequence: number
  /** False while the leader has no state of the producer: it would take any sequence then. */
  readonly known: boolean
}

/** The destination's log end, and the partition's producer as its leader remembers it at that point. */
async function appendPositionOf(
  context: PartitionContext,
  { leaderEpoch }: PartitionLeader,
): Promise<{ readonly logEndOffset: bigint; readonly producer: Producer }> {
  const { topic, partition, destination } = context
  const producer = context.spec().producers[partition]
  if (producer === undefined)
    throw new PartitionFailure(
      `partition ${partition} of ${topic} has no producer id: it is newer than the topic's addition. Add the topic again`,
    )
  const { logEndOffset, producer: state } = await appendPosition(destination.cluster, topic, partition, leaderEpoch, producer.id)
  if (state !== undefined && state.producerEpoch > producer.epoch) {
    throw new PartitionFailure(
      `${topic}-${partition} was failed over: producer epoch ${producer.epoch} of this mirror is fenced by ${state.producerEpoch}`,
    )
  }
  return { logEndOffset, producer: { ...producer, nextSequence: state?.nextSequence ?? 0, known: state !== undefined } }
}

/** Another topic than is expected may only be an old one that is remembered: it is asked for again before it is believed. */
async function leader(context: PartitionContext, side: 'source' | 'destination', topicId?: string): Promise<PartitionLeader> {
  const { topic, partition } = context
  const { cluster } = side === 'source' ? context.source() : context.destination
  const known = cluster.leaderOf(topic, partition)
  if (known === undefined || (topicId !== undefined && idsDiffer(known.topicId, topicId))) await cluster.refresh([topic])
  const found = cluster.leaderOf(topic, partition)
  if (found !== undefined) return found
  if (side === 'source' && (await isDeleted(cluster, topic))) {
    throw new SourceGone(
      `topic ${topic} was deleted on the source; its copy is kept as it is. To let others write to the copy: kafka-mirrors remove --mirror ${context.mirror} --topic ${topic}`,
    )
  }
  throw new Error(`${topic}-${partition} is unknown or has no leader`)
}

/** A broker that is just starting knows no topics: it has to say so again. */
async function isDeleted(cluster: Cluster, topic: string): Promise<boolean> {
  for (let look = 1; ; look++) {
    const errorCode = (await cluster.topics([topic])).get(topic)?.errorCode
    if (errorCode !== Errors.UNKNOWN_TOPIC_OR_PARTITION) return false
    if (look === DELETED_LOOKS) return true
    await sleep(DELETED_EVERY_MS)
  }
}

async function readPositions(
  context: PartitionContext,
  sourceLeader: PartitionLeader,
  destinationLeader: PartitionLeader,
): Promise<{ readonly positions: LogPositions; readonly producer: Producer }> {
  const { topic, partition } = context
  const { cluster } = context.destination
  const [logStartOffset, { logEndOffset, producer }] = await Promise.all([
    destinationLogStart(cluster, topic, partition, destinationLeader.leaderEpoch),
    appendPositionOf(context, destinationLeader),
  ])
  // After the destination: what an earlier owner still appends is on the source by then, and never seems ahead of it.
  const source = await sourcePositions(context.source().cluster, topic, partition, sourceLeader.leaderEpoch)
  const { logStartOffset: sourceStart } = source
  // Asked only where it matters: a source that starts above the destination's end, or an empty destination's first record.
  const id = { topic, partition, topicId: sourceLeader.topicId }
  const isAsked = logEndOffset < sourceStart || (logStartOffset === logEndOffset && sourceStart < source.highWatermark)
  const first = isAsked
    ? await firstBatch(context.source().cluster, id, sourceStart)
    : { firstOffset: sourceStart, firstRecordOffset: undefined }
  return { positions: { source: { ...source, ...first }, destination: { logStartOffset, logEndOffset } }, producer }
}

async function checkIdentities(
  context: PartitionContext,
  book: StatusBook,
  sourceLeader: PartitionLeader,
  destinationLeader: PartitionLeader,
  positions: LogPositions,
): Promise<void> {
  const { topic, partition } = context
  if (idsDiffer(sourceLeader.topicId, context.spec().sourceTopicId)) {
    throw new PartitionFailure(
      `topic ${topic} was deleted and created again on the source; what is copied here is the old one's. ${seeWhatDiffers(context)}`,
    )
  }
  if (!idsDiffer(destinationLeader.topicId, book.status.destinationTopicId)) return
  if (positions.destination.logEndOffset > 0n) {
    throw new PartitionFailure(
      `topic ${topic} was deleted and created again on the destination, and partition ${partition} holds data of its own up to offset ${positions.destination.logEndOffset}. ${seeWhatDiffers(context)}`,
    )
  }
  await context.prepareDestination()
  await book.update({
    destinationTopicId: destinationLeader.topicId,
    sourceLeaderEpochs: [],
    fastForward: undefined,
    state: 'LOG_ALIGNMENT',
  })
}

/** The target is on record before the first filler, so that an interrupted run is resumed and not taken for a gap. */
async function moveForward(
  context: PartitionContext,
  book: StatusBook,
  destinationLeader: PartitionLeader,
  decision: Extract<Alignment, { kind: 'fast-forward' }>,
  { fastForwarded }: AlignmentOptions,
): Promise<void> {
  const { topic, partition, destination } = context
  const { lost } = decision
  const lostRanges = lost === undefined ? book.status.lostRanges : [...book.status.lostRanges, { from: lost.from, to: lost.to - 1n }]
  await book.update({ state: 'LOG_ALIGNMENT', fastForward: { target: decision.target, done: false }, lostRanges })
  const release = await context.fastForwardSlots.acquire()
  try {
    // Read again: the slot may have been waited for.
    const { logEndOffset, producer } = await appendPositionOf(context, destinationLeader)
    const connection = await destination.cluster.dedicated(destinationLeader.brokerId, { clientId: `${context.owner}-fast-forward` })
    try {
      await fastForward(
        {
          connection,
          topic,
          topicId: destinationLeader.topicId,
          partition,
          producerId: producer.id,
          producerEpoch: producer.epoch,
          nextSequence: producer.nextSequence,
          producerKnown: producer.known,
          maxMessageBytes: await context.maxMessageBytes(),
          timestamp: BigInt(Date.now()),
          mayAppend: () => context.mayAppend() && !context.isReleased(),
          deleteRecords: (before) => context.deleteRecords(before),
          progress: fastForwarded,
        },
        logEndOffset,
        decision.target,
      )
    } finally {
      await connection.close()
    }
  } finally {
    release()
  }
  await book.update({ fastForward: { target: decision.target, done: true } })
}

async function copyStart(
  context: PartitionContext,
  book: StatusBook,
  producer: Producer,
  sourceLeader: PartitionLeader,
  destinationLeader: PartitionLeader,
  from: { readonly next: bigint; readonly fetch: bigint },
): Promise<CopyStart> {
  const { topic, partition } = context
  return {
    topic,
    partition,
    sourceTopicId: sourceLeader.topicId,
    destinationTopicId: destinationLeader.topicId,
    sourceLeaderEpoch: sourceLeader.leaderEpoch,
    from: from.next,
    fetchFrom: from.fetch,
    lastEpoch: epochBefore(book, from.next),
    everMirrored: book.status.sourceLeaderEpochs.length > 0,
    producerId: producer.id,
    producerEpoch: producer.epoch,
    nextSequence: producer.nextSequence,
    producerKnown: producer.known,
    maxMessageBytes: await context.maxMessageBytes(),
  }
}

/** The source leader epoch of the record before `offset`, −1 when it is not known. */
function epochBefore(book: StatusBook, offset: bigint): number {
  return book.status.sourceLeaderEpochs.reduce((epoch, start) => (start.startOffset < offset ? Math.max(epoch, start.epoch) : epoch), -1)
}

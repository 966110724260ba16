import type { AppendAnswer } from './append-answers.js'

/** Why a copy session is over. The partition's life cycle decides what comes next. */
export type CopyEnd =
  /** Asked to stop: everything read was appended. */
  | { readonly kind: 'drained' }
  /** Read both logs again and go on. */
  | { readonly kind: 'realign'; readonly reason: string }
  /** Leaders or topics have moved: fresh metadata, then align. */
  | { readonly kind: 'moved'; readonly side: 'source' | 'destination'; readonly reason: string }
  /** Out of reach, throttled, unauthorised: the state is kept, retried with back-off. */
  | { readonly kind: 'retry'; readonly reason: string; readonly unreachable?: 'source' | 'destination' | 'both' | undefined }
  | { readonly kind: 'fenced'; readonly reason: string }
  /** The topic was deleted on the source. */
  | { readonly kind: 'source-gone'; readonly reason: string }
  /** A batch of `size` bytes is more than the destination takes: to be split if its limit has been lowered, else a verdict. */
  | { readonly kind: 'too-large'; readonly reason: string; readonly size: number }
  /** A verdict about data or configuration. */
  | { readonly kind: 'failed'; readonly reason: string }

/** One partition's part of a Fetch answer. */
export interface FetchedPartition {
  readonly records: Buffer
  readonly highWatermark: bigint
  readonly lastStableOffset: bigint
  readonly logStartOffset: bigint
  readonly abortedTransactions: ReadonlyArray<{ readonly producerId: bigint; readonly firstOffset: bigint }>
}

/** What a session needs from outside, all of it for this partition. */
export interface CopyPorts {
  /** Puts `count` invisible control records at the log end and returns once they are surely there. */
  fill(baseOffset: bigint, count: number): Promise<void>
  /** Resolves when the source leader epoch is on record (acks=all). */
  recordEpoch(epoch: number, startOffset: bigint): Promise<void>
  /** The lane should look at this partition again. */
  ready(): void
  /** Where the source's log starts, with every answer. */
  logStartMoved(offset: bigint): void
  /** Something landed, or there is nothing to copy: whatever was wrong before is over. */
  worked(): void
  /** Turns whatever a port throws into an end. */
  classify(error: unknown): CopyEnd
}

export interface CopyStart {
  readonly topic: string
  readonly partition: number
  readonly sourceTopicId: string
  readonly destinationTopicId: string
  readonly sourceLeaderEpoch: number
  /** The destination's log end: the first offset to copy. */
  readonly from: bigint
  /** First offset to ask the source for: above `from` where the source's log starts inside the batch that holds `from`. */
  readonly fetchFrom: bigint
  /** Source leader epoch of the last copied batch, −1 when unknown. */
  readonly lastEpoch: number
  /** Whether any leader epoch is on record, and with it that this mirror has copied into the partition. */
  readonly everMirrored: boolean
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly nextSequence: number
  /** False while the destination's leader has no state of the producer: it would take any sequence then. */
  readonly producerKnown: boolean
  readonly maxMessageBytes: number
}

export interface CopyCounters {
  bytes: number
  records: number
  /** Batches that had to be opened and encoded anew. */
  rewritten: number
}

/** What an answer other than `landed` to a batch of `size` bytes makes of the session. */
export const ENDS: Readonly<Record<Exclude<AppendAnswer, 'landed'>, (words: string, size: number) => CopyEnd>> = {
  realign: (words) => ({ kind: 'realign', reason: words }),
  moved: (words) => ({ kind: 'moved', side: 'destination', reason: words }),
  fenced: (words) => ({ kind: 'fenced', reason: words }),
  refused: (words) => ({ kind: 'failed', reason: `the destination refuses a batch: ${words}` }),
  'too-large': (words, size) => ({ kind: 'too-large', reason: `the destination refuses a batch: ${words}`, size }),
  retry: (words) => ({ kind: 'retry', reason: words }),
}

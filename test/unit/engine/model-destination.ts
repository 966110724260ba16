import { scanBatches } from '../../../src/records/index.js'
import { decodeRecords } from '../../../src/records/record-codec.js'

/** A source batch, a marker, or a hole that compaction left. */
export interface SourceEntry {
  readonly kind: 'data' | 'control' | 'hole'
  readonly baseOffset: bigint
  readonly count: number
  readonly leaderEpoch: number
  readonly bytes: Buffer | undefined
}

/** What a source entry must have become on the destination, offset by offset. */
export const expectedLog = (entries: readonly SourceEntry[]): string[] =>
  entries.flatMap(({ kind, baseOffset, count }) =>
    Array.from({ length: count }, (_, i) => (kind === 'data' ? `record ${baseOffset}+${i}` : 'invisible')),
  )

/** Timestamps carry the source offset, so that a patched batch still says what it is. */
export const TIMESTAMP_ORIGIN = 1_700_000_000_000n

/** Which source records a batch holds. Several source batches may have become one: each record carries its own's time. */
function labelsOf(batch: Buffer, count: number): string[] {
  const compressed = (batch.readInt16BE(21) & 7) !== 0
  const times = compressed
    ? Array.from({ length: count }, () => batch.readBigInt64BE(27))
    : [...scanBatches(batch)].flatMap((one) => [...decodeRecords(one)].map(({ timestamp }) => timestamp))
  return times.map((time, i) => `record ${time - TIMESTAMP_ORIGIN}+${i - times.indexOf(time)}`)
}

/** A destination leader's log and its memory of one producer, as `ProducerAppendInfo` checks it. */
export class ModelDestination {
  readonly log: string[] = []
  private lastSequence: number | undefined
  private readonly recent: Array<{ sequence: number; count: number; baseOffset: bigint }> = []

  get logEndOffset(): bigint {
    return BigInt(this.log.length)
  }

  /** As DescribeProducers gives it. */
  get producer(): { readonly nextSequence: number } | undefined {
    return this.lastSequence === undefined ? undefined : { nextSequence: this.lastSequence + 1 }
  }

  append(batch: Buffer): { errorCode: number; baseOffset: bigint } {
    if (batch.readBigInt64BE(0) !== 0n) return { errorCode: 87, baseOffset: -1n }
    const [sequence, count] = [batch.readInt32BE(53), batch.readInt32BE(57)]
    const known = this.recent.find((one) => one.sequence === sequence && one.count === count)
    if (known !== undefined) return { errorCode: 0, baseOffset: known.baseOffset }
    if (this.lastSequence !== undefined && sequence !== this.lastSequence + 1) return { errorCode: 45, baseOffset: -1n }
    const baseOffset = this.logEndOffset
    this.log.push(...labelsOf(batch, count))
    this.lastSequence = sequence + count - 1
    this.recent.push({ sequence, count, baseOffset })
    if (this.recent.length > 5) this.recent.shift()
    return { errorCode: 0, baseOffset }
  }

  mark(count: number): void {
    for (let i = 0; i < count; i++) this.log.push('invisible')
    this.lastSequence ??= -1
  }

  /** Somebody else's record. */
  foreign(): void {
    this.log.push('foreign')
  }
}

import type { MirrorConfig } from '../mirror/config.js'

/** What both logs say about one partition, read just now. */
export interface LogPositions {
  readonly source: {
    readonly logStartOffset: bigint
    /** First offset the source can still give: its log start may lie inside a batch, which is given whole. */
    readonly firstOffset: bigint
    /** Base offset of the first batch the source still has, however far above its log start; undefined where it was not asked for. */
    readonly firstRecordOffset?: bigint | undefined
    readonly lastStableOffset: bigint
    readonly highWatermark: bigint
  }
  readonly destination: { readonly logStartOffset: bigint; readonly logEndOffset: bigint }
}

export interface AlignmentFacts extends LogPositions {
  readonly mirror: string
  readonly topic: string
  readonly partition: number
  /** True once this mirror has appended to the destination's partition. */
  readonly everMirrored: boolean
  /** Where the destination ended when the topic was added, while this mirror has not moved its end. */
  readonly untouchedEnd: bigint | undefined
  /** Target of a fast-forward that was begun, from the status. */
  readonly fastForwardTarget: bigint | undefined
  readonly onGap: MirrorConfig['onGap']
  /** The one gap that an operator wants recorded: from the first offset wanted up to the first one available. */
  readonly recordGap?: { readonly from: bigint; readonly to: bigint } | undefined
}

/** The next thing to do with a partition. */
export type Alignment =
  /** The destination's log end is the next offset to copy. */
  | { readonly kind: 'copy'; readonly from: bigint }
  /** Nothing below `target` is left on the source: move the destination's log end there. `lost` is what retention took. */
  | { readonly kind: 'fast-forward'; readonly target: bigint; readonly lost?: { readonly from: bigint; readonly to: bigint } }
  /** The destination holds data this mirror did not put there: compare it before trusting it. */
  | { readonly kind: 'compare'; readonly from: bigint }
  | { readonly kind: 'failed'; readonly reason: string }

interface Row {
  readonly name: string
  when(f: AlignmentFacts): boolean
  decide(f: AlignmentFacts): Alignment
}

/** A hole before the first record is worth a fast-forward above this: below it markers are as quick, and the log starts stay equal. */
const LARGE_HOLE = 5_000n

const where = (f: AlignmentFacts) => `${f.topic}-${f.partition}`
const isEmpty = (f: AlignmentFacts) => f.destination.logStartOffset === f.destination.logEndOffset
const isGap = (f: AlignmentFacts) => f.destination.logEndOffset < f.source.firstOffset

/** Where an empty destination's log has to end: nothing below is left on the source. */
function firstGoal({ source, destination }: AlignmentFacts): bigint {
  const { firstOffset, firstRecordOffset, lastStableOffset } = source
  if (firstRecordOffset === undefined || firstRecordOffset > lastStableOffset) return firstOffset
  const isFar = (from: bigint) => firstRecordOffset - from > LARGE_HOLE
  return isFar(firstOffset) && isFar(destination.logEndOffset) ? firstRecordOffset : firstOffset
}

/** Whether a gap may be passed over: all are, or exactly this one. */
const isRecorded = ({ onGap, recordGap, source, destination }: AlignmentFacts) =>
  onGap === 'record' || (recordGap !== undefined && recordGap.from <= destination.logEndOffset && source.firstOffset <= recordGap.to)

function gapReason(f: AlignmentFacts): string {
  const [wanted, available] = [f.destination.logEndOffset, f.source.firstOffset]
  const outgrown =
    f.recordGap === undefined
      ? ''
      : ` (the gap to be recorded was from ${f.recordGap.from} to ${f.recordGap.to - 1n}, which is not this one)`
  return `${where(f)}: offset ${wanted} is wanted, the source starts at ${available}: offsets ${wanted} to ${available - 1n} (${available - wanted}) are lost${outgrown}. To go on without them: ${recoverCommand(f, '--on-gap record')}`
}

/** First match wins. The log is the checkpoint: every row starts from the destination's log end. */
export const ALIGNMENT: readonly Row[] = [
  {
    name: 'fast-forward was interrupted',
    // At its target too: the filler may still have to be deleted, or consumers would see it.
    when: (f) => f.fastForwardTarget !== undefined && f.destination.logStartOffset < f.fastForwardTarget,
    decide: (f) => ({ kind: 'fast-forward', target: f.fastForwardTarget! }),
  },
  {
    name: 'first time, source starts above an empty destination',
    when: (f) => !f.everMirrored && isEmpty(f) && f.destination.logEndOffset < firstGoal(f),
    decide: (f) => ({ kind: 'fast-forward', target: firstGoal(f) }),
  },
  {
    name: 'destination is ahead of the source',
    when: (f) => f.destination.logEndOffset > f.source.highWatermark,
    decide: (f) => ({
      kind: 'failed',
      reason: `${where(f)} ends at offset ${f.destination.logEndOffset} on the destination but at ${f.source.highWatermark} on the source: the source was truncated, or something else wrote to the destination. ${seeWhatDiffers(f)}`,
    }),
  },
  {
    name: 'retention overtook the mirror, gaps are recorded',
    when: (f) => isGap(f) && isRecorded(f),
    decide: (f) => ({
      kind: 'fast-forward',
      target: f.source.firstOffset,
      lost: { from: f.destination.logEndOffset, to: f.source.firstOffset },
    }),
  },
  { name: 'retention overtook the mirror', when: isGap, decide: (f) => ({ kind: 'failed', reason: gapReason(f) }) },
  {
    name: 'written to since it was added',
    // Comparing may not tell: of a compacted topic the source may not have anything there any more.
    when: (f) => f.untouchedEnd !== undefined && f.destination.logEndOffset > f.untouchedEnd,
    decide: (f) => ({
      kind: 'failed',
      reason: `${where(f)} ends at offset ${f.destination.logEndOffset} on the destination but ended at ${f.untouchedEnd} when it was added: something else wrote to it. ${seeWhatDiffers(f)}`,
    }),
  },
  {
    name: 'data from before this mirror',
    when: (f) => !f.everMirrored && !isEmpty(f) && f.fastForwardTarget === undefined,
    decide: (f) => ({ kind: 'compare', from: f.destination.logEndOffset }),
  },
  { name: 'go on', when: () => true, decide: (f) => ({ kind: 'copy', from: f.destination.logEndOffset }) },
]

export const decideAlignment = (facts: AlignmentFacts): Alignment => ALIGNMENT.find((row) => row.when(facts))!.decide(facts)

interface Failed {
  readonly mirror: string
  readonly topic: string
  readonly partition: number
}

/** What to type about a partition that a verdict was passed on. */
export const recoverCommand = ({ mirror, topic, partition }: Failed, option: string): string =>
  `kafka-mirrors recover --mirror ${mirror} --topic ${topic} --partition ${partition} ${option}`

/** Where both logs differ only the operator decides; first he should see what there is. Whole topics are copied again. */
export const seeWhatDiffers = ({ mirror, topic }: Omit<Failed, 'partition'>): string =>
  `See what differs: kafka-mirrors recover --mirror ${mirror} --topic ${topic} --dry-run; to copy the topic again: --on-divergence reseed`

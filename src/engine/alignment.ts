import type { MirrorConfig } from '../mirror/config.js'

/** What both logs say about one partition, read just now. */
export interface LogPositions {
  readonly source: {
    readonly logStartOffset: bigint
    /** First offset the source can still give: its log start may lie inside a batch, which is given whole. */
    readonly firstOffset: bigint
    readonly lastStableOffset: bigint
    readonly highWatermark: bigint
  }
  readonly destination: { readonly logStartOffset: bigint; readonly logEndOffset: bigint }
}

export interface AlignmentFacts extends LogPositions {
  readonly topic: string
  readonly partition: number
  /** True once this mirror has appended to the destination's partition. */
  readonly everMirrored: boolean
  /** Target of a fast-forward that was begun, from the status. */
  readonly fastForwardTarget: bigint | undefined
  readonly onGap: MirrorConfig['onGap']
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

const where = (f: AlignmentFacts) => `${f.topic}-${f.partition}`
const isEmpty = (f: AlignmentFacts) => f.destination.logStartOffset === f.destination.logEndOffset

/** First match wins. The log is the checkpoint: every row starts from the destination's log end. */
export const ALIGNMENT: readonly Row[] = [
  {
    name: 'fast-forward was interrupted',
    when: (f) => f.fastForwardTarget !== undefined && f.destination.logEndOffset < f.fastForwardTarget,
    decide: (f) => ({ kind: 'fast-forward', target: f.fastForwardTarget! }),
  },
  {
    name: 'first time, source starts above an empty destination',
    when: (f) => !f.everMirrored && isEmpty(f) && f.destination.logEndOffset < f.source.firstOffset,
    decide: (f) => ({ kind: 'fast-forward', target: f.source.firstOffset }),
  },
  {
    name: 'destination is ahead of the source',
    when: (f) => f.destination.logEndOffset > f.source.highWatermark,
    decide: (f) => ({
      kind: 'failed',
      reason: `${where(f)} ends at offset ${f.destination.logEndOffset} on the destination but at ${f.source.highWatermark} on the source: the source was truncated, or something else wrote to the destination`,
    }),
  },
  {
    name: 'retention overtook the mirror, gaps are recorded',
    when: (f) => f.destination.logEndOffset < f.source.firstOffset && f.onGap === 'record',
    decide: (f) => ({
      kind: 'fast-forward',
      target: f.source.firstOffset,
      lost: { from: f.destination.logEndOffset, to: f.source.firstOffset },
    }),
  },
  {
    name: 'retention overtook the mirror',
    when: (f) => f.destination.logEndOffset < f.source.firstOffset,
    decide: (f) => ({
      kind: 'failed',
      reason: `${where(f)}: offset ${f.destination.logEndOffset} is wanted, the source starts at ${f.source.firstOffset}: ${f.source.firstOffset - f.destination.logEndOffset} offsets are lost. Set mirror.on.gap=record to go on without them`,
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

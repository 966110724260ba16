/** What to do at the destination's log end, in order. Steps follow each other without gap or overlap. */
export type Step = AppendStep | FillStep | RefuseStep

export interface AppendStep {
  readonly kind: 'append'
  /** A dense v2 batch, not patched yet, or several small ones back to back, which must be merged or parted before they are sent. */
  readonly bytes: Buffer
  /** How many batches `bytes` holds. */
  readonly batches: number
  /** True where `bytes` is memory of its own (the slow path: opened and encoded anew), false for a view into the fetched bytes. */
  readonly rewritten: boolean
  readonly baseOffset: bigint
  readonly count: number
  readonly size: number
  readonly leaderEpoch: number
}

export interface FillStep {
  readonly kind: 'fill'
  readonly baseOffset: bigint
  readonly count: number
  readonly leaderEpoch: number
  readonly why: FillReason
}

/** The partition can't go on. */
export interface RefuseStep {
  readonly kind: 'refuse'
  readonly baseOffset: bigint
  /** A sentence that names offsets and, where the operator can do something, what. */
  readonly reason: string
}

export type FillReason = 'control' | 'aborted' | 'hollow' | 'hole'

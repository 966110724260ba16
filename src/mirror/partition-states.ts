/** The states of KIP-1279. */
export type PartitionState = 'LOG_ALIGNMENT' | 'EPOCH_FENCING' | 'MIRRORING' | 'PAUSING' | 'PAUSED' | 'STOPPING' | 'STOPPED' | 'FAILED'

interface StateDefinition {
  /** States that may follow. */
  readonly next: readonly PartitionState[]
  readonly doc: string
}

/** The state machine of one mirrored partition. A new owner starts over at LOG_ALIGNMENT whatever the last status says. */
export const PARTITION_STATES: Readonly<Record<PartitionState, StateDefinition>> = {
  LOG_ALIGNMENT: {
    next: ['EPOCH_FENCING', 'MIRRORING', 'PAUSING', 'STOPPING', 'FAILED'],
    doc: 'Comparing both logs’ bounds and identities; filling up to the source’s log start.',
  },
  EPOCH_FENCING: { next: ['LOG_ALIGNMENT', 'MIRRORING', 'PAUSING', 'STOPPING', 'FAILED'], doc: 'Comparing the tails of both logs.' },
  MIRRORING: { next: ['LOG_ALIGNMENT', 'EPOCH_FENCING', 'PAUSING', 'STOPPING', 'FAILED'], doc: 'Copying.' },
  PAUSING: { next: ['PAUSED', 'STOPPING', 'FAILED'], doc: 'Appending what was read, then pausing.' },
  PAUSED: { next: ['LOG_ALIGNMENT', 'STOPPING'], doc: 'Not copying until resumed.' },
  STOPPING: { next: ['STOPPED', 'FAILED'], doc: 'Appending what was read, then letting go.' },
  STOPPED: { next: ['LOG_ALIGNMENT'], doc: 'Removed from the mirror: the topic is writable.' },
  FAILED: {
    next: ['LOG_ALIGNMENT', 'EPOCH_FENCING', 'MIRRORING', 'PAUSING', 'STOPPING'],
    doc: 'The data or the configuration does not allow going on; the error says why.',
  },
}

export const isPartitionState = (text: unknown): text is PartitionState => typeof text === 'string' && Object.hasOwn(PARTITION_STATES, text)

export const mayFollow = (from: PartitionState, to: PartitionState): boolean => from === to || PARTITION_STATES[from].next.includes(to)

import type { PartitionSnapshot, RunnerSnapshot } from '../../../src/engine/events.js'

export const partition = (given: Partial<PartitionSnapshot> = {}): PartitionSnapshot => ({
  mirror: 'm',
  topic: 'orders',
  partition: 0,
  state: 'MIRRORING',
  bytes: 1000,
  records: 10,
  rewrittenBatches: 2,
  lostOffsets: 0n,
  retries: 1,
  sourceHighWatermark: 30n,
  lastStableOffset: 30n,
  logEndOffset: 25n,
  error: undefined,
  since: 0,
  ...given,
})

export const runner = (partitions: readonly PartitionSnapshot[], given: Partial<RunnerSnapshot> = {}): RunnerSnapshot => ({
  alive: true,
  memberId: 'a',
  ownedShards: 3,
  bufferedBytes: 7,
  partitions,
  ...given,
})

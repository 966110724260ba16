import { expect, test } from 'vitest'
import { droppedWarning } from '../../../src/service/recovery/dropped.js'

const ID = '00000000-0000-0000-0000-00000000000a'

/** A partition by its log bounds. */
const looked = (sourceStart: bigint, destinationStart: bigint, destinationEnd: bigint, differsFrom?: bigint) => ({
  source: { topicId: ID, logStartOffset: sourceStart, firstOffset: sourceStart, lastStableOffset: 200n, highWatermark: 200n },
  destination: { topicId: ID, logStartOffset: destinationStart, logEndOffset: destinationEnd },
  differsFrom,
})

test('what a reseed loses is what lies below the source’s log start, unless all is kept', () => {
  expect(
    droppedWarning(
      'orders',
      new Map([
        [0, looked(10n, 0n, 100n)],
        [1, looked(10n, 4n, 100n, 50n)],
        [2, looked(10n, 10n, 100n, 50n)],
        [3, looked(10n, 0n, 100n, 0n)],
        [4, looked(150n, 0n, 100n)],
      ]),
    ),
  ).toBe(
    "topic orders: 16 offset(s) below the source's log start are neither copied again nor kept: 0 to 9 of partition 0, 4 to 9 of partition 1",
  )
  expect(droppedWarning('orders', new Map([[0, looked(0n, 0n, 100n, 50n)]]))).toBeUndefined()
  const many = new Map([0, 1, 2, 3, 4].map((partition) => [partition, looked(1n, 0n, 100n)]))
  expect(droppedWarning('orders', many)).toMatch(/: 0 to 0 of partition 0, 0 to 0 of partition 1, 0 to 0 of partition 2 and of 2 more$/)
})

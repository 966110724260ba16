import { expect, it } from 'vitest'
import { translate } from '../../../src/records/index.js'
import { batch, controlBatch } from '../../support/batches.js'

const ABORT = 0
const COMMIT = 1
const plain = (baseOffset: bigint) => batch({ baseOffset, records: 2 })
const data = (baseOffset: bigint, producerId: bigint) => batch({ baseOffset, records: 2, attributes: 0x10, producerId })
const hollow = (baseOffset: bigint, producerId: bigint) =>
  batch({ baseOffset, deltas: [], lastOffsetDelta: 1, attributes: 0x10, producerId })

/** Where the steps end. */
function endOf(batches: readonly Buffer[], nextOffset = 0n, aborted: bigint[] = []): bigint {
  const abortedTransactions = aborted.map((producerId) => ({ producerId, firstOffset: 0n }))
  const steps = translate(Buffer.concat(batches), { nextOffset, abortedTransactions, maxMessageBytes: 1_000_000 })
  return steps.reduce((next, step) => (step.kind === 'refuse' ? next : next + BigInt(step.count)), nextOffset)
}

it.each([
  ['goes to the end when every transaction is whole', [plain(0n), data(2n, 1n), controlBatch(4n, 1n, COMMIT), plain(5n)], 7n],
  ['ends before a transaction whose end is not there', [plain(0n), data(2n, 1n), plain(4n)], 2n],
  ['ends before the first of several that overlap', [plain(0n), data(2n, 1n), data(4n, 2n), controlBatch(6n, 1n, COMMIT)], 2n],
  ['ends between two', [data(0n, 1n), controlBatch(2n, 1n, COMMIT), data(3n, 1n)], 3n],
  ['takes what is half-read if nothing is before it', [data(0n, 1n), plain(2n), data(4n, 1n)], 6n],
  ['begins a transaction where its first record is, not at a batch that compaction emptied', [hollow(0n, 1n), data(2n, 1n)], 2n],
])('a fetched set %s', (_, batches, end) => {
  expect(endOf(batches)).toBe(end)
})

it('waits for no end of an aborted transaction', () => {
  expect(endOf([plain(0n), data(2n, 1n), plain(4n)], 0n, [1n])).toBe(6n)
  expect(endOf([plain(0n), data(2n, 1n), controlBatch(4n, 1n, ABORT), data(5n, 1n)], 0n, [1n])).toBe(5n)
})

it('takes a transaction that was begun below, wherever it ends', () => {
  expect(endOf([data(0n, 1n), plain(2n), data(4n, 1n)], 1n)).toBe(6n)
})

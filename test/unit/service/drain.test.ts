import { expect, test } from 'vitest'
import { whyOpen } from '../../../src/service/drain.js'

const T = { topic: 't', partition: 0 }
const at = (offset: bigint | undefined) => new Map(offset === undefined ? [] : [['t/0', offset]])

/** A look at one partition: source end, last stable offset, destination end, and the source end of the look before. */
const why = (end?: bigint, stable?: bigint, here?: bigint, before?: bigint) =>
  whyOpen(T, { ends: at(end), stable: at(stable), here: at(here) }, at(before))

test('a partition is drained when both sides end at the same place and the source stood still for two looks', () => {
  expect(why(7n, 7n, 7n, 7n)).toBeUndefined()
  expect(why(0n, 0n, 0n, 0n)).toBeUndefined()
})

test.each<[because: string, look: (bigint | undefined)[]]>([
  ['was looked at only once', [7n, 7n, 7n]],
  ['is still written to on the source, from offset 5 to 7', [7n, 7n, 7n, 5n]],
  ['is still written to on the source, from offset 9 to 7', [7n, 7n, 7n, 9n]],
  ['waits on the source for the transaction open since offset 4', [7n, 4n, 4n, 7n]],
  ['lacks 2 offset(s)', [7n, 7n, 5n, 7n]],
  ['is 1 offset(s) ahead of the source', [7n, 7n, 8n, 7n]],
  ['is not told about by the source', [undefined, undefined, 7n, 7n]],
  ['is not told about by the source', [7n, undefined, 7n, 7n]],
  ['has no leader on the destination', [7n, 7n, undefined, 7n]],
])('it %s', (because, look) => expect(why(...look)).toBe(because))

import { describe, expect, it } from 'vitest'
import type { Cluster } from '../../../src/client/cluster.js'
import { COMPARED_AT_ONCE } from '../../../src/engine/compare-tails.js'
import { compareWithSource } from '../../../src/engine/compare-with-source.js'
import { PartitionFailure, Realign } from '../../../src/engine/errors.js'
import type { PartitionContext } from '../../../src/engine/partition-context.js'
import { Slots } from '../../../src/engine/slots.js'
import { NO_UUID } from '../../../src/protocol/schema.js'
import { writeBatch } from '../../support/batch-writer.js'

const keyed = (offset: bigint) =>
  writeBatch({
    baseOffset: offset,
    lastOffsetDelta: 0,
    records: [[0, { timestamp: 1n, key: Buffer.from('k'), value: Buffer.from('v'), headers: [] }]],
  })

/** A source of two records of one key and a destination that has the last of them. */
function setUp({
  held = {} as Record<string, string | null>,
  policy = undefined as string | undefined,
  released = (): boolean => false,
} = {}) {
  const seen = { atOnce: 0, most: 0, asked: 0 }
  const clusterOf = (records: Buffer) =>
    ({
      leader: async () => {
        seen.most = Math.max(seen.most, ++seen.atOnce)
        await new Promise((resolve) => setImmediate(resolve))
        seen.atOnce--
        return { errorCode: 0, responses: [{ partitions: [{ errorCode: 0, records, abortedTransactions: null }] }] }
      },
      any: async () => {
        seen.asked++
        const configs =
          policy === undefined ? [] : [{ name: 'cleanup.policy', value: policy, configSource: 5, isDefault: true, synonyms: [] }]
        const errorCode = policy === undefined ? 29 : 0
        return { results: [{ errorCode, errorMessage: null, resourceType: 2, resourceName: 't', configs }] }
      },
    }) as unknown as Cluster
  const source = clusterOf(Buffer.concat([keyed(0n), keyed(1n)]))
  const context = {
    mirror: 'm',
    topic: 't',
    partition: 0,
    compareSlots: new Slots(COMPARED_AT_ONCE),
    destination: { cluster: clusterOf(keyed(1n)) },
    source: () => ({ cluster: source }),
    spec: () => ({ held }),
    isReleased: released,
  } as unknown as PartitionContext
  const compare = (own = false) => compareWithSource(context, { ids: { source: NO_UUID, destination: NO_UUID }, from: 0n, end: 2n, own })
  return { compare, seen }
}

describe('comparing what somebody else may have put there', () => {
  it('takes a record for superseded only where a side is or was compacted', async () => {
    await setUp({ held: { 'cleanup.policy': 'compact' } }).compare()
    await setUp({ policy: 'compact,delete' }).compare()
    await expect(setUp({ policy: 'delete', held: { 'cleanup.policy': null } }).compare()).rejects.toThrow(PartitionFailure)
    // Without the right to ask the source, what is held decides.
    await expect(setUp().compare()).rejects.toThrow(/has a record at offset 0, the destination has none\. .*recover/)
  })

  it('asks for no policy where the data is our own', async () => {
    const { compare, seen } = setUp()
    await compare(true)
    expect(seen.asked).toBe(0)
  })

  it('is done for few partitions at once, and for none that was let go while it waited', async () => {
    let released = false
    const { compare, seen } = setUp({ released: () => released })
    const first = Array.from({ length: 3 * COMPARED_AT_ONCE }, () => compare(true))
    await Promise.all(first)
    expect(seen.most).toBe(2 * COMPARED_AT_ONCE)
    const second = Array.from({ length: 2 * COMPARED_AT_ONCE }, () => compare(true))
    await new Promise((resolve) => setImmediate(resolve))
    released = true
    const outcomes = await Promise.allSettled(second)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(COMPARED_AT_ONCE)
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(Realign)
  })
})

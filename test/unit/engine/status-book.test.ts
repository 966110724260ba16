import { describe, expect, it } from 'vitest'
import { StatusBook } from '../../../src/engine/status-book.js'
import type { PartitionStatus } from '../../../src/mirror/state.js'
import { decodeValue, encodeValue } from '../../../src/mirror/state-values.js'

const OLD_ID = '00000000-0000-0000-0000-0000000000b0'
const NEW_ID = '00000000-0000-0000-0000-0000000000b1'

function setUp(last?: Partial<PartitionStatus>) {
  const identity = { ownerEpoch: 4, owner: 'runner-1', addedAt: 100, destinationTopicId: NEW_ID }
  const clock = { now: 1_000 }
  const written: PartitionStatus[] = []
  const broken = { now: false }
  const left: PartitionStatus | undefined = last && {
    ownerEpoch: 3,
    owner: 'runner-0',
    addedAt: 100,
    destinationTopicId: OLD_ID,
    state: 'MIRRORING',
    since: 500,
    sourceLeaderEpochs: [{ epoch: 7, startOffset: 0n }],
    fillMode: 'markers',
    lostRanges: [{ from: 1n, to: 2n }],
    fastForward: { target: 90n, done: false },
    ...last,
  }
  const write = async (status: PartitionStatus) => {
    if (broken.now) throw new Error('no replicas')
    written.push(decodeValue('status', encodeValue('status', status)))
  }
  return {
    book: new StatusBook(
      left,
      () => ({ ...identity }),
      write,
      () => clock.now,
    ),
    identity,
    clock,
    written,
    broken,
  }
}

describe('the book of a partition’s status', () => {
  it('starts from what the last owner left, as a new owner at alignment', () => {
    const { book } = setUp({})
    expect(book.status).toMatchObject({
      ownerEpoch: 4,
      owner: 'runner-1',
      state: 'LOG_ALIGNMENT',
      since: 1_000,
      destinationTopicId: OLD_ID,
      sourceLeaderEpochs: [{ epoch: 7, startOffset: 0n }],
      fastForward: { target: 90n, done: false },
      lostRanges: [{ from: 1n, to: 2n }],
    })
  })

  it('knows nothing of an earlier addition of the topic', () => {
    const { book } = setUp({ addedAt: 99 })
    expect(book.status).toMatchObject({ addedAt: 100, destinationTopicId: NEW_ID, sourceLeaderEpochs: [], lostRanges: [] })
    expect(book.status.fastForward).toBeUndefined()
  })

  it('forgets where the last owner let go: the partition is at work again', () => {
    expect(setUp({ state: 'STOPPED', stoppedAt: 55n }).book.status.stoppedAt).toBeUndefined()
  })

  it('moves "since" with the state only, and writes whole statuses under the owner epoch of the moment', async () => {
    const { book, clock, identity, written } = setUp({})
    clock.now = 2_000
    await book.update({ state: 'MIRRORING' })
    clock.now = 3_000
    identity.ownerEpoch = 5
    await book.update({ state: 'MIRRORING', error: { message: 'x', retries: 1, at: 3_000 } })
    clock.now = 4_000
    await book.update({ lostRanges: [] })
    expect(
      written.map(({ ownerEpoch, state, since, error, lostRanges }) => ({
        ownerEpoch,
        state,
        since,
        error: error?.message,
        lost: lostRanges.length,
      })),
    ).toEqual([
      { ownerEpoch: 4, state: 'MIRRORING', since: 2_000, error: undefined, lost: 1 },
      { ownerEpoch: 5, state: 'MIRRORING', since: 2_000, error: 'x', lost: 1 },
      { ownerEpoch: 5, state: 'MIRRORING', since: 2_000, error: 'x', lost: 0 },
    ])
  })

  it('keeps both of two changes that overlap', async () => {
    const { book, written } = setUp({})
    await Promise.all([book.update({ sourceLeaderEpochs: [{ epoch: 9, startOffset: 20n }] }), book.update({ state: 'MIRRORING' })])
    expect(written.at(-1)).toMatchObject({ state: 'MIRRORING', sourceLeaderEpochs: [{ epoch: 9, startOffset: 20n }] })
  })

  it('believes only what is on record', async () => {
    const { book, broken } = setUp({})
    broken.now = true
    await expect(book.update({ sourceLeaderEpochs: [{ epoch: 8, startOffset: 10n }] })).rejects.toThrow('no replicas')
    expect(book.status.sourceLeaderEpochs).toEqual([{ epoch: 7, startOffset: 0n }])
    broken.now = false
    await book.update({ state: 'MIRRORING' })
    expect(book.status.sourceLeaderEpochs).toEqual([{ epoch: 7, startOffset: 0n }])
  })
})

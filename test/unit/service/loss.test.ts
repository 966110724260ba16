import { expect, test } from 'vitest'
import { MirrorState } from '../../../src/mirror/fold.js'
import { mustExist, put } from '../../../src/mirror/spec-store.js'
import { lossOf, lossSentence } from '../../../src/service/loss.js'

const topic = {
  desired: 'STOPPING',
  sourceTopicId: 's',
  destinationTopicId: 'd',
  partitions: 2,
  producers: [],
  held: {},
  addedAt: 7,
} as const
const status = (addedAt: number, offset: bigint) =>
  ({
    ownerEpoch: 1,
    addedAt,
    destinationTopicId: 'd',
    owner: 'o',
    state: 'MIRRORING',
    since: 1,
    sourceLeaderEpochs: [],
    fillMode: 'markers',
    lostRanges: [],
    sourceEnd: { offset, at: Date.UTC(2026, 0, 1) },
  }) as const
const mirror = mustExist(
  MirrorState.of([
    put({ kind: 'mirror', mirror: 'm' }, { sourceClusterId: 'c', createdAt: 1 }),
    put({ kind: 'topic', mirror: 'm', topic: 't' }, topic),
    put({ kind: 'status', mirror: 'm', topic: 't', partition: 0 }, status(7, 12n)),
    put({ kind: 'status', mirror: 'm', topic: 't', partition: 1 }, status(6, 12n)),
  ]),
  'm',
)

test('the source itself knows best, then whoever saw it last; an earlier addition says nothing', () => {
  expect(lossOf(mirror, 't', 0, 10n, new Map([['t/0', 13n]]))).toMatchObject({ sourceOffset: 13n, lost: 3n, sourceSeenAt: undefined })
  expect(lossOf(mirror, 't', 0, 10n, new Map())).toMatchObject({ sourceOffset: 12n, lost: 2n, sourceSeenAt: Date.UTC(2026, 0, 1) })
  expect(lossOf(mirror, 't', 1, 10n, new Map())).toMatchObject({ sourceOffset: undefined, lost: undefined, sourceSeenAt: undefined })
  // A fence of an earlier attempt stands behind what was copied.
  expect(lossOf(mirror, 't', 0, 14n, new Map([['t/0', 13n]])).lost).toBe(0n)
})

test('one sentence is about all of it, and there is none where nothing is known to be lost', () => {
  const removed = (...partitions: ReturnType<typeof lossOf>[]) => [
    { topic: 't', mirror: 'm', ok: true, how: 'fenced', partitions } as const,
  ]
  const known = new Map([['t/0', 13n]])
  expect(lossSentence('m', removed(lossOf(mirror, 't', 0, 13n, known), lossOf(mirror, 't', 1, 5n, known)))).toEqual([])
  expect(lossSentence('m', removed(lossOf(mirror, 't', 0, 10n, known), lossOf(mirror, 't', 1, 0n, new Map([['t/1', 5n]]))))).toEqual([
    'the source of mirror m has 8 offset(s) in 2 partition(s) that are not here (most in t-1 from offset 0, 5 of them)',
  ])
  expect(lossSentence('m', removed(lossOf(mirror, 't', 0, 10n, new Map())))).toEqual([
    'the source of mirror m has 2 offset(s) in 1 partition(s) that are not here (t-0 from offset 10), as last seen at 2026-01-01T00:00:00.000Z',
  ])
})

import { expect, test } from 'vitest'
import { MirrorState } from '../../../src/mirror/fold.js'
import { put } from '../../../src/mirror/spec-store.js'
import type { PartitionStatus } from '../../../src/mirror/state.js'
import { laggards, whatNow } from '../../../src/service/wait-for-mirroring.js'

test.each([
  [0, false, 'No runner is alive; start one with run.'],
  [0, true, 'No runner is alive; start one with run.'],
  [2, false, 'It goes on; watch it with describe.'],
  [undefined, false, 'It goes on; watch it with describe.'],
  [2, true, 'See what is wrong: kafka-mirrors recover --mirror shop --dry-run.'],
])('with %s runners and a FAILED partition (%s) the advice does not contradict what is said', (runners, isFailed, advice) => {
  expect(whatNow('shop', runners, isFailed)).toBe(advice)
})

const ID = '00000000-0000-0000-0000-000000000001'
const gone = { message: 'topic t was deleted on the source', retries: 0, at: 1 }

test.each<[string, Partial<PartitionStatus>, string | undefined]>([
  ['whose topic is gone from the source', { state: 'STOPPED', error: gone }, gone.message],
  ['that was given back to the mirror a moment ago', { state: 'STOPPED', answers: 7 }, undefined],
  ['that is FAILED, which the operator may be about to mend', { state: 'FAILED', error: gone }, undefined],
  ['of an earlier addition, whatever it was', { state: 'STOPPED', error: gone, addedAt: 1 }, undefined],
])('the wait for a partition %s ends when nothing can come of it', (_, change, ended) => {
  const status: PartitionStatus = {
    ...{ ownerEpoch: 1, addedAt: 5, destinationTopicId: ID, owner: 'runner', state: 'MIRRORING', since: 1 },
    ...{ sourceLeaderEpochs: [], fillMode: 'markers', lostRanges: [] },
    ...change,
  }
  const ids = { sourceTopicId: ID, destinationTopicId: ID }
  const spec = { desired: 'MIRRORING' as const, ...ids, partitions: 1, producers: [{ id: 1n, epoch: 0 }], held: {}, addedAt: 5 }
  const state = MirrorState.of([
    put({ kind: 'mirror', mirror: 'm' }, { sourceClusterId: 'A', createdAt: 1 }),
    put({ kind: 'topic', mirror: 'm', topic: 't' }, spec),
    put({ kind: 'status', mirror: 'm', topic: 't', partition: 0 }, status),
  ])
  expect(laggards(state, 'm', new Map([['t', undefined]]))).toMatchObject([{ ended }])
})

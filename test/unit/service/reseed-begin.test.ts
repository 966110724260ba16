import { expect, test } from 'vitest'
import { put } from '../../../src/mirror/spec-store.js'
import type { DesiredState } from '../../../src/mirror/state.js'
import { somethingElse } from '../../../src/service/recovery/replace-topic.js'
import { begin, type ReseedWork } from '../../../src/service/recovery/reseed-state.js'
import { ModelStore } from '../../support/model-authorizer.js'

const ID = '00000000-0000-0000-0000-000000000001'

async function working(desired: DesiredState) {
  const store = new ModelStore()
  const spec = {
    desired,
    sourceTopicId: ID,
    destinationTopicId: ID,
    partitions: 1,
    producers: [{ id: 1n, epoch: 0 }],
    held: {},
    addedAt: 5,
  }
  const records = [
    put({ kind: 'mirror', mirror: 'm' }, { sourceClusterId: 'A', createdAt: 1 }),
    put({ kind: 'topic', mirror: 'm', topic: 't' }, spec),
  ]
  await store.update(() => ({ records, result: undefined }))
  const work = { context: { store, now: () => 99 }, mirror: 'm', topic: 't', addedAt: 5, options: { discard: false } }
  return { store, work: work as unknown as ReseedWork }
}

async function begun(desired: DesiredState) {
  const { store, work } = await working(desired)
  const outcome = await begin(work).catch((error: Error) => error)
  return { outcome, now: store.state.mirror('m')!.topics.get('t')!.desired }
}

test.each<DesiredState>(['MIRRORING', 'PAUSED'])('a topic that is %s can be copied again', async (desired) => {
  expect(await begun(desired)).toMatchObject({ outcome: { stopping: { at: 99 }, reseed: { at: 99 } }, now: 'STOPPING' })
})

test.each<[DesiredState, string]>([
  ['ADDING', 'CONFLICT'],
  ['STOPPING', 'CONFLICT'],
  ['STOPPED', 'TOPIC_NOT_MIRRORED'],
])('one that is %s is not: what is on the destination is not the mirror’s copy', async (desired, code) => {
  expect(await begun(desired)).toMatchObject({ outcome: { code }, now: desired })
})

test('one that begins anew has a time of its own, also within a millisecond: owners let go of another topic than what is there', async () => {
  const { store, work } = await working('MIRRORING')
  expect(await somethingElse(work, await begin(work))).toMatchObject({ code: 'TOPIC_HAS_OTHER_DATA' })
  expect(store.state.mirror('m')!.topics.get('t')).toMatchObject({ stopping: { at: 99 }, reseed: { at: 100, kept: false } })
})

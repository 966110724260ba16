import { describe, expect, it } from 'vitest'
import { MirrorState } from '../../../src/mirror/fold.js'
import { put } from '../../../src/mirror/spec-store.js'
import type { TopicSpec } from '../../../src/mirror/state.js'
import { decodeValue } from '../../../src/mirror/state-values.js'
import { beginReseed } from '../../../src/service/reverse/reseed-here.js'

const SPEC: TopicSpec = {
  desired: 'MIRRORING',
  sourceTopicId: 'there',
  destinationTopicId: 'here',
  partitions: 1,
  producers: [{ id: 1n, epoch: 0 }],
  held: { 'retention.ms': '5' },
  found: [{ logStartOffset: 2n, logEndOffset: 2n ** 53n + 1n }],
  addedAt: 100,
}
const WANTED = {
  sourceTopicId: 'there',
  destinationTopicId: 'here',
  producers: [{ id: 7n, epoch: 0 }],
  held: { 'retention.ms': null },
  found: [{ logStartOffset: 0n, logEndOffset: 9n }],
}

/** What is written when a topic is to be copied again that is, meanwhile, in a mirror like this. */
function begun(change?: Partial<TopicSpec>, mirror = 'm') {
  const mirrors = ['m', 'other'].map((name) => put({ kind: 'mirror', mirror: name }, { sourceClusterId: 'A', createdAt: 1 }))
  const topics = change === undefined ? [] : [put({ kind: 'topic', mirror, topic: 't' }, { ...SPEC, ...change })]
  const { records, result } = beginReseed(MirrorState.of([...mirrors, ...topics]), 'm', 't', WANTED, 50)
  return { addedAt: result, written: records.map(({ value }) => decodeValue('topic', value!)) }
}

describe('copying a topic back from the start', () => {
  it('is on record before anything is done, as an addition of its own', () => {
    const reseed = { at: 50, kept: false, tailTopic: expect.stringContaining('t.diverged-') }
    const stopping = { at: 50 }
    expect(begun()).toMatchObject({ addedAt: 50, written: [{ ...WANTED, desired: 'STOPPING', stopping, addedAt: 50, reseed }] })
    const again = begun({ desired: 'STOPPED' })
    expect(again).toMatchObject({ addedAt: 101, written: [{ addedAt: 101, held: WANTED.held, reseed }] })
    expect(again.written[0]!.found).toEqual(WANTED.found)
  })

  it('goes on where an earlier run has begun it, and behind an addition that was not finished', () => {
    const reseed = { at: 1, tailTopic: 't.diverged-1', kept: true }
    expect(begun({ desired: 'STOPPING', reseed })).toEqual({ addedAt: 100, written: [] })
    expect(begun({ desired: 'ADDING' })).toMatchObject({ addedAt: 101, written: [{ desired: 'STOPPING', held: SPEC.held }] })
  })

  it.each([
    ['is added', { desired: 'MIRRORING' as const }, 'm', 'CONFLICT'],
    ['is added and paused', { desired: 'PAUSED' as const }, 'm', 'CONFLICT'],
    ['is being removed', { desired: 'STOPPING' as const }, 'm', 'TOPIC_ALREADY_MIRRORED'],
    ['is in another mirror', {}, 'other', 'TOPIC_ALREADY_MIRRORED'],
  ])('is not begun when the topic %s meanwhile: nobody has looked at that', (_, change, mirror, code) => {
    expect(() => begun(change, mirror)).toThrow(expect.objectContaining({ code }))
  })
})

import { expect, test } from 'vitest'
import type { TopicSpec } from '../../../src/mirror/state.js'
import { decide } from '../../../src/service/pause.js'

const spec = (desired: TopicSpec['desired'], more: Partial<TopicSpec> = {}): TopicSpec => ({
  desired,
  sourceTopicId: 's',
  destinationTopicId: 'd',
  partitions: 3,
  producers: [],
  held: {},
  addedAt: 1,
  ...more,
})

const mirror = {
  name: 'm',
  topics: new Map([
    ['copied', spec('MIRRORING')],
    ['halted', spec('PAUSED')],
    ['coming', spec('ADDING')],
    ['leaving', spec('STOPPING')],
    ['gone', spec('STOPPED')],
    ['again', spec('STOPPING', { reseed: { at: 1, tailTopic: undefined, kept: false } })],
  ]),
}

test('a whole mirror is every topic that belongs to it; what leaves it cannot be paused', () => {
  const { results, changed, leftOut } = decide(mirror, undefined, 'PAUSED')
  expect(results).toMatchObject([
    { topic: 'again', ok: false, error: { code: 'CONFLICT', message: 'topic again of mirror m is being copied again' } },
    { topic: 'copied', ok: true, how: 'changed', partitions: 3 },
    { topic: 'halted', ok: true, how: 'unchanged' },
    { topic: 'leaving', ok: false, error: { code: 'CONFLICT', message: 'topic leaving is being removed from mirror m' } },
  ])
  expect([...changed.keys()]).toEqual(['copied'])
  expect(leftOut).toEqual(['coming'])
})

test('what is just being added is left out, unless it is named', () => {
  expect(decide(mirror, ['com.*', 'cop.*'], 'PAUSED')).toMatchObject({ results: [{ topic: 'copied', ok: true }], leftOut: ['coming'] })
  expect(decide(mirror, ['com.*'], 'MIRRORING')).toMatchObject({ results: [], leftOut: ['coming'] })
  expect(decide(mirror, ['com.*', 'coming'], 'PAUSED')).toMatchObject({
    results: [{ topic: 'coming', ok: false, error: { code: 'CONFLICT', message: 'topic coming is being added to mirror m' } }],
    leftOut: [],
  })
})

test('only what is paused is resumed, by name or pattern, and what is not there is named', () => {
  const { results, changed } = decide(mirror, ['cop.*', 'halted', 'gone', 'x.*'], 'MIRRORING')
  expect(results.map(({ topic, ok }) => [topic, ok])).toEqual([
    ['copied', true],
    ['gone', false],
    ['halted', true],
    ['x.*', false],
  ])
  expect([...changed.keys()]).toEqual(['halted'])
})

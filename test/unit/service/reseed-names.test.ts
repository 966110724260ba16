import { expect, test } from 'vitest'
import { mirrorConfigOf } from '../../../src/mirror/config.js'
import { selectTopics } from '../../../src/mirror/selection.js'
import { tailTopicOf } from '../../../src/service/recovery/reseed-state.js'

test('what a reseed kept is found by no pattern, unless its name is given', () => {
  const { topicsExclude } = mirrorConfigOf(new Map())
  const kept = tailTopicOf('shop.a', Date.UTC(2026, 0, 2, 3, 4, 5, 6))
  expect(kept).toBe('shop.a.diverged-20260102T030405006Z')
  const there = ['shop.a', 'shop.a.diverged-soon', kept]
  expect(selectTopics(['shop\\..*'], topicsExclude, there).topics).toEqual(['shop.a', 'shop.a.diverged-soon'])
  expect(selectTopics([kept], topicsExclude, there).topics).toEqual([kept])
})

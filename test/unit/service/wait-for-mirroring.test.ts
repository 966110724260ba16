import { expect, test } from 'vitest'
import { whatNow } from '../../../src/service/wait-for-mirroring.js'

test.each([
  [0, false, 'No runner is alive; start one with run.'],
  [0, true, 'No runner is alive; start one with run.'],
  [2, false, 'It goes on; watch it with describe.'],
  [undefined, false, 'It goes on; watch it with describe.'],
  [2, true, 'See what is wrong: kafka-mirrors recover --mirror shop --dry-run.'],
])('with %s runners and a FAILED partition (%s) the advice does not contradict what is said', (runners, isFailed, advice) => {
  expect(whatNow('shop', runners, isFailed)).toBe(advice)
})

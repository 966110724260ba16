import { expect, test } from 'vitest'
import { fullJitter, retrying } from '../../../src/client/retry.js'
import { FakeClock } from './fake-clock.js'

const BACKOFF = { initial: 100, max: 1_000 }

test('full jitter grows from nothing up to the bound', () => {
  expect([0, 1, 2, 3, 4, 60].map((failures) => fullJitter(failures, BACKOFF, () => 1))).toEqual([100, 200, 400, 800, 1_000, 1_000])
  expect(fullJitter(5, BACKOFF, () => 0)).toBe(0)
})

const failing = (clock: FakeClock, attemptsFor: number, deadlineMs = 5_000, costs = 0) => {
  let calls = 0
  const promise = retrying({ clock, deadlineMs, backoff: BACKOFF, attemptsFor: () => attemptsFor }, async () => {
    clock.time += costs
    throw new Error(`attempt ${++calls}`)
  })
  return promise.catch((error: Error) => error.message)
}

test('an error not worth another try is thrown at once', async () => {
  const clock = new FakeClock()
  expect(await failing(clock, 1)).toBe('attempt 1')
  expect(clock.time).toBe(0)
})

test('attempts are bounded by the error and by the deadline, and the last error is thrown', async () => {
  expect(await failing(new FakeClock(), 4)).toBe('attempt 4')
  const clock = new FakeClock()
  // Waits of 100, 200, 400, 800, then 1,000 each: the next would start after five seconds.
  expect(await failing(clock, Number.POSITIVE_INFINITY)).toBe('attempt 8')
  expect(clock.time).toBe(4_500)
  const slow = new FakeClock()
  expect(await failing(slow, Number.POSITIVE_INFINITY, 5_000, 3_000)).toBe('attempt 2')
})

test('success ends it', async () => {
  const clock = new FakeClock()
  const left: number[] = []
  const result = await retrying({ clock, deadlineMs: 1_000, backoff: BACKOFF, attemptsFor: () => 5 }, async (failures, leftMs) => {
    left.push(leftMs)
    if (failures < 2) throw new Error('not yet')
    return 'done'
  })
  expect([result, left]).toEqual(['done', [1_000, 900, 700]])
})

test('an aborted signal ends the waiting with the error at hand', async () => {
  const clock = new FakeClock()
  const abort = new AbortController()
  const result = retrying({ clock, deadlineMs: 1_000, backoff: BACKOFF, signal: abort.signal, attemptsFor: () => 5 }, async () => {
    abort.abort()
    throw new Error('the reason')
  })
  await expect(result).rejects.toThrow('the reason')
})

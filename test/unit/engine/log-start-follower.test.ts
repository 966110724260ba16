import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { LogStartFollower } from '../../../src/engine/log-start-follower.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function follower(end = 1_000n) {
  const made = { end, deleted: [] as bigint[], failures: [] as bigint[], broken: false }
  const subject = new LogStartFollower(
    {
      logEndOffset: () => made.end,
      deleteRecords: async (before) => {
        if (made.broken) throw new Error('no leader')
        made.deleted.push(before)
      },
      failed: (wanted) => made.failures.push(wanted),
    },
    () => Date.now(),
  )
  return Object.assign(made, { subject })
}

it('follows at once, then every few seconds, and forgets no move in between', async () => {
  const it = follower()
  it.subject.moved(100n)
  await vi.advanceTimersByTimeAsync(0)
  for (const start of [200n, 300n, 300n, 250n]) it.subject.moved(start)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(it.deleted).toEqual([100n])
  await vi.advanceTimersByTimeAsync(5_000)
  expect(it.deleted).toEqual([100n, 300n])
  await vi.advanceTimersByTimeAsync(60_000)
  expect(it.deleted).toEqual([100n, 300n])
})

it('waits until the destination has got as far as the source begins', async () => {
  const it = follower(295n)
  it.subject.moved(400n)
  await vi.advanceTimersByTimeAsync(3_000)
  expect(it.deleted).toEqual([])
  it.end = 500n
  await vi.advanceTimersByTimeAsync(1_000)
  expect(it.deleted).toEqual([400n])
})

it('tells a failure and tries again', async () => {
  const it = follower()
  it.broken = true
  it.subject.moved(100n)
  await vi.advanceTimersByTimeAsync(0)
  expect(it.failures).toEqual([100n])
  it.broken = false
  await vi.advanceTimersByTimeAsync(5_000)
  expect(it.deleted).toEqual([100n])
})

it('has nothing to do for a log that begins at zero, and stops when it is closed', async () => {
  const it = follower()
  it.subject.moved(0n)
  expect(vi.getTimerCount()).toBe(0)
  it.subject.moved(10n)
  it.subject.close()
  it.subject.moved(20n)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(it.deleted).toEqual([])
})

import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { backoffMs, Pause } from '../../../src/engine/backoff.js'

describe('back-off', () => {
  it('doubles from the initial wait to the longest, jittered over its upper half', () => {
    expect([0, 1, 2, 3, 20, 5_000].map((attempt) => backoffMs(attempt, 1_000, 60_000, () => 1))).toEqual([
      1_000, 2_000, 4_000, 8_000, 60_000, 60_000,
    ])
    fc.assert(
      fc.property(fc.nat(100), fc.double({ min: 0, max: 0.999, noNaN: true }), (attempt, chance) => {
        const ceiling = Math.min(60_000, 1_000 * 2 ** attempt)
        const wait = backoffMs(attempt, 1_000, 60_000, () => chance)
        expect(wait).toBeGreaterThanOrEqual(ceiling / 2)
        expect(wait).toBeLessThanOrEqual(ceiling)
      }),
    )
  })
})

describe('a pause', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const watch = (waiting: Promise<boolean>) => {
    const seen: { interrupted?: boolean } = {}
    void waiting.then((interrupted) => {
      seen.interrupted = interrupted
    })
    return seen
  }

  it('ends when its time is up', async () => {
    const pause = new Pause()
    const seen = watch(pause.wait(1_000))
    await vi.advanceTimersByTimeAsync(999)
    expect(seen).toEqual({})
    await vi.advanceTimersByTimeAsync(1)
    expect(seen).toEqual({ interrupted: false })
  })

  it('ends at an interruption, and leaves no timer behind', async () => {
    const pause = new Pause()
    const seen = watch(pause.wait(60_000))
    pause.interrupt()
    await vi.advanceTimersByTimeAsync(0)
    expect(seen).toEqual({ interrupted: true })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('does not begin when it was interrupted before, once', async () => {
    const pause = new Pause()
    pause.interrupt()
    expect(await pause.wait(60_000)).toBe(true)
    const seen = watch(pause.wait(60_000))
    await vi.advanceTimersByTimeAsync(59_999)
    expect(seen).toEqual({})
    await vi.advanceTimersByTimeAsync(1)
    expect(seen).toEqual({ interrupted: false })
  })

  it('ends when what it waits for is settled, either way, and can then be used again', async () => {
    const pause = new Pause()
    expect(await pause.wait(60_000, Promise.resolve())).toBe(false)
    expect(await pause.wait(60_000, Promise.reject(new Error('no')))).toBe(false)
    let settle = () => {}
    const late = new Promise<void>((resolve) => {
      settle = resolve
    })
    const first = pause.wait(10, late)
    await vi.advanceTimersByTimeAsync(10)
    await first
    const second = watch(pause.wait(60_000))
    settle()
    await vi.advanceTimersByTimeAsync(1)
    expect(second).toEqual({})
    pause.interrupt()
    await vi.advanceTimersByTimeAsync(0)
    expect(second).toEqual({ interrupted: true })
    expect(vi.getTimerCount()).toBe(0)
  })
})

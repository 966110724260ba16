import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RateLimit } from '../../../src/engine/rate-limit.js'

/** Sends batches as a lane does, with timers that are up to `lateMs` late, and notes when. */
function simulate(limit: RateLimit, clock: { now: number }, until: number, sizes: () => number, lateMs: () => number) {
  const sent: Array<{ at: number; bytes: number }> = []
  while (clock.now < until) {
    const wait = limit.delay()
    if (wait > 0) {
      clock.now += Math.min(wait, 200) + lateMs()
      continue
    }
    const bytes = sizes()
    limit.spend(bytes)
    sent.push({ at: clock.now, bytes })
  }
  return sent
}

const bytesWithin = (sent: ReadonlyArray<{ at: number; bytes: number }>, from: number, to: number) =>
  sent.reduce((sum, { at, bytes }) => (at >= from && at < to ? sum + bytes : sum), 0)

describe('a throttle', () => {
  it('is obeyed within 10 % over any second or longer, timers running late', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 10_000, max: 100_000_000 }),
        fc.infiniteStream(fc.nat(30)),
        fc.infiniteStream(fc.double({ min: 0.1, max: 1, noNaN: true })),
        (rate, late, share) => {
          const clock = { now: 5_000 }
          const limit = new RateLimit(rate, () => clock.now)
          const sizes = () => Math.max(1, Math.round((rate / 30) * share.next().value!))
          const sent = simulate(limit, clock, 11_000, sizes, () => late.next().value!)
          for (let from = 5_000; from <= 9_000; from += 250) {
            expect(bytesWithin(sent, from, from + 1_000)).toBeLessThanOrEqual(rate * 1.1)
            expect(bytesWithin(sent, from, from + 2_000)).toBeLessThanOrEqual(rate * 2 * 1.1)
            expect(bytesWithin(sent, from, from + 2_000)).toBeGreaterThanOrEqual(rate * 2 * 0.9)
          }
        },
      ),
      { numRuns: 30 },
    )
  })

  it('lets a batch larger than a second go, and then waits it off', () => {
    const clock = { now: 0 }
    const limit = new RateLimit(1_000, () => clock.now)
    limit.spend(5_000)
    expect(limit.delay()).toBe(5_000)
    clock.now = 5_000
    expect(limit.delay()).toBe(0)
  })

  it('saves next to nothing up while idle', () => {
    const clock = { now: 0 }
    const limit = new RateLimit(1_000_000, () => clock.now)
    clock.now = 3_600_000
    const sent = simulate(
      limit,
      clock,
      3_601_000,
      () => 10_000,
      () => 0,
    )
    expect(bytesWithin(sent, 3_600_000, 3_601_000)).toBeLessThanOrEqual(1_100_000)
  })

  it('takes hold within a second when it is raised, lowered or was nearly nothing', () => {
    const clock = { now: 0 }
    const limit = new RateLimit(1, () => clock.now)
    limit.spend(1_000_000)
    expect(limit.delay()).toBeGreaterThan(1_000_000)
    limit.setRate(1_000_000)
    expect(limit.delay()).toBeLessThanOrEqual(1_000)
    const fast = simulate(
      limit,
      clock,
      3_000,
      () => 10_000,
      () => 0,
    )
    expect(bytesWithin(fast, 1_000, 2_000)).toBeGreaterThan(900_000)
    limit.setRate(50_000)
    const slow = simulate(
      limit,
      clock,
      6_000,
      () => 1_000,
      () => 0,
    )
    expect(bytesWithin(slow, 4_000, 6_000)).toBeLessThanOrEqual(110_000)
    expect(bytesWithin(slow, 4_000, 6_000)).toBeGreaterThanOrEqual(90_000)
  })
})

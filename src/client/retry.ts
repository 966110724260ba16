import { setTimeout as delay } from 'node:timers/promises'
import type { Backoff } from './config.js'

/** Time and chance, replaceable in tests. */
export interface Clock {
  /** Milliseconds that only ever grow. */
  now(): number
  /** Waits; rejects at once when the signal is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>
  /** Calls back later, unless the returned function is called before. */
  after(milliseconds: number, callback: () => void): () => void
  /** 0 ≤ x < 1 */
  random(): number
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) => delay(milliseconds, undefined, { signal }),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds)
    return () => clearTimeout(timer)
  },
  random: Math.random,
}

/** Exponential back-off with full jitter: 0 up to `initial` · 2^failures, never above `max`; milliseconds. */
export function fullJitter(failures: number, backoff: Backoff, random: () => number): number {
  return random() * Math.min(backoff.max, backoff.initial * 2 ** Math.min(failures, 30))
}

export interface RetryOptions {
  readonly clock: Clock
  readonly deadlineMs: number
  readonly backoff: Backoff
  readonly signal?: AbortSignal
  /** Attempts this error is worth, the failed one included; 1 gives up at once, Infinity goes on until the deadline. */
  attemptsFor(error: unknown): number
}

/**
 * Calls `attempt` until it succeeds, its error is not worth another try, or the next try would start after the deadline;
 * then the last error is thrown. `attempt` is told the failures so far and the milliseconds left.
 */
export async function retrying<T>(options: RetryOptions, attempt: (failures: number, leftMs: number) => Promise<T>): Promise<T> {
  const { clock, deadlineMs, backoff } = options
  const until = clock.now() + deadlineMs
  for (let failures = 0; ; ) {
    try {
      return await attempt(failures, Math.max(1, until - clock.now()))
    } catch (error) {
      failures++
      const wait = fullJitter(failures - 1, backoff, () => clock.random())
      if (failures >= options.attemptsFor(error) || clock.now() + wait >= until || options.signal?.aborted) throw error
      await clock.sleep(wait, options.signal).catch(() => {
        throw error
      })
    }
  }
}

import type { Clock } from '../../../src/client/retry.js'

/** Waiting takes no time here, and chance is always the most. */
export class FakeClock implements Clock {
  time = 0
  chance = 1

  now(): number {
    return this.time
  }

  async sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw new Error('aborted')
    this.time += milliseconds
  }

  after(): () => void {
    return () => {}
  }

  random(): number {
    return this.chance
  }
}

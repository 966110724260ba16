/**
 * Milliseconds before attempt `attempt` (0 is the first repetition): exponential from `initialMs` to `maxMs`, with full
 * jitter over its upper half so that many partitions do not come back at the same moment.
 */
export function backoffMs(attempt: number, initialMs: number, maxMs: number, random: () => number = Math.random): number {
  const ceiling = Math.min(maxMs, initialMs * 2 ** Math.min(attempt, 30))
  return ceiling / 2 + (random() * ceiling) / 2
}

/** A wait that a change of circumstances cuts short, for one waiter at a time. */
export class Pause {
  private wake: (() => void) | undefined
  private interrupted = false

  /** Resolves after `milliseconds`, once `until` is settled, or at the next {@link interrupt}: at once if there was one since the last wait. True if interrupted. */
  async wait(milliseconds: number, until?: Promise<unknown>): Promise<boolean> {
    if (!this.interrupted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds)
        this.wake = () => {
          clearTimeout(timer)
          resolve()
        }
        until?.then(this.wake, this.wake)
      })
    }
    this.wake = undefined
    const { interrupted } = this
    this.interrupted = false
    return interrupted
  }

  interrupt(): void {
    this.interrupted = true
    this.wake?.()
  }
}

/**
 * Milliseconds before attempt `attempt` (0 is the first repetition): exponential from `initialMs` to `maxMs`, with full
 * jitter over its upper half so that many partitions do not come back at the same moment.
 */
export function backoffMs(attempt: number, initialMs: number, maxMs: number, random: () => number = Math.random): number {
  const ceiling = Math.min(maxMs, initialMs * 2 ** Math.min(attempt, 30))
  return ceiling / 2 + (random() * ceiling) / 2
}

/** A wait that a change of circumstances cuts short. */
export class Pause {
  private wake: (() => void) | undefined

  /** Resolves after `milliseconds`, or at the next {@link interrupt}. */
  async wait(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.wake = undefined
  }

  interrupt(): void {
    this.wake?.()
  }
}

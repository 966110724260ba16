/** At most `count` holders at once, first come first served. */
export class Slots {
  private readonly waiting: Array<() => void> = []

  constructor(private free: number) {}

  /** Resolves with the function that gives the slot back. */
  async acquire(): Promise<() => void> {
    if (this.free > 0) this.free--
    else await new Promise<void>((resolve) => this.waiting.push(resolve))
    return () => {
      const next = this.waiting.shift()
      if (next === undefined) this.free++
      else next()
    }
  }
}

import type { Marker, Result } from '../client/admin.js'
import { LostPlace } from './errors.js'

interface Waiting {
  readonly marker: Marker
  readonly mayAppend: () => boolean
  resolve(): void
  reject(error: unknown): void
}

/**
 * Single markers of all partitions that one destination leader has. Transactions end on many partitions at once: what is wanted in one
 * turn, or while a request is under way, goes together in the next.
 */
export class MarkerLane {
  private waiting: Waiting[] = []
  private busy = false

  /** @param send writes one marker each, never twice; outcomes in their order */
  constructor(private readonly send: (markers: readonly Marker[]) => Promise<ReadonlyArray<Result<void>>>) {}

  /**
   * Writes one marker. `mayAppend` is asked right before it is sent.
   * @throws LostPlace when it was not sent; KafkaError; ConnectionError, with `uncertain` if it may have landed
   */
  write(marker: Marker, mayAppend: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ marker, mayAppend, resolve, reject })
      if (this.busy) return
      this.busy = true
      queueMicrotask(() => void this.pump())
    })
  }

  private async pump(): Promise<void> {
    while (this.waiting.length > 0) {
      const wanted = this.waiting
      this.waiting = []
      const allowed = wanted.filter(({ mayAppend }) => mayAppend())
      for (const one of wanted) if (!allowed.includes(one)) one.reject(new LostPlace())
      if (allowed.length > 0) await this.request(allowed)
    }
    this.busy = false
  }

  private async request(sent: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.send(sent.map(({ marker }) => marker))
      for (const [i, { resolve, reject }] of sent.entries()) {
        const result = results[i]!
        if (result.ok) resolve()
        else reject(result.error)
      }
    } catch (error) {
      for (const { reject } of sent) reject(error)
    }
  }
}

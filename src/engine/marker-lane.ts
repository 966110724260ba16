import type { Markers, Result } from '../client/admin.js'
import { LostPlace } from './errors.js'
import type { LedPartition } from './positions.js'

/** Markers for one partition, and who may say no until they are sent. */
export interface WantedMarkers extends Markers, LedPartition {
  readonly mayAppend: () => boolean
}

export interface MarkerLanePort {
  /** Writes markers, never twice; outcomes in their order. */
  write(markers: readonly Markers[]): Promise<ReadonlyArray<Result<void>>>
  /** Log ends at the leader; outcomes in their order. */
  logEnds(partitions: readonly LedPartition[]): Promise<ReadonlyArray<Result<bigint>>>
}

interface Waiting {
  readonly wanted: WantedMarkers
  resolve(logEndOffset: bigint | undefined): void
  reject(error: unknown): void
}

/**
 * Few markers for each of the partitions that one destination leader has. Transactions end on many partitions at once: what is wanted
 * in one turn, or while a request is under way, goes together in the next.
 */
export class MarkerLane {
  private waiting: Waiting[] = []
  private busy = false

  constructor(private readonly port: MarkerLanePort) {}

  /**
   * Writes the markers. `mayAppend` is asked right before they are sent.
   * @returns of several markers the log end right after them, if it could be seen
   * @throws LostPlace when nothing was sent; KafkaError; ConnectionError, with `uncertain` if they may have landed
   */
  write(wanted: WantedMarkers): Promise<bigint | undefined> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ wanted, resolve, reject })
      if (this.busy) return
      this.busy = true
      queueMicrotask(() => void this.pump())
    })
  }

  private async pump(): Promise<void> {
    while (this.waiting.length > 0) {
      const allowed: Waiting[] = []
      for (const one of this.waiting) {
        if (one.wanted.mayAppend()) allowed.push(one)
        else one.reject(new LostPlace())
      }
      this.waiting = []
      if (allowed.length > 0) await this.request(allowed)
    }
    this.busy = false
  }

  private async request(sent: readonly Waiting[]): Promise<void> {
    const several = sent.filter(({ wanted }) => wanted.count > 1)
    try {
      const writing = this.port.write(sent.map(({ wanted }) => wanted))
      // On the same connection behind the markers, so that it costs no round trip of its own.
      const looking = several.length === 0 ? undefined : this.port.logEnds(several.map(({ wanted }) => wanted))
      const [results, ends] = await Promise.all([writing, looking?.catch(() => undefined)])
      for (const [i, one] of sent.entries()) {
        const result = results[i]!
        const end = ends?.[several.indexOf(one)]
        if (result.ok) one.resolve(end?.ok ? end.value : undefined)
        else one.reject(result.error)
      }
    } catch (error) {
      for (const { reject } of sent) reject(error)
    }
  }
}

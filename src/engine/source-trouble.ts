import type { PartitionStatus } from '../mirror/state.js'
import { publish } from './events.js'
import { StatusBook, type StatusIdentity } from './status-book.js'
import type { Wanted } from './wanted.js'

export interface SourceTroublePort {
  now(): number
  /** Tries to open the sources again. */
  again(): void
  /** What is on record about a partition. */
  status(want: Wanted): PartitionStatus | undefined
  identity(want: Wanted): StatusIdentity
  write(want: Wanted, status: PartitionStatus): Promise<void>
}

const AGAIN_AFTER_MS = 10_000

/**
 * Mirrors whose source cannot even be opened, such as for want of a file that its properties name: their partitions are in nobody's
 * hands, so this says in their statuses why, once for each reason, and looks again now and then.
 */
export class SourceTrouble {
  private readonly reasons = new Map<string, string>()
  private readonly told = new Map<string, string>()
  private timer: NodeJS.Timeout | undefined

  constructor(private readonly port: SourceTroublePort) {}

  /** True if this is news. */
  begins(mirror: string, reason: string): boolean {
    this.timer ??= setInterval(() => this.port.again(), AGAIN_AFTER_MS).unref()
    if (this.reasons.get(mirror) === reason) return false
    this.reasons.set(mirror, reason)
    publish({ level: 'error', event: 'source', mirror, message: reason })
    return true
  }

  reasonOf(mirror: string): string | undefined {
    return this.reasons.get(mirror)
  }

  /** True if there was any. */
  over(mirror: string): boolean {
    const was = this.reasons.delete(mirror)
    if (this.reasons.size === 0) this.close()
    return was
  }

  /** Forgets mirrors that are no longer needed. */
  keep(needed: ReadonlySet<string>): void {
    for (const mirror of this.reasons.keys()) if (!needed.has(mirror)) this.over(mirror)
  }

  close(): void {
    clearInterval(this.timer)
    this.timer = undefined
  }

  /** Says of each of these partitions, which nobody copies, why; what was said before is not said again. */
  tell(idle: readonly Wanted[]): void {
    const keys = new Set<string>()
    for (const want of idle) {
      const reason = this.reasons.get(want.mirror)
      if (reason === undefined) continue
      const { ownerEpoch } = this.port.identity(want)
      const key = `${want.mirror}/${want.topic}/${want.partition}/${ownerEpoch}`
      keys.add(key)
      if (this.told.get(key) === reason) continue
      this.told.set(key, reason)
      void this.write(want, reason).catch(() => this.told.delete(key))
    }
    for (const key of this.told.keys()) if (!keys.has(key)) this.told.delete(key)
  }

  private async write(want: Wanted, reason: string): Promise<void> {
    const { port } = this
    const book = new StatusBook(
      port.status(want),
      () => port.identity(want),
      (status) => port.write(want, status),
      () => port.now(),
    )
    await book.update({ error: { message: `the source cannot be opened: ${reason}`, retries: 0, at: port.now() } })
  }
}

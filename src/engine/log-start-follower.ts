/** How often the destination's log start may follow the source's. */
const FOLLOW_EVERY_MS = 5_000
/** How soon to look again when the destination does not reach the source's log start yet. */
const CATCH_UP_EVERY_MS = 500

export interface LogStartPort {
  /** The destination's log end as it is known: its log can start no later. Undefined while it is not known. */
  logEndOffset(): bigint | undefined
  deleteRecords(before: bigint): Promise<void>
  failed(wanted: bigint, error: unknown): void
}

/**
 * Moves the destination's log start after the source's, so that both keep the same records. The source's start is told
 * once per move, and may be told before the destination has got that far: it is kept until it is done.
 */
export class LogStartFollower {
  private wanted = 0n
  private done = 0n
  private at = Number.NEGATIVE_INFINITY
  private timer: NodeJS.Timeout | undefined
  private closed = false

  constructor(
    private readonly port: LogStartPort,
    private readonly now: () => number,
  ) {}

  /** The source's log starts here. */
  moved(logStartOffset: bigint): void {
    if (logStartOffset <= this.wanted) return
    this.wanted = logStartOffset
    this.schedule(this.at + FOLLOW_EVERY_MS - this.now())
  }

  close(): void {
    this.closed = true
    clearTimeout(this.timer)
  }

  private schedule(milliseconds: number): void {
    if (this.timer !== undefined || this.closed) return
    this.timer = setTimeout(() => {
      this.timer = undefined
      void this.follow()
    }, milliseconds)
    this.timer.unref()
  }

  private async follow(): Promise<void> {
    const { wanted } = this
    const logEndOffset = this.port.logEndOffset()
    if (logEndOffset === undefined || logEndOffset < wanted) return this.schedule(CATCH_UP_EVERY_MS)
    this.at = this.now()
    try {
      await this.port.deleteRecords(wanted)
      this.done = wanted
    } catch (error) {
      this.port.failed(wanted, error)
    }
    if (this.done < this.wanted) this.schedule(FOLLOW_EVERY_MS)
  }
}

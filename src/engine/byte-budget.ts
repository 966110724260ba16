import { BufferPool } from '../client/buffer-pool.js'

/** Small enough that appending one answer overlaps with reading the next; what is around the records fits into 4 MiB with them. */
const MAX_FETCH_BYTES = (8 << 20) - (64 << 10)
const MIN_FETCH_BYTES = 1 << 20

/**
 * The one bound on memory: bytes of fetched record sets not yet appended. A fetch is sent only while the budget is
 * open, and asks for at most its share of the other half, so the sum stays below the limit however many fetchers wait.
 */
export class ByteBudget {
  private used = 0
  private fetchers = 0
  private waiting: Array<() => void> = []

  /** Memory of large fetch responses, used again. */
  readonly buffers: BufferPool

  /** @param limit bytes, `mirror.buffer.bytes` */
  constructor(private limit: number) {
    this.buffers = new BufferPool(limit / 2)
  }

  /** Another limit from now on; what is in use above it is waited for, not dropped. */
  setLimit(limit: number): void {
    if (limit === this.limit) return
    this.limit = limit
    this.buffers.setLimit(limit / 2)
    if (this.open) this.wakeAll()
  }

  get usedBytes(): number {
    return this.used
  }

  /** The largest answer one fetch may ask for, in bytes. */
  get fetchMaxBytes(): number {
    return Math.max(MIN_FETCH_BYTES, Math.min(MAX_FETCH_BYTES, Math.floor(this.limit / 2 / Math.max(1, this.fetchers))))
  }

  addFetcher(): void {
    this.fetchers++
  }

  removeFetcher(): void {
    this.fetchers--
  }

  get open(): boolean {
    return this.used < this.limit / 2
  }

  /** Resolves once less than half of the budget is in use, or at {@link wakeAll} if `givenUp` says so. */
  async whenOpen(givenUp: () => boolean = () => false): Promise<void> {
    while (!this.open && !givenUp()) await new Promise<void>((resolve) => this.waiting.push(resolve))
  }

  take(bytes: number): void {
    this.used += bytes
  }

  release(bytes: number): void {
    this.used -= bytes
    if (this.open) this.wakeAll()
  }

  wakeAll(): void {
    const waiting = this.waiting
    this.waiting = []
    for (const wake of waiting) wake()
  }
}

/**
 * One fetch response: its memory counts against the budget until the last batch that points into it is done with, and is
 * then used again, unless a socket may still be reading from it.
 */
export class Slab {
  private references = 1
  private lingering = false

  constructor(
    private readonly budget: ByteBudget,
    private readonly bytes: number,
    private readonly recycle: () => void = () => {},
  ) {
    budget.take(bytes)
  }

  /** A write that points into it was never answered: the socket may still hold it. */
  linger(): void {
    this.lingering = true
  }

  /** Memory for what was made out of this: it counts instead. */
  successor(bytes: number): Slab {
    return new Slab(this.budget, bytes)
  }

  retain(): void {
    this.references++
  }

  release(): void {
    if (--this.references > 0) return
    this.budget.release(this.bytes)
    if (!this.lingering) this.recycle()
  }
}

/**
 * Bytes per second over one destination broker, as `mirror.replication.throttled.rate`. A batch may overdraw (batches
 * are never cut for it); the debt is then waited off. Idle time is worth at most a tenth of a second, so a rate that
 * is set takes hold at once.
 */
export class RateLimit {
  private balance = 0
  private at: number
  private bytesPerSecond: number

  constructor(
    bytesPerSecond: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.bytesPerSecond = bytesPerSecond
    this.at = now()
  }

  setRate(bytesPerSecond: number): void {
    this.settle()
    this.bytesPerSecond = bytesPerSecond
    // A debt from a lower rate must not outlive it by more than a second.
    this.balance = Math.max(this.balance, -bytesPerSecond)
  }

  get rate(): number {
    return this.bytesPerSecond
  }

  /** Milliseconds until the next batch may be sent; 0 is now. */
  delay(): number {
    this.settle()
    return this.balance >= 0 ? 0 : Math.ceil((-this.balance / this.bytesPerSecond) * 1000)
  }

  spend(bytes: number): void {
    this.settle()
    this.balance -= bytes
  }

  private settle(): void {
    const now = this.now()
    this.balance = Math.min(this.bytesPerSecond / 10, this.balance + ((now - this.at) / 1000) * this.bytesPerSecond)
    this.at = now
  }
}

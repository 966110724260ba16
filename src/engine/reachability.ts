import { backoffMs, Pause } from './backoff.js'

const FIRST_PROBE_MS = 250
const MAX_PROBE_MS = 60_000

/**
 * Whether a cluster can be reached, for everything that talks to it: once somebody found it down, one prober asks, and
 * all the others wait for its word. However many partitions a runner has, an outage costs one attempt a minute.
 */
export class Reachability {
  private probing: Promise<void> | undefined
  private closed = false
  private readonly pause = new Pause()

  constructor(private readonly probe: () => Promise<unknown>) {}

  /** Reports a failed connection; starts the prober unless it runs. */
  down(): void {
    if (this.closed) return
    this.probing ??= this.probeUntilUp().finally(() => {
      this.probing = undefined
    })
  }

  /** Resolves at once while nothing is known to be wrong, else when the prober got an answer. */
  async whenUp(): Promise<void> {
    await this.probing
  }

  close(): void {
    this.closed = true
    this.pause.interrupt()
  }

  private async probeUntilUp(): Promise<void> {
    for (let attempt = 0; !this.closed; attempt++) {
      const reached = await this.probe().then(
        () => true,
        () => false,
      )
      if (reached || this.closed) return
      await this.pause.wait(backoffMs(attempt, FIRST_PROBE_MS, MAX_PROBE_MS))
    }
  }
}

import type { Cluster } from '../client/cluster.js'
import { Metadata } from '../protocol/api/metadata.js'
import { backoffMs, Pause } from './backoff.js'

const FIRST_PROBE_MS = 250
const SOON_MS = 1_000
const MAX_PROBE_MS = 60_000
/** A connection that stalls is given up after this, and the question asked again on a new one. */
const PROBE_TIMEOUT_MS = 5_000

/** A small question that any broker of the cluster answers at once. */
export const probeOf = (cluster: Cluster) => () => cluster.any(Metadata, { topics: [] }, { timeoutMs: PROBE_TIMEOUT_MS })

/**
 * Whether a cluster can be reached, for everything that talks to it: once somebody found it down, one prober asks, and
 * all the others wait for its word. However many partitions a runner has, an outage costs one attempt a minute.
 */
export class Reachability {
  private probing: Promise<void> | undefined
  private closed = false
  private readonly pause = new Pause()

  constructor(
    private readonly probe: () => Promise<unknown>,
    private readonly now: () => number = () => performance.now(),
  ) {}

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

  /** A restart of seconds is noticed within a second or two, one of minutes within a quarter of the time it took. */
  private async probeUntilUp(): Promise<void> {
    const downSince = this.now()
    for (let attempt = 0; !this.closed; attempt++) {
      const reached = await this.probe().then(
        () => true,
        () => false,
      )
      if (reached || this.closed) return
      const longest = Math.min(MAX_PROBE_MS, Math.max(SOON_MS, (this.now() - downSince) / 4))
      await this.pause.wait(backoffMs(attempt, FIRST_PROBE_MS, longest))
    }
  }
}

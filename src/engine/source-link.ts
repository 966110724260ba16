import type { Cluster } from '../client/cluster.js'
import type { ByteBudget } from './byte-budget.js'
import { classify } from './classify.js'
import { PartitionFailure } from './errors.js'
import { Fetcher } from './fetcher.js'
import { probeOf, Reachability } from './reachability.js'

/**
 * One mirror's way to its source: a cluster client and the fetchers on it. New credentials or addresses make a new link,
 * and the partitions move over.
 */
export class SourceLink {
  readonly reachability: Reachability
  private readonly fetchers = new Map<string, Fetcher>()
  private verified: Promise<void> | undefined

  constructor(
    readonly mirror: string,
    readonly cluster: Cluster,
    private readonly pinnedClusterId: string | undefined,
    private readonly budget: ByteBudget,
  ) {
    this.reachability = new Reachability(probeOf(cluster))
  }

  /** Makes sure that the cluster behind the addresses is the pinned one. Throws PartitionFailure when it is another. */
  async verify(): Promise<void> {
    this.verified ??= this.cluster.clusterId().then((id) => {
      if (this.pinnedClusterId === undefined || id === this.pinnedClusterId) return
      throw new PartitionFailure(
        `the source of mirror ${this.mirror} is cluster ${id} now, it was created for ${this.pinnedClusterId}: bootstrap.servers names another cluster`,
      )
    })
    try {
      await this.verified
    } catch (error) {
      this.verified = undefined
      throw error
    }
  }

  /** After an outage another cluster may answer at the same address. */
  forgetVerification(): void {
    this.verified = undefined
  }

  /** The fetcher of one (source leader, destination leader, index); its client id is the KIP's, so quotas can name it. */
  fetcher(sourceBroker: number, destinationBroker: number, index: number): Fetcher {
    const key = `${sourceBroker}/${destinationBroker}/${index}`
    let fetcher = this.fetchers.get(key)
    if (fetcher === undefined) {
      const clientId = `broker-${destinationBroker}-fetcher-${index}-mirror-${this.mirror}`
      fetcher = new Fetcher(
        () => this.cluster.dedicated(sourceBroker, { clientId, buffers: this.budget.buffers }),
        this.budget,
        (error) => classify(error, 'source'),
      )
      this.fetchers.set(key, fetcher)
    }
    return fetcher
  }

  async close(): Promise<void> {
    this.reachability.close()
    await Promise.all([...this.fetchers.values()].map((fetcher) => fetcher.close()))
    await this.cluster.close()
  }
}

import type { Cluster } from '../client/cluster.js'
import type { SpecStore } from '../mirror/spec-store.js'
import { syncGroups } from '../sync/groups/sync-groups.js'

/** What the loops beside the copying do for a topic that leaves. */
export interface RemovalPorts {
  /** Commits what the source's groups have committed for these topics. */
  syncGroups(work: {
    readonly source: Cluster
    readonly destination: Cluster
    readonly topics: ReadonlySet<string>
    readonly include: readonly string[]
    readonly exclude: readonly string[]
  }): Promise<{ readonly changes: number; readonly problems: readonly { readonly item: string; readonly message: string }[] }>
  /** Gives back the rights that were withheld on a topic and lifts its guard; gives warnings. Safe to repeat. */
  releaseAcls(work: {
    readonly destination: Cluster
    readonly store: SpecStore
    readonly mirror: string
    readonly topic: string
  }): Promise<readonly string[]>
}

export const REMOVAL_PORTS: RemovalPorts = {
  syncGroups,
  releaseAcls: async () => [],
}

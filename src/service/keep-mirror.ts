import type { Cluster } from '../client/cluster.js'
import type { MirrorAccess, MirrorKeeper } from '../engine/mirror-keepers.js'
import type { SpecStore } from '../mirror/spec-store.js'
import { MirrorSync, SYNC_LOOPS } from '../sync/index.js'
import { topicAdmission } from './topic-admission.js'

/** Keeps a mirror's topics, settings, groups and rules in step with the source, for the runner that holds its shard. */
export function keepMirror(access: MirrorAccess, destination: Cluster, store: SpecStore): MirrorKeeper {
  const frame = {
    mirror: access.mirror,
    destination,
    store,
    state: () => access.state(),
    config: () => access.config(),
    now: Date.now,
    ownsShard: () => access.ownsShard(),
  }
  const connect = async () => {
    const source = await access.source()
    return { ...frame, source, admission: topicAdmission(source, destination) }
  }
  const sync = new MirrorSync({ ...frame, connect }, SYNC_LOOPS, (loop, outcome) => access.writeStatus(loop, outcome))
  sync.start()
  return sync
}

import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import { mirrorConfigOf } from '../../src/mirror/config.js'
import type { MirrorState } from '../../src/mirror/fold.js'
import type { SpecStore } from '../../src/mirror/spec-store.js'
import { StateStore } from '../../src/service/state-store.js'
import { topicAdmission } from '../../src/service/topic-admission.js'
import type { SyncContext, SyncLoop, SyncReport } from '../../src/sync/types.js'

/** A moment of a round: its first look at the latest state, where it may write, is decision 1. */
export type Moment = `${'before' | 'after'} decision ${number}`

export interface RoundOptions {
  /** False: on the state as it was read for the last round. */
  readonly fresh?: boolean
  /** What happens in between; a throw ends the round there, as a kill would. */
  readonly interrupt?: (moment: Moment) => Promise<void>
}

function interrupted(store: SpecStore, interrupt: RoundOptions['interrupt']): SpecStore {
  let decisions = 0
  return {
    async update(decide) {
      const decision = ++decisions
      await interrupt?.(`before decision ${decision}`)
      const result = await store.update(decide)
      await interrupt?.(`after decision ${decision}`)
      return result
    },
  }
}

/** Runs single rounds of a mirror's slow loops, when a test wants them, on what the state topic says by then. */
export class SyncRounds {
  private readonly source: Cluster
  private readonly destination: Cluster
  private readonly store: StateStore
  private latest: MirrorState | undefined

  constructor(
    private readonly mirror: string,
    bootstrap: { readonly source: string; readonly destination: string },
  ) {
    const open = (servers: string) => new Cluster(clientConfigOf(new Map([['bootstrap.servers', servers]])).config)
    this.source = open(bootstrap.source)
    this.destination = open(bootstrap.destination)
    this.store = new StateStore(this.destination)
  }

  /** One round, on fresh state unless told; throws what the round as a whole failed by. */
  async round(loop: SyncLoop, options: RoundOptions = {}): Promise<SyncReport> {
    if (options.fresh !== false || this.latest === undefined) this.latest = await this.store.read()
    return loop.run({ ...this.context, store: interrupted(this.store, options.interrupt) })
  }

  async state(): Promise<MirrorState> {
    return this.store.read()
  }

  async close(): Promise<void> {
    await Promise.all([this.source.close(), this.destination.close()])
  }

  private get context(): SyncContext {
    const { mirror, source, destination, store } = this
    const state = this.latest!
    return {
      mirror,
      source,
      destination,
      store,
      admission: topicAdmission(source, destination),
      state: () => state,
      config: () => mirrorConfigOf(state.mirror(mirror)?.configs ?? new Map()),
      now: Date.now,
      ownsShard: () => true,
    }
  }
}

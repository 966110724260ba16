import type { Cluster } from '../client/cluster.js'
import type { MirrorConfig } from '../mirror/config.js'
import type { MirrorState } from '../mirror/fold.js'
import { mirrorShardOf } from '../mirror/shards.js'
import type { SyncLoopName, SyncStatus } from '../mirror/state.js'
import { formatKey } from '../mirror/state-keys.js'
import { encodeValue } from '../mirror/state-values.js'
import type { SourceLink } from './source-link.js'
import type { StateLog } from './state-log.js'

/** Letting go of a mirror waits no longer than this for a round that is under way. */
const CLOSED_WITHIN_MS = 5_000

/** What keeps a mirror may use of the runner. */
export interface MirrorAccess {
  readonly mirror: string
  /** The mirror's source, once it is known to be the pinned cluster. Throws when it cannot be opened or reached, or is another. */
  source(): Promise<Cluster>
  state(): MirrorState
  config(): MirrorConfig
  /** False once the mirror's shard is another runner's: nothing more is begun. */
  ownsShard(): boolean
  /** Puts the outcome of a round of a loop on record. Throws KafkaError, ConnectionError. */
  writeStatus(loop: SyncLoopName, outcome: Omit<SyncStatus, 'ownerEpoch' | 'owner'>): Promise<void>
}

/** Keeps what a mirror has beside its records; see the loops of `sync`. */
export interface MirrorKeeper {
  /** What operators want may have changed. */
  changed(): void
  /** Begins nothing more; resolves once what is under way has ended. */
  close(): Promise<void>
}

export interface MirrorKeepersPort {
  readonly log: Pick<StateLog, 'append'>
  readonly owner: string
  readonly state: MirrorState
  config(mirror: string): MirrorConfig
  link(mirror: string): SourceLink | undefined
  /** Why a source that is needed is not open. */
  trouble(mirror: string): string | undefined
  /** The owner epoch of a shard that is held, and whose session lasts; else undefined. */
  epochOf(shard: number): number | undefined
  begin(access: MirrorAccess): MirrorKeeper
}

interface Kept {
  readonly keeper: MirrorKeeper
  readonly ended: AbortController
}

/** The keepers of the mirrors whose own shard this runner holds. */
export class MirrorKeepers {
  private readonly keepers = new Map<string, Kept>()

  constructor(private readonly port: MirrorKeepersPort) {}

  /** Begins and ends what should run; with `wake` all others look again. */
  reconcile(mirrors: ReadonlySet<string>, { wake }: { readonly wake: boolean }): void {
    for (const [mirror, { keeper }] of this.keepers) {
      if (!mirrors.has(mirror)) void this.end(mirror)
      else if (wake) keeper.changed()
    }
    for (const mirror of mirrors) if (!this.keepers.has(mirror)) this.begin(mirror)
  }

  /** Lets go of the mirrors on these shards; waits a moment for rounds that are under way. */
  async release(shards: ReadonlySet<number>): Promise<void> {
    const leaving = [...this.keepers.keys()].filter((mirror) => shards.has(mirrorShardOf(mirror)))
    await Promise.all(leaving.map((mirror) => this.end(mirror)))
  }

  async close(): Promise<void> {
    await Promise.all([...this.keepers.keys()].map((mirror) => this.end(mirror)))
  }

  private begin(mirror: string): void {
    const ended = new AbortController()
    this.keepers.set(mirror, { ended, keeper: this.port.begin(this.access(mirror, ended.signal)) })
  }

  private async end(mirror: string): Promise<void> {
    const kept = this.keepers.get(mirror)
    this.keepers.delete(mirror)
    kept?.ended.abort()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSED_WITHIN_MS)
    })
    await Promise.race([kept?.keeper.close(), late])
    clearTimeout(timer)
  }

  /** A round that outlives its keeper owns nothing any more, also when the shard has come back since. */
  private access(mirror: string, ended: AbortSignal): MirrorAccess {
    const { port } = this
    const shard = mirrorShardOf(mirror)
    return {
      mirror,
      source: async () => {
        const link = port.link(mirror)
        if (link === undefined) throw new Error(`the source cannot be opened: ${port.trouble(mirror) ?? 'the mirror is gone'}`)
        await link.verify()
        return link.cluster
      },
      state: () => port.state,
      config: () => port.config(mirror),
      ownsShard: () => !ended.aborted && port.epochOf(shard) !== undefined,
      writeStatus: async (loop, outcome) => {
        const ownerEpoch = port.epochOf(shard)
        if (ended.aborted || ownerEpoch === undefined) return
        const value = encodeValue('sync', { ...outcome, ownerEpoch, owner: port.owner })
        await port.log.append(shard, [{ key: formatKey({ kind: 'sync', mirror, loop }), value }])
      },
    }
  }
}

import { writeMarkersOfMany } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import type { MirrorState } from '../mirror/fold.js'
import type { ThrottledReplica } from '../mirror/throttles.js'
import { AppendLane } from './append-lane.js'
import { MarkerLane } from './marker-lane.js'
import { destinationLogEnds } from './positions.js'
import { RateLimit } from './rate-limit.js'
import { probeOf, Reachability } from './reachability.js'

/** A right that was missing is asked for again after this: it may have been granted. */
const MARKERS_AGAIN_AFTER_MS = 5 * 60_000

/** The destination: append lanes by leader and index, and the throttles that bind them. */
export class DestinationLink {
  readonly reachability: Reachability
  private readonly lanes = new Map<string, Promise<AppendLane>>()
  private readonly markerLanes = new Map<number, MarkerLane>()
  private readonly limits = new Map<number, RateLimit>()
  private markersRefusedAt = Number.NEGATIVE_INFINITY
  private replicas: ReadonlyMap<string, readonly ThrottledReplica[] | '*'> = new Map()

  constructor(
    readonly cluster: Cluster,
    private readonly clientId: string,
    private readonly mayAppend: () => boolean,
  ) {
    this.reachability = new Reachability(probeOf(cluster))
  }

  /** The lane to a leader. Partitions of one fetcher share one, so that their order holds. Throws ConnectionError. */
  async lane(brokerId: number, index: number): Promise<AppendLane> {
    const key = `${brokerId}/${index}`
    for (let current = this.lanes.get(key); current !== undefined; current = this.lanes.get(key)) {
      const lane = await current.catch(() => undefined)
      if (lane?.open) return lane
      // Somebody else may have opened a new one while we looked.
      if (this.lanes.get(key) === current) this.lanes.delete(key)
    }
    const opened = this.cluster
      .dedicated(brokerId, { clientId: `${this.clientId}-append-${index}` })
      .then((connection) => new AppendLane(connection, this.mayAppend))
    this.lanes.set(key, opened)
    return opened
  }

  /** Whether the right to write markers was found missing not long ago: for one partition it is for all. */
  get refusesMarkers(): boolean {
    return performance.now() - this.markersRefusedAt < MARKERS_AGAIN_AFTER_MS
  }

  markersRefused(): void {
    this.markersRefusedAt = performance.now()
  }

  /** Few markers for each of a leader's partitions. */
  markerLane(brokerId: number): MarkerLane {
    let lane = this.markerLanes.get(brokerId)
    if (lane === undefined) {
      lane = new MarkerLane({
        write: (markers) => writeMarkersOfMany(this.cluster, brokerId, markers),
        logEnds: (partitions) => destinationLogEnds(this.cluster, brokerId, partitions),
      })
      this.markerLanes.set(brokerId, lane)
    }
    return lane
  }

  /** Takes over the throttles as the operators set them. */
  setThrottles(state: MirrorState): void {
    this.replicas = new Map(state.topicThrottles)
    for (const [broker, rate] of state.brokerThrottles) {
      const limit = this.limits.get(broker)
      if (limit === undefined) this.limits.set(broker, new RateLimit(rate))
      else limit.setRate(rate)
    }
    for (const broker of this.limits.keys()) if (!state.brokerThrottles.has(broker)) this.limits.delete(broker)
  }

  /** A broker's rate binds every partition it leads, unless the topic lists replicas: then only those. */
  limitOf(topic: string, partition: number, brokerId: number): RateLimit | undefined {
    const listed = this.replicas.get(topic)
    const bound =
      listed === undefined || listed === '*' || listed.some((replica) => replica.partition === partition && replica.broker === brokerId)
    return bound ? this.limits.get(brokerId) : undefined
  }

  async close(): Promise<void> {
    this.reachability.close()
    const lanes = await Promise.allSettled(this.lanes.values())
    await Promise.all(lanes.map((lane) => (lane.status === 'fulfilled' ? lane.value.close() : undefined)))
  }
}

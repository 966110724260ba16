import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from '../client/cluster.js'
import { PartitionFailure } from './errors.js'
import { destinationLogEnd } from './positions.js'

const LOG_END_WITHIN_MS = 10_000

export interface LogEndPort {
  readonly cluster: Cluster
  readonly topic: string
  readonly partition: number
  readonly leaderEpoch: number
}

/**
 * Resolves once the log end at the destination's leader is `expected`, as after a fill.
 * @throws PartitionFailure when it is further than that; Error when it is not there within ten seconds; KafkaError.
 */
export async function awaitLogEnd(port: LogEndPort, expected: bigint): Promise<void> {
  const until = performance.now() + LOG_END_WITHIN_MS
  // Nearly always there at the first look.
  for (let wait = 1; ; wait = Math.min(wait * 2, 100)) {
    const logEndOffset = await destinationLogEnd(port.cluster, port.topic, port.partition, port.leaderEpoch)
    if (logEndOffset === expected) return
    if (logEndOffset > expected) {
      throw new PartitionFailure(
        `the destination's log end of ${port.topic}-${port.partition} is ${logEndOffset} where ${expected} was expected: something else writes to it`,
      )
    }
    if (performance.now() > until) throw new Error(`fills up to offset ${expected} did not show in the log within ${LOG_END_WITHIN_MS} ms`)
    await sleep(wait)
  }
}

import { stableHash } from '../../mirror/shards.js'

/**
 * How often unchanged positions are written again. Brokers drop those of idle groups after `offsets.retention.minutes` (a
 * week unless told otherwise, a day before Kafka 2.0): after a failover nobody writes them any more, and then this much of
 * the retention may have passed at most.
 */
const PERIOD_MS = 6 * 3_600_000

/**
 * Whether a group is due now. Every group has its moment of the period, from its name alone: the load is spread, and nobody
 * has to remember anything, whoever runs the loop. One whose moment is missed waits for the next.
 *
 * @param now milliseconds since the epoch
 * @param windowMs rounds come at least this often
 */
export function isDue(groupId: string, now: number, windowMs: number): boolean {
  const moment = (stableHash(groupId) / 2 ** 32) * PERIOD_MS
  return (((now - moment) % PERIOD_MS) + PERIOD_MS) % PERIOD_MS < windowMs
}

/** The compacted topic on the destination that holds all state; its partitions are the shards. */
export const STATE_TOPIC = '__kafka_mirrors'

/** The consumer group that runners join; a runner is alive while it is a member. */
export const RUNNER_GROUP = '__kafka_mirrors'

/** Partition of everything operators write: one order, one lock. */
export const SPEC_PARTITION = 0

/** Runners' default session timeout in their group, milliseconds. */
export const DEFAULT_SESSION_TIMEOUT_MS = 10_000

/** Never mirrored: each cluster has its own. Topics that brokers mark as internal are not either. */
export const CLUSTER_OWN_TOPICS: ReadonlySet<string> = new Set([
  STATE_TOPIC,
  '__consumer_offsets',
  '__transaction_state',
  '__share_group_state',
  '__cluster_metadata',
  '__mirror_state',
])

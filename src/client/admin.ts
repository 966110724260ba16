/** Administrative requests over a {@link Cluster}, one function each; outcomes of many items are `Result`s in their order. */
export * from './admin-configs.js'
export * from './admin-partitions.js'
export * from './admin-producers.js'
export * from './admin-quotas.js'
export * from './admin-topics.js'
export * from './admin-transactions.js'
export type { TopicPartition } from './by-leader.js'
export * from './result.js'

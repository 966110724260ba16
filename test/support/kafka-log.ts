/** A topic's log through Kafka's own clients. */
export * from './cluster-access.js'
export * from './read-log.js'
export * from './write-log.js'

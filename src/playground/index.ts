export { type BrokerOptions, KafkaBroker, startBroker, startCluster } from './kafka-broker.js'
export { type JarsOptions, type KafkaJars, kafkaJars } from './kafka-jars.js'
export { type PlaygroundAdmin, type PlaygroundIo, type PlaygroundOptions, runPlayground } from './playground.js'
export { SetupError } from './process.js'

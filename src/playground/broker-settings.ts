import { join } from 'node:path'

export type SecurityProtocol = 'PLAINTEXT' | 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL'

/** One address a broker listens on. */
export interface Listener {
  /** Kafka's listener name, upper case. */
  readonly name: string
  readonly protocol: SecurityProtocol
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** Default: a free one. */
  readonly port?: number
  /** `host:port` that clients are told; default: the address itself. A proxy's, for example. */
  readonly advertised?: string
}

/** A listener with its port known. */
export interface BoundListener extends Listener {
  readonly host: string
  readonly port: number
}

export interface BrokerSettings {
  readonly nodeId: number
  readonly dataDir: string
  readonly listeners: readonly BoundListener[]
  /** All controllers of the cluster: node id → port on 127.0.0.1. The node's own is among them. */
  readonly controllers: ReadonlyMap<number, number>
  readonly properties?: Readonly<Record<string, string>>
}

/** Small internal topics and no waiting: a broker for trying things. Each may be overridden. */
const QUICK: Readonly<Record<string, string>> = {
  'offsets.topic.num.partitions': '5',
  'offsets.topic.replication.factor': '1',
  'transaction.state.log.num.partitions': '5',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'share.coordinator.state.topic.num.partitions': '5',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
  'group.initial.rebalance.delay.ms': '0',
  'controlled.shutdown.retry.backoff.ms': '200',
  'num.network.threads': '2',
  'num.io.threads': '4',
  'log.cleaner.dedupe.buffer.size': '4194304',
}

/** The server.properties of a KRaft broker that is its own controller. The first listener is the one between brokers. */
export function brokerProperties(settings: BrokerSettings): Map<string, string> {
  const { nodeId, listeners, controllers } = settings
  const address = (listener: BoundListener) => `${listener.name}://${listener.host}:${listener.port}`
  const properties = new Map<string, string>([
    ...Object.entries(QUICK),
    ['process.roles', 'broker,controller'],
    ['node.id', String(nodeId)],
    ['controller.quorum.voters', [...controllers].map(([id, port]) => `${id}@127.0.0.1:${port}`).join(',')],
    ['controller.listener.names', 'CONTROLLER'],
    ['listeners', [...listeners.map(address), `CONTROLLER://127.0.0.1:${controllers.get(nodeId)}`].join(',')],
    [
      'advertised.listeners',
      listeners.map((listener) => (listener.advertised ? `${listener.name}://${listener.advertised}` : address(listener))).join(','),
    ],
    [
      'listener.security.protocol.map',
      ['CONTROLLER:PLAINTEXT', ...listeners.map((listener) => `${listener.name}:${listener.protocol}`)].join(','),
    ],
    ['inter.broker.listener.name', listeners[0]!.name],
    ['log.dirs', join(settings.dataDir, 'logs')],
  ])
  if (controllers.size > 1) {
    for (const topic of ['offsets.topic', 'transaction.state.log', 'share.coordinator.state.topic']) {
      properties.set(`${topic}.replication.factor`, String(Math.min(3, controllers.size)))
    }
  }
  for (const [key, value] of Object.entries(settings.properties ?? {})) properties.set(key, value)
  return properties
}

/** Text of a Java properties file; values may hold any characters. */
export function propertiesText(properties: ReadonlyMap<string, string>): string {
  const escaped = (text: string) => text.replace(/\\/g, '\\\\').replace(/\r?\n/g, '\\n')
  return [...properties].map(([key, value]) => `${key}=${escaped(value)}\n`).join('')
}

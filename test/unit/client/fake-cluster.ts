import { clientConfigOf } from '../../../src/client/config.js'
import type { Connection, Open, OpenOptions } from '../../../src/client/connection.js'
import { ConnectionError, type ConnectionErrorKind } from '../../../src/client/errors.js'
import type { Api } from '../../../src/protocol/index.js'

export const CONFIG = clientConfigOf(new Map([['bootstrap.servers', 'boot:1']])).config

/** Answers a request to a broker, by `host:port` and API name; throws to fail it. */
export type Script = (at: string, api: string, request: unknown) => unknown

/** Connections without sockets. `open` may be told to fail, and notes its calls. */
export class FakeBrokers {
  readonly opened: string[] = []
  readonly sent: string[] = []
  readonly connections: FakeConnection[] = []
  readonly refusing = new Map<string, ConnectionErrorKind>()

  constructor(readonly script: Script) {}

  readonly open: Open = async (address, _config, options: OpenOptions = {}) => {
    const at = `${address.host}:${address.port}`
    this.opened.push(at)
    const kind = this.refusing.get(at)
    if (kind !== undefined) throw new ConnectionError({ kind, address, reason: kind, advertisedBy: options.advertisedBy })
    const connection = new FakeConnection(this, at, options.brokerId)
    this.connections.push(connection)
    return connection as unknown as Connection
  }
}

export class FakeConnection {
  open = true
  pending = 0
  retired = false
  readonly address

  constructor(
    private readonly brokers: FakeBrokers,
    private readonly at: string,
    readonly brokerId: number | undefined,
  ) {
    const [host, port] = at.split(':')
    this.address = { host: host!, port: Number(port) }
  }

  async send(api: Api, request: unknown): Promise<unknown> {
    this.brokers.sent.push(`${this.at} ${api.name}`)
    return this.brokers.script(this.at, api.name, request)
  }

  lose(kind: ConnectionErrorKind = 'closed'): never {
    this.open = false
    throw new ConnectionError({ kind, address: this.address, reason: kind, uncertain: true })
  }

  retire(): void {
    this.retired = true
    this.open = false
  }

  async close(): Promise<void> {
    this.open = false
  }
}

/** A Metadata answer. Leaders by topic: partition → [broker, epoch]. */
export function metadata(brokers: Record<number, string>, leaders: Record<string, Array<[broker: number, epoch: number]>> = {}) {
  return {
    errorCode: 0,
    clusterId: 'cluster',
    controllerId: Number(Object.keys(brokers)[0] ?? -1),
    brokers: Object.entries(brokers).map(([id, at]) => ({
      nodeId: Number(id),
      host: at.split(':')[0],
      port: Number(at.split(':')[1]),
      rack: null,
    })),
    topics: Object.entries(leaders).map(([name, partitions]) => ({
      errorCode: 0,
      name,
      topicId: `id-${name}`,
      isInternal: false,
      partitions: partitions.map(([leaderId, leaderEpoch], partitionIndex) => ({
        errorCode: leaderId < 0 ? 5 : 0,
        partitionIndex,
        leaderId,
        leaderEpoch,
        replicaNodes: [leaderId],
        isrNodes: [leaderId],
        offlineReplicas: [],
      })),
    })),
  }
}

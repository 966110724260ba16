import { clientConfigOf } from '../../src/client/config.js'
import { type Connection, openConnection } from '../../src/client/connection.js'
import { CreateTopics, DeleteTopics, Errors, kafkaError, ListOffsets } from '../../src/protocol/index.js'

export const connect = (bootstrap: string): Promise<Connection> => {
  const { config } = clientConfigOf(new Map(), { bootstrapServers: bootstrap, clientId: 'bench' })
  return openConnection(config.bootstrapServers[0]!, config)
}

/** A single-node cluster, asked over one connection. */
export class BenchNode {
  private constructor(
    readonly bootstrap: string,
    private readonly connection: Connection,
  ) {}

  static async open(bootstrap: string): Promise<BenchNode> {
    return new BenchNode(bootstrap, await connect(bootstrap))
  }

  close(): Promise<void> {
    return this.connection.close()
  }

  async createTopic(name: string, partitions: number): Promise<void> {
    const request = { topics: [{ name, numPartitions: partitions, replicationFactor: 1 }], timeoutMs: 30_000 }
    const response = await this.connection.send(CreateTopics, request)
    check(response.topics[0]!.errorCode)
    await until(`topic ${name} has a leader`, async () => (await this.logEnds(name, partitions)) !== undefined)
  }

  /** Deletes a topic if it is there, and waits until it is gone. */
  async deleteTopic(name: string): Promise<void> {
    const { responses } = await this.connection.send(DeleteTopics, { topics: [{ name }], topicNames: [name], timeoutMs: 30_000 })
    const { errorCode } = responses[0]!
    if (errorCode !== Errors.UNKNOWN_TOPIC_OR_PARTITION) check(errorCode)
    await until(`topic ${name} is gone`, async () => (await this.logEnds(name, 1)) === undefined)
  }

  /** The log end of each partition; undefined while any of them has no leader. */
  async logEnds(name: string, partitions: number): Promise<bigint[] | undefined> {
    const wanted = Array.from({ length: partitions }, (_, partitionIndex) => ({ partitionIndex, timestamp: -1n }))
    const { topics } = await this.connection.send(ListOffsets, { topics: [{ name, partitions: wanted }] })
    const found = topics[0]!.partitions
    if (found.some((p) => p.errorCode !== 0)) return undefined
    return [...found].sort((a, b) => a.partitionIndex - b.partitionIndex).map((p) => p.offset)
  }
}

function check(errorCode: number): void {
  if (errorCode !== 0) throw kafkaError(errorCode)
}

/** Asks every 50 ms until it holds. @throws after the time bound, saying what never happened */
export async function until(what: string, holds: () => Promise<boolean>, withinMs = 60_000): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs / 1000} s: ${what}`)
    await pause(50)
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

import type { Connection } from '../../client/connection.js'
import { Fetch } from '../../protocol/api/fetch.js'
import { NO_UUID, type RequestOf, type ResponseOf } from '../../protocol/schema.js'

/** A broker answers a connection's requests one after the other: more of them under way only hide how long the way is. */
const UNDER_WAY = 8
const TIMEOUT_MS = 60_000
const FIRST_VERSION_WITH_TOPIC_IDS = 13

/** Fetches from one broker on a connection of its own, several at a time; opened when first used and again after it is lost. */
export class FetchLane {
  private connection: Promise<Connection> | undefined
  private opening: Promise<Connection> | undefined
  private underWay = 0
  private readonly waiting: (() => void)[] = []

  constructor(private readonly connect: () => Promise<Connection>) {}

  /** Rejects with ConnectionError. */
  async fetch(request: RequestOf<typeof Fetch>): Promise<ResponseOf<typeof Fetch>> {
    if (this.underWay >= UNDER_WAY) await new Promise<void>((resolve) => this.waiting.push(resolve))
    this.underWay++
    try {
      const connection = await this.opened()
      const byId = request.topics.every(({ topicId }) => topicId !== NO_UUID)
      const maxVersion = byId ? Fetch.versions.max : FIRST_VERSION_WITH_TOPIC_IDS - 1
      return await connection.send(Fetch, request, { timeoutMs: TIMEOUT_MS, maxVersion })
    } finally {
      this.underWay--
      this.waiting.shift()?.()
    }
  }

  async close(): Promise<void> {
    const connection = await this.connection?.catch(() => undefined)
    await connection?.close()
  }

  private async opened(): Promise<Connection> {
    const known = await this.connection?.catch(() => undefined)
    if (known?.open) return known
    // Whoever comes first opens it for all.
    this.opening ??= this.connect().finally(() => {
      this.opening = undefined
    })
    this.connection = this.opening
    return this.opening
  }
}

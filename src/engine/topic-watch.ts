import type { TopicMetadata } from '../client/metadata.js'
import { Errors } from '../protocol/errors.js'

export interface TopicWatchPort {
  /** Topics to look at now. */
  topics(): ReadonlySet<string>
  /** Time between two looks in milliseconds; asked again and again, since it may change. */
  intervalMs(): number
  look(topics: readonly string[]): Promise<ReadonlyMap<string, TopicMetadata>>
  /** What was seen: the topic's id, undefined when it is gone. */
  seen(topic: string, topicId: string | undefined): void
  /** Looks whether the logs of partitions at rest still end where they should. */
  lookAtEnds(): Promise<void>
}

const TICK_MS = 1_000

/**
 * Looks at the destination's topics now and then. Whoever appends is told that a topic was deleted or made again, that something
 * else wrote to it, or that its log was truncated by an election; an idle partition would never know.
 */
export class TopicWatch {
  private timer: NodeJS.Timeout | undefined
  private lookedAt: number
  private looking = false

  constructor(
    private readonly port: TopicWatchPort,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.lookedAt = now()
  }

  /** Looks again and again until {@link close}. */
  start(): void {
    this.timer ??= setInterval(() => void this.tick(), TICK_MS).unref()
  }

  close(): void {
    clearInterval(this.timer)
  }

  private async tick(): Promise<void> {
    if (this.looking || this.now() - this.lookedAt < this.port.intervalMs()) return
    this.looking = true
    // Out of reach: whoever copies finds that out by itself.
    await this.look().catch(() => {})
    this.looking = false
    this.lookedAt = this.now()
  }

  private async look(): Promise<void> {
    const topics = [...this.port.topics()]
    if (topics.length === 0) return
    await this.port.lookAtEnds()
    const found = await this.port.look(topics)
    for (const topic of topics) {
      const metadata = found.get(topic)
      if (metadata === undefined || metadata.errorCode === Errors.UNKNOWN_TOPIC_OR_PARTITION) this.port.seen(topic, undefined)
      else if (metadata.errorCode === 0) this.port.seen(topic, metadata.topicId)
    }
  }
}

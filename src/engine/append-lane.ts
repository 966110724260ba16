import type { Connection } from '../client/connection.js'
import { ConnectionError } from '../client/errors.js'
import { Produce } from '../protocol/api/produce.js'
import type { RequestOf, ResponseOf } from '../protocol/schema.js'
import type { CopyEnd } from './copy-session.js'
import { LostPlace } from './errors.js'
import type { PartitionCopy } from './partition-copy.js'
import type { Sendable } from './step-queue.js'

/** Requests in flight on one connection. The broker works on one at a time; more only lengthens its queue. */
const MAX_REQUESTS = 5
/** A request is closed once it holds this much, so that answers come back while the next one is written. */
const MAX_REQUEST_BYTES = 2 << 20
const PRODUCE_TIMEOUT_MS = 30_000
/** A throttled lane looks again at least this often, since the rate may have been changed meanwhile. */
const LOOK_AGAIN_MS = 200
/** From this version on Produce names topics by id, which a recreated topic does not have (KIP-516). */
const FIRST_VERSION_WITH_TOPIC_IDS = 13

type Sent = { readonly copy: PartitionCopy; readonly batch: Sendable }

/**
 * All appends of one lane to one destination leader, on one connection so that the broker sees each partition's batches
 * in order. Every request carries at most one batch of each partition (the broker takes no more).
 */
export class AppendLane {
  private readonly ready = new Set<PartitionCopy>()
  private inFlight = 0
  private scheduled = false
  private timer: NodeJS.Timeout | undefined

  /**
   * @param mayAppend false once this runner's group session has run out by its own clock: nothing may be sent then.
   */
  constructor(
    private readonly connection: Connection,
    private readonly mayAppend: () => boolean,
  ) {}

  get open(): boolean {
    return this.connection.open
  }

  /** Tells the lane that `copy` has a batch to send. Sent at the end of this turn, together with the others' batches. */
  push(copy: PartitionCopy): void {
    this.ready.add(copy)
    if (this.scheduled) return
    this.scheduled = true
    queueMicrotask(() => {
      this.scheduled = false
      this.pump()
    })
  }

  async close(): Promise<void> {
    clearTimeout(this.timer)
    await this.connection.close()
  }

  private pump(): void {
    while (this.inFlight < MAX_REQUESTS && this.ready.size > 0) {
      const end = this.reasonToStop()
      if (end !== undefined) {
        for (const copy of this.ready) copy.finish(end)
        this.ready.clear()
        return
      }
      const sent = this.gather()
      if (sent.length === 0) return
      this.send(sent)
    }
  }

  private gather(): Sent[] {
    const sent: Sent[] = []
    let bytes = 0
    for (const copy of this.ready) {
      const wait = copy.limit?.delay() ?? 0
      if (wait > 0) {
        this.pumpLater(wait)
        continue
      }
      // Taken out and, if it has more, put back at the end: round robin over the partitions.
      this.ready.delete(copy)
      const batch = copy.takeBatch()
      if (batch === undefined) continue
      copy.limit?.spend(batch.step.size)
      sent.push({ copy, batch })
      bytes += batch.step.size
      if (bytes >= MAX_REQUEST_BYTES) break
    }
    for (const { copy } of sent) this.ready.add(copy)
    return sent
  }

  private send(sent: readonly Sent[]): void {
    this.inFlight++
    this.connection
      .send(Produce, produceRequest(sent), { timeoutMs: PRODUCE_TIMEOUT_MS + 5_000 })
      .then(
        (response) => this.answered(sent, response),
        (error) => {
          // Answers come in order: behind one that is late everything else on this connection is late too.
          if (error instanceof ConnectionError && error.kind === 'timeout') void this.connection.close()
          for (const { copy, batch } of sent) copy.unanswered(batch.step, batch.slab, error)
        },
      )
      .finally(() => {
        this.inFlight--
        this.pump()
      })
  }

  private answered(sent: readonly Sent[], response: ResponseOf<typeof Produce>): void {
    const byId = this.connection.versionOf(Produce) >= FIRST_VERSION_WITH_TOPIC_IDS
    const answers = new Map<string, (typeof response.responses)[number]['partitionResponses'][number]>()
    for (const topic of response.responses) {
      for (const answer of topic.partitionResponses) answers.set(`${byId ? topic.topicId : topic.name}/${answer.index}`, answer)
    }
    for (const { copy, batch } of sent) {
      const { start } = copy
      const answer = answers.get(`${byId ? start.destinationTopicId : start.topic}/${start.partition}`)
      if (answer === undefined) copy.unanswered(batch.step, batch.slab, new Error('the Produce answer lacks this partition'))
      else
        copy.answered(batch.step, batch.slab, { errorCode: answer.errorCode, baseOffset: answer.baseOffset, message: answer.errorMessage })
    }
  }

  private pumpLater(milliseconds: number): void {
    if (this.timer !== undefined) return
    this.timer = setTimeout(
      () => {
        this.timer = undefined
        this.pump()
      },
      Math.min(milliseconds, LOOK_AGAIN_MS),
    )
  }

  private reasonToStop(): CopyEnd | undefined {
    if (!this.mayAppend()) return { kind: 'retry', reason: new LostPlace().message }
    // Brokers close what is idle for long; nothing is lost or wrong then.
    if (this.inFlight === 0 && !this.connection.open)
      return { kind: 'realign', reason: 'the idle connection to the destination was closed' }
    return undefined
  }
}

function produceRequest(sent: readonly Sent[]): RequestOf<typeof Produce> {
  const topics = new Map<string, { name: string; topicId: string; partitionData: Array<{ index: number; records: Buffer[] }> }>()
  for (const { copy, batch } of sent) {
    const { topic, destinationTopicId, partition } = copy.start
    let entry = topics.get(topic)
    if (entry === undefined) {
      entry = { name: topic, topicId: destinationTopicId, partitionData: [] }
      topics.set(topic, entry)
    }
    entry.partitionData.push({ index: partition, records: [batch.step.bytes] })
  }
  return { acks: -1, timeoutMs: PRODUCE_TIMEOUT_MS, topicData: [...topics.values()] }
}

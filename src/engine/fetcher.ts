import type { Connection } from '../client/connection.js'
import { Fetch } from '../protocol/api/fetch.js'
import type { RequestOf, ResponseOf } from '../protocol/schema.js'
import { type ByteBudget, Slab } from './byte-budget.js'
import { type FetchChange, type FetchPosition, FetchSession } from './fetch-session.js'
import type { CopyEnd, PartitionCopy } from './partition-copy.js'

const READ_COMMITTED = 1
/** How long a broker holds an empty fetch. */
const IDLE_WAIT_MS = 500
/** … while a partition is left out because its queue is full: it wants to be back soon. */
const BUSY_WAIT_MS = 5
const PARTITION_MAX_BYTES = 2 << 20
const FETCH_TIMEOUT_MS = 15_000
const FIRST_VERSION_WITH_TOPIC_IDS = 13

const SESSION_LOST = new Set([70, 71, 106]) // FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR
const MOVED = new Set([3, 5, 6, 9, 56, 72, 74, 75, 78, 100, 103])
const OFFSET_OUT_OF_RANGE = 1

/**
 * One long-polling loop against one source leader, on its own connection and fetch session, for partitions that all go
 * to the same append lane. The next fetch is in flight while the last one is appended; the byte budget holds it back.
 */
export class Fetcher {
  private readonly copies = new Set<PartitionCopy>()
  private readonly session = new FetchSession()
  private connection: Connection | undefined
  private running: Promise<void> | undefined
  private wake: (() => void) | undefined
  private closed = false

  constructor(
    private readonly connect: () => Promise<Connection>,
    private readonly budget: ByteBudget,
    private readonly classify: (error: unknown) => CopyEnd,
  ) {}

  /** Copies the partition until its session is over. */
  add(copy: PartitionCopy): void {
    this.copies.add(copy)
    void copy.whenOver().then(() => this.copies.delete(copy))
    this.wake?.()
    this.ensureRunning()
  }

  private ensureRunning(): void {
    this.running ??= this.run().finally(() => {
      this.running = undefined
      // One may have been added while the last run was closing its connection.
      if (this.copies.size > 0 && !this.closed) this.ensureRunning()
    })
  }

  async close(): Promise<void> {
    this.closed = true
    this.wake?.()
    await this.connection?.close()
    await this.running
  }

  private async run(): Promise<void> {
    this.budget.addFetcher()
    try {
      while (!this.closed && this.copies.size > 0) {
        await this.budget.whenOpen()
        await this.round()
      }
    } catch (error) {
      const end = this.classify(error)
      for (const copy of this.copies) copy.finish(end)
    } finally {
      this.budget.removeFetcher()
      this.session.reset()
      const connection = this.connection
      this.connection = undefined
      await connection?.close()
    }
  }

  private async round(): Promise<void> {
    const wanted = [...this.copies].filter((copy) => copy.wantsData)
    if (wanted.length === 0) return this.pause()
    if (this.connection === undefined || !this.connection.open) {
      this.session.reset()
      this.connection = await this.connect()
    }
    const change = this.session.next(wanted.map(positionOf))
    const held = wanted.length < this.copies.size
    const response = await this.connection.send(
      Fetch,
      fetchRequest(change, held ? BUSY_WAIT_MS : IDLE_WAIT_MS, this.budget.fetchMaxBytes),
      {
        timeoutMs: FETCH_TIMEOUT_MS,
      },
    )
    if (SESSION_LOST.has(response.errorCode)) return this.session.reset()
    if (response.errorCode !== 0) throw new Error(`the source answers Fetch with error ${response.errorCode}`)
    this.session.answered(response.sessionId)
    this.deliver(response, wanted, this.connection.versionOf(Fetch) >= FIRST_VERSION_WITH_TOPIC_IDS)
  }

  /** Every partition is full or draining: a turn of the event loop per check would be a busy loop. */
  private async pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, BUSY_WAIT_MS)
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.wake = undefined
  }

  /**
   * Only to whom the question was: a copy of the same partition that was added while the answer was under way starts
   * elsewhere, and would take what lies between for a hole.
   */
  private deliver(response: ResponseOf<typeof Fetch>, asked: readonly PartitionCopy[], byId: boolean): void {
    const answers = response.responses.flatMap((topic) =>
      topic.partitions.map((p) => [`${byId ? topic.topicId : topic.topic}/${p.partitionIndex}`, p] as const),
    )
    const slab = new Slab(
      this.budget,
      answers.reduce((sum, [, p]) => sum + p.records.length, 0),
      () => {
        // All record sets are views of one response.
        const [first] = answers
        if (first !== undefined) this.budget.buffers.recycle(first[1].records)
      },
    )
    const copies = new Map(
      asked.map((copy) => [`${byId ? copy.start.sourceTopicId : copy.start.topic}/${copy.start.partition}`, copy] as const),
    )
    try {
      for (const [key, answer] of answers) {
        const copy = copies.get(key)
        if (copy === undefined) continue
        const end = endOf(answer, copy)
        if (end !== undefined) copy.finish(end)
        else copy.fetched({ ...answer, abortedTransactions: answer.abortedTransactions ?? [] }, slab)
      }
    } finally {
      slab.release()
    }
  }
}

type Answer = ResponseOf<typeof Fetch>['responses'][number]['partitions'][number]

/** What a partition's error or diverging epoch means, undefined while all is well. */
function endOf(answer: Answer, copy: PartitionCopy): CopyEnd | undefined {
  if (answer.divergingEpoch.epoch >= 0 || answer.divergingEpoch.endOffset >= 0n) {
    return {
      kind: 'failed',
      reason: `the source's log was truncated: its leader epoch ${answer.divergingEpoch.epoch} ends at offset ${answer.divergingEpoch.endOffset}, copied is up to ${copy.logEndOffset}`,
    }
  }
  if (answer.errorCode === 0) return undefined
  if (answer.errorCode === OFFSET_OUT_OF_RANGE)
    return { kind: 'realign', reason: `offset ${copy.fetchOffset} is out of the source's range` }
  const reason = `the source answers Fetch with error ${answer.errorCode}`
  return MOVED.has(answer.errorCode) ? { kind: 'moved', side: 'source', reason } : { kind: 'retry', reason }
}

const positionOf = (copy: PartitionCopy): FetchPosition => ({
  topic: copy.start.topic,
  topicId: copy.start.sourceTopicId,
  partition: copy.start.partition,
  fetchOffset: copy.fetchOffset,
  lastFetchedEpoch: copy.lastFetchedEpoch,
  currentLeaderEpoch: copy.start.sourceLeaderEpoch,
  maxBytes: PARTITION_MAX_BYTES,
})

function fetchRequest(change: FetchChange, maxWaitMs: number, maxBytes: number): RequestOf<typeof Fetch> {
  const topics = new Map<
    string,
    {
      topic: string
      topicId: string
      partitions: Array<Record<string, unknown> & { partition: number; fetchOffset: bigint; partitionMaxBytes: number }>
    }
  >()
  for (const p of change.positions) {
    let entry = topics.get(p.topic)
    if (entry === undefined) {
      entry = { topic: p.topic, topicId: p.topicId, partitions: [] }
      topics.set(p.topic, entry)
    }
    entry.partitions.push({
      partition: p.partition,
      currentLeaderEpoch: p.currentLeaderEpoch,
      fetchOffset: p.fetchOffset,
      lastFetchedEpoch: p.lastFetchedEpoch,
      partitionMaxBytes: p.maxBytes,
    })
  }
  return {
    maxWaitMs,
    minBytes: 1,
    maxBytes,
    isolationLevel: READ_COMMITTED,
    sessionId: change.sessionId,
    sessionEpoch: change.sessionEpoch,
    topics: [...topics.values()],
    forgottenTopicsData: change.forgotten.map((p) => ({ topic: p.topic, topicId: p.topicId, partitions: [p.partition] })),
  }
}

import type { Connection } from '../client/connection.js'
import { ConnectionError } from '../client/errors.js'
import { Fetch } from '../protocol/api/fetch.js'
import { Errors, kafkaError } from '../protocol/errors.js'
import { NO_UUID, type RequestOf, type ResponseOf } from '../protocol/schema.js'
import { type ByteBudget, Slab } from './byte-budget.js'
import { STALE_METADATA } from './classify.js'
import type { CopyEnd } from './copy-session.js'
import { type FetchChange, type FetchPosition, FetchSession } from './fetch-session.js'
import type { PartitionCopy } from './partition-copy.js'
import { truncated } from './truncation.js'

const READ_COMMITTED = 1
/** How long a broker holds an empty fetch. */
const IDLE_WAIT_MS = 500
/** … while a partition is left out because its queue is full: it wants to be back soon. */
const BUSY_WAIT_MS = 5
/** … while it is one that is throttled: it has read a tenth of a second ahead. */
const THROTTLED_WAIT_MS = 50
/** Of one partition in one answer: more of few than of many, so that appending one answer overlaps with reading the next. */
const PARTITION_MIN_SHARE = 1 << 20
const PARTITION_MAX_SHARE = 2 << 20
const FETCH_TIMEOUT_MS = 15_000
const FIRST_VERSION_WITH_TOPIC_IDS = 13

/** Answers below this size that follow each other faster than this are a trickle. */
const TRICKLE_BYTES = 16 << 10
const TRICKLE_MS = 4
const GATHER_MS = 2

const SESSION_LOST: ReadonlySet<number> = new Set([
  Errors.FETCH_SESSION_ID_NOT_FOUND,
  Errors.INVALID_FETCH_SESSION_EPOCH,
  Errors.FETCH_SESSION_TOPIC_ID_ERROR,
])

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
  private answeredAt = Number.NEGATIVE_INFINITY
  /** How long the broker will hold back its next answer, for a quota's sake. */
  private throttledMs = 0

  constructor(
    private readonly connect: () => Promise<Connection>,
    private readonly budget: ByteBudget,
    private readonly classify: (error: unknown) => CopyEnd,
  ) {}

  /** Copies the partition until its session is over. */
  add(copy: PartitionCopy): void {
    if (this.closed) {
      copy.finish(CLOSED)
      return
    }
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
    this.budget.wakeAll()
    await this.connection?.close()
    await this.running
  }

  private async run(): Promise<void> {
    this.budget.addFetcher()
    try {
      while (!this.closed && this.copies.size > 0) {
        await this.budget.whenOpen(() => this.closed)
        if (!this.closed) await this.round()
      }
      this.end(CLOSED)
    } catch (error) {
      this.end(this.classify(error))
    } finally {
      this.budget.removeFetcher()
      this.session.reset()
      const connection = this.connection
      this.connection = undefined
      await connection?.close()
    }
  }

  /** Those that drain need no source any more. */
  private end(end: CopyEnd): void {
    for (const copy of this.copies) if (!copy.isDraining) copy.finish(end)
  }

  private async round(): Promise<void> {
    const wanted = [...this.copies].filter((copy) => copy.wantsData)
    if (wanted.length === 0) return this.pause()
    // Who answers at its address now must be asked who he is, before anything of his is copied.
    if (this.connection?.open === false) throw lost(this.connection)
    if (this.connection === undefined) {
      this.connection = await this.connect()
      if (this.closed) return
    }
    // A source that was upgraded from before 2.8 may not have given its topics ids yet.
    const byId = this.connection.versionOf(Fetch) >= FIRST_VERSION_WITH_TOPIC_IDS && wanted.every(hasTopicId)
    const timeoutMs = FETCH_TIMEOUT_MS + this.throttledMs
    const share = Math.max(PARTITION_MIN_SHARE, Math.min(PARTITION_MAX_SHARE, Math.floor(this.budget.fetchMaxBytes / wanted.length)))
    const change = this.session.next(wanted.map((copy) => positionOf(copy, share)))
    const response = await this.connection.send(
      Fetch,
      fetchRequest(change, this.waitMs(), this.budget.fetchMaxBytes),
      byId ? { timeoutMs } : { timeoutMs, maxVersion: FIRST_VERSION_WITH_TOPIC_IDS - 1 },
    )
    this.throttledMs = response.throttleTimeMs
    if (SESSION_LOST.has(response.errorCode)) return this.session.reset()
    if (response.errorCode !== 0) throw kafkaError(response.errorCode)
    this.session.answered(response.sessionId)
    const behind = wanted.some(({ isBehind }) => isBehind)
    const bytes = this.deliver(response, wanted, byId)
    await this.gather(bytes, behind)
  }

  /**
   * Single records that come every millisecond would cost a request each on both sides. Where the destination does not
   * keep up with that, a moment's patience lets a few arrive together; a record that comes alone is not delayed.
   */
  private async gather(bytes: number, behind: boolean): Promise<void> {
    const now = performance.now()
    const trickling = bytes > 0 && bytes < TRICKLE_BYTES && now - this.answeredAt < TRICKLE_MS
    this.answeredAt = now
    if (trickling && behind) await new Promise<void>((resolve) => setTimeout(resolve, GATHER_MS))
  }

  /** As long as nobody is held back who could be wanted again at any moment. */
  private waitMs(): number {
    const held = [...this.copies].filter((copy) => !copy.wantsData)
    if (held.some(({ limit }) => limit === undefined)) return BUSY_WAIT_MS
    return held.length > 0 ? THROTTLED_WAIT_MS : IDLE_WAIT_MS
  }

  /** Every partition is full or draining: a turn of the event loop per check would be a busy loop. */
  private async pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.waitMs())
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.wake = undefined
  }

  /**
   * Only to whom the question was: a copy of the same partition that was added while the answer was under way starts
   * elsewhere, and would take what lies between for a hole. Returns the bytes of records.
   */
  private deliver(response: ResponseOf<typeof Fetch>, asked: readonly PartitionCopy[], byId: boolean): number {
    const answers = response.responses.flatMap((topic) =>
      topic.partitions.map((p) => [`${byId ? topic.topicId : topic.topic}/${p.partitionIndex}`, p] as const),
    )
    const bytes = answers.reduce((sum, [, p]) => sum + p.records.length, 0)
    const slab = new Slab(this.budget, bytes, () => {
      // All record sets are views of one response.
      const [first] = answers
      if (first !== undefined) this.budget.buffers.recycle(first[1].records)
    })
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
        // A broker without sessions fills its answer in the order of the request.
        if (answer.records.length > 0 && this.copies.delete(copy)) this.copies.add(copy)
      }
    } finally {
      slab.release()
    }
    return bytes
  }
}

const lost = ({ address }: Connection) =>
  new ConnectionError({ kind: 'closed', address, reason: 'the connection was lost between two fetches' })

type Answer = ResponseOf<typeof Fetch>['responses'][number]['partitions'][number]

/** What a partition's error or diverging epoch means, undefined while all is well. */
function endOf(answer: Answer, copy: PartitionCopy): CopyEnd | undefined {
  if (answer.divergingEpoch.epoch >= 0 || answer.divergingEpoch.endOffset >= 0n) {
    const { epoch, endOffset } = answer.divergingEpoch
    return { kind: 'failed', reason: truncated({ ...copy.start, logEndOffset: copy.logEndOffset }, epoch, endOffset) }
  }
  if (answer.errorCode === 0) return undefined
  if (answer.errorCode === Errors.OFFSET_OUT_OF_RANGE)
    return { kind: 'realign', reason: `offset ${copy.fetchOffset} is out of the source's range` }
  const reason = `source: ${kafkaError(answer.errorCode).message}`
  return STALE_METADATA.has(answer.errorCode) ? { kind: 'moved', side: 'source', reason } : { kind: 'retry', reason }
}

const CLOSED: CopyEnd = { kind: 'realign', reason: 'the link to the source was closed' }

const hasTopicId = (copy: PartitionCopy) => copy.start.sourceTopicId !== NO_UUID

const positionOf = (copy: PartitionCopy, share: number): FetchPosition => ({
  topic: copy.start.topic,
  topicId: copy.start.sourceTopicId,
  partition: copy.start.partition,
  fetchOffset: copy.fetchOffset,
  lastFetchedEpoch: copy.lastFetchedEpoch,
  currentLeaderEpoch: copy.start.sourceLeaderEpoch,
  maxBytes: Math.min(share, Math.ceil(copy.bytesAhead)),
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

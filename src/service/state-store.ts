import { createTopics } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { KeyedLog } from '../client/keyed-log.js'
import { isLed } from '../client/metadata.js'
import { failure } from '../mirror/errors.js'
import { about, DESTINATION, isMissingRight, toMirrorError } from '../mirror/failures.js'
import { MirrorState, type StateRecord } from '../mirror/fold.js'
import { SHARDS } from '../mirror/shards.js'
import { type Decision, readable, type SpecStore } from '../mirror/spec-store.js'
import { SPEC_PARTITION, STATE_TOPIC } from '../mirror/state-topic.js'
import { Errors, KafkaError, kafkaError } from '../protocol/errors.js'

const CONFLICT_ATTEMPTS = 10
/** Their records make one batch. */
const DECISIONS_TOGETHER = 50
const MAX_REPLICATION_FACTOR = 3
const CREATED_WITHIN_MS = 30_000
const MAX_BATCH_BYTES = 16 << 20

interface Waiting {
  decide(state: MirrorState): Decided
  reject(error: unknown): void
}

interface Decided {
  readonly records: readonly StateRecord[]
  settle(): void
}

/** The state topic as commands use it: read it all, or change it only if nobody else changed it meanwhile. */
export class StateStore implements SpecStore {
  readonly log: KeyedLog
  private readonly waiting: Waiting[] = []
  private working = false

  constructor(private readonly destination: Cluster) {
    this.log = new KeyedLog(destination, STATE_TOPIC)
  }

  /** Everything there is; empty while the state topic does not exist. Throws MirrorError. */
  async read(): Promise<MirrorState> {
    return readable(MirrorState.of((await this.talk(() => this.log.load())) ?? []), STATE_TOPIC)
  }

  /**
   * Changes what is written under the lock: `decide` sees the state as it is, may throw, and is asked again whenever somebody
   * else was faster. It sees spec and result keys only. All records are written, or none. What one process decides at the same
   * time is written together, each decision on top of those before: it must not be its own rival.
   */
  update<T>(decide: (state: MirrorState) => Decision<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.waiting.push({
        decide(state) {
          const { records, result } = decide(state)
          return { records, settle: () => resolve(result) }
        },
        reject,
      })
      if (!this.working) void this.work()
    })
  }

  private async work(): Promise<void> {
    this.working = true
    while (this.waiting.length > 0) {
      const together = this.waiting.splice(0, DECISIONS_TOGETHER)
      try {
        for (const settle of await this.decideTogether(together)) settle()
      } catch (error) {
        for (const { reject } of together) reject(error)
      }
    }
    this.working = false
  }

  /** What tells each of them how it ended, once it is written. Throws what concerns them all. */
  private async decideTogether(together: readonly Waiting[]): Promise<(() => void)[]> {
    for (let attempt = 0; attempt < CONFLICT_ATTEMPTS; attempt++) {
      const snapshot = await this.talk(() => this.log.snapshot(SPEC_PARTITION))
      const state = readable(MirrorState.of(snapshot?.records ?? []), STATE_TOPIC)
      const decided = together.map((one) => decideOne(one, state))
      const records = decided.flatMap((one) => one.records)
      const settled = decided.map(({ settle }) => settle)
      if (records.length === 0) return settled
      if (snapshot === undefined) throw failure('STATE_UNREADABLE', `topic ${STATE_TOPIC} has disappeared from the destination`)
      if (await this.talk(() => this.log.compareAndAppend(snapshot, records))) return settled
    }
    throw failure('CONFLICT', 'other commands keep changing the mirrors at the same time', 'Nothing was changed; try again.')
  }

  /** True if the state topic is there. Throws MirrorError if it is not one of ours. */
  async exists(): Promise<boolean> {
    const topic = (await this.talk(() => this.destination.topics([STATE_TOPIC]))).get(STATE_TOPIC)
    if (topic === undefined || topic.errorCode === Errors.UNKNOWN_TOPIC_OR_PARTITION) return false
    if (topic.errorCode !== 0) throw toMirrorError(kafkaError(topic.errorCode, `topic ${STATE_TOPIC}`), DESTINATION)
    if (topic.partitions.length !== SHARDS) {
      throw failure('STATE_UNREADABLE', `topic ${STATE_TOPIC} has ${topic.partitions.length} partitions where ${SHARDS} are needed`)
    }
    return true
  }

  /** Creates the state topic unless it is there. With `validateOnly` it only asks whether it could. Throws MirrorError. */
  async ensure({ validateOnly = false } = {}): Promise<void> {
    if (await this.exists()) return
    await about(DESTINATION, `topic ${STATE_TOPIC} could not be created on the destination`, async () => {
      const replicationFactor = Math.min(MAX_REPLICATION_FACTOR, (await this.destination.brokers()).length)
      const configs = new Map([
        ['cleanup.policy', 'compact'],
        ['min.compaction.lag.ms', '60000'],
        ['compression.type', 'producer'],
        // One change is one batch, however many topics or partitions it is about.
        ['max.message.bytes', String(MAX_BATCH_BYTES)],
      ])
      const topic = { name: STATE_TOPIC, partitions: SHARDS, replicationFactor, configs }
      const created = (await createTopics(this.destination, [topic], { validateOnly })).get(STATE_TOPIC)!
      if (!created.ok && !isExisting(created.error)) throw created.error
      if (!validateOnly) await this.appeared()
    })
  }

  private async appeared(): Promise<void> {
    const deadline = Date.now() + CREATED_WITHIN_MS
    for (;;) {
      const topic = (await this.destination.topics([STATE_TOPIC])).get(STATE_TOPIC)
      if (isLed(topic)) return
      if (Date.now() > deadline) throw failure('TIMEOUT', `topic ${STATE_TOPIC} has no leaders`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  private talk<T>(action: () => Promise<T>): Promise<T> {
    return about(DESTINATION, undefined, async () => {
      try {
        return await action()
      } catch (error) {
        if (!isMissingRight(error)) throw error
        throw failure('RIGHTS_MISSING', `rights are missing on topic ${STATE_TOPIC} of the destination: ${error.message}`, RIGHTS, error)
      }
    })
  }
}

const RIGHTS = `Grant READ, WRITE and DESCRIBE on topic ${STATE_TOPIC}.`

const isExisting = (error: Error) => error instanceof KafkaError && error.code === Errors.TOPIC_ALREADY_EXISTS

/** Decides, and folds that into the state for whoever comes next. One that throws has decided nothing. */
function decideOne({ decide, reject }: Waiting, state: MirrorState): Decided {
  try {
    const decided = decide(state)
    for (const record of decided.records) state.apply(record)
    return decided
  } catch (error) {
    return { records: [], settle: () => reject(error) }
  }
}

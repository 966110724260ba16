import { inPool } from '../../client/many.js'
import { ByteBudget } from '../../engine/byte-budget.js'
import { MirrorError } from '../../mirror/errors.js'
import { DESTINATION, sourceOf, toMirrorError } from '../../mirror/failures.js'
import { crc32c } from '../../records/crc.js'
import { partitionsOf } from '../partitions.js'
import { type BothClusters, readBounds } from './bounds.js'
import type { Side } from './comparison.js'
import { LogReader } from './log-reader.js'
import { type ComparedPartition, checkStarts } from './log-starts.js'
import { type CompactionRule, DifferenceBook } from './partition-findings.js'
import { PartitionVerifier } from './partition-verifier.js'
import { gapWarning, nothingWarning, planPartition } from './plan.js'
import { ProgressBook } from './progress.js'
import { failedPartition, verifiedPartition } from './results.js'
import { offsetsIn, seededRandom } from './stretches.js'
import { KeyRoom, SupersededKeys } from './superseded-keys.js'
import { mayHaveExpired, type TopicPair, type UnpairedTopic } from './topic-pairs.js'
import type { VerifiedPartition, VerifyMirrorOptions } from './types.js'

const BUFFER_BYTES = 64 << 20
/** For keys of compacted topics that wait for a later record. */
const KEY_BYTES = 128 << 20
const PARTITIONS_AT_ONCE = 16
const MAX_FETCH_BYTES = 8 << 20
const MIN_FETCH_BYTES = 256 << 10
/** Room for what is around the records, so that an answer fits into a power of two. */
const AROUND_BYTES = 64 << 10
const MAX_DIFFERENCES = 10

export interface VerificationOptions extends VerifyMirrorOptions {
  readonly seed: number | undefined
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** One comparison of many partitions: what they share is one budget of bytes and one connection per leader and side. */
export class Verification {
  readonly warnings: string[] = []
  private readonly budgetBytes: number
  private readonly budget: ByteBudget
  private readonly signal: AbortSignal
  private readonly readers: Readonly<Record<Side, LogReader>>
  private readonly progress: ProgressBook
  private readonly keyRoom = new KeyRoom(KEY_BYTES)

  constructor(
    private readonly clusters: BothClusters,
    private readonly options: VerificationOptions,
  ) {
    this.budgetBytes = options.bufferBytes ?? BUFFER_BYTES
    this.budget = new ByteBudget(this.budgetBytes)
    this.signal = options.signal ?? new AbortController().signal
    this.progress = new ProgressBook(options.onProgress)
    const shared = { clientId: `kafka-mirrors-verify-${clusters.mirror}`, budget: this.budget, signal: this.signal }
    this.readers = {
      source: new LogReader(clusters.source, { ...shared, place: sourceOf(clusters.mirror), isolation: 'read_committed' }),
      // Consumers of either isolation level must see the same, so the wider one is read.
      destination: new LogReader(clusters.destination, { ...shared, place: DESTINATION, isolation: 'read_uncommitted' }),
    }
  }

  /** Results by topic and partition number. Throws when interrupted, or when a cluster is out of reach. */
  async run(topics: readonly (TopicPair | UnpairedTopic)[]): Promise<VerifiedPartition[]> {
    const close = () => Promise.all([this.readers.source.close(), this.readers.destination.close()])
    const onAbort = () => void close()
    this.signal.addEventListener('abort', onAbort, { once: true })
    try {
      const { tasks, failed } = await this.plan(topics)
      const compared = await this.compare(tasks)
      this.warnings.push(...(await checkStarts(this.clusters, tasks, this.signal)))
      return [...failed, ...compared.map((result) => result())].sort(byTopicAndPartition)
    } finally {
      this.signal.removeEventListener('abort', onAbort)
      await close()
    }
  }

  private async plan(topics: readonly (TopicPair | UnpairedTopic)[]): Promise<{ tasks: ComparedPartition[]; failed: VerifiedPartition[] }> {
    const failed = topics.flatMap((topic) =>
      'error' in topic ? partitionsOf(topic).map((partition) => failedPartition(topic.topic, partition, topic.error)) : [],
    )
    const pairs = topics.filter((topic): topic is TopicPair => !('error' in topic))
    const partitions = pairs.flatMap((pair) => partitionsOf(pair).map((partition) => ({ pair, topic: pair.topic, partition })))
    const bounds = await readBounds(this.clusters, partitions)
    const tasks = partitions.flatMap(({ pair, topic, partition }, i) => {
      const known = bounds[i]!
      if (!(known instanceof MirrorError)) return [this.taskOf(pair, partition, known)]
      failed.push(failedPartition(topic, partition, known))
      return []
    })
    for (const { topic, notMirrored } of pairs)
      if (notMirrored > 0) this.warnings.push(`topic ${topic} has ${notMirrored} partition(s) on the source that are not mirrored yet`)
    for (const { job, pair } of tasks) {
      const warning = pair.removed ? undefined : gapWarning(job)
      if (warning !== undefined) this.warnings.push(warning)
    }
    this.warnings.push(...nothingWarning(tasks, this.options))
    this.progress.begin(
      tasks.length,
      tasks.reduce((sum, { job }) => sum + Number(offsetsIn(job.stretches)), 0),
    )
    return { tasks, failed }
  }

  private taskOf(
    pair: TopicPair,
    partition: number,
    bounds: Exclude<Awaited<ReturnType<typeof readBounds>>[number], MirrorError>,
  ): ComparedPartition {
    const { sample, seed, maxDifferences = MAX_DIFFERENCES, onDifference } = this.options
    // A partition's sample does not depend on which others are looked at.
    const ownSeed = (seed ?? 0) ^ crc32c(Buffer.from(`${pair.topic}-${partition}`))
    const sampling = sample === undefined ? undefined : { count: sample, random: seededRandom(ownSeed) }
    const book = new DifferenceBook(pair.topic, partition, maxDifferences, (difference) => onDifference?.(difference))
    return { ...planPartition(pair, partition, bounds, this.options, sampling, this.compactionOf(pair)), pair, book }
  }

  private compactionOf({ settings }: TopicPair): CompactionRule | undefined {
    if (!settings.compacted) return undefined
    return { keys: new SupersededKeys(this.keyRoom), mayHaveExpired: mayHaveExpired(settings, this.options.now) }
  }

  /** Results can be asked for when the books are complete. */
  private compare(tasks: readonly ComparedPartition[]): Promise<(() => VerifiedPartition)[]> {
    const atOnce = Math.max(1, Math.min(PARTITIONS_AT_ONCE, tasks.length, Math.floor(this.budgetBytes / 4 / MIN_FETCH_BYTES)))
    // Each partition has a record set of each side at hand and one under way.
    const share = Math.min(MAX_FETCH_BYTES, this.budgetBytes / 4 / atOnce)
    const context = {
      clusters: this.clusters,
      readers: this.readers,
      maxBytes: 2 ** Math.floor(Math.log2(share)) - AROUND_BYTES,
      progress: (offsets: number, bytes: number) => this.progress.moved(offsets, bytes),
    }
    return inPool(atOnce, tasks, async (task) => {
      const verifier = new PartitionVerifier(task.job, task.book, context)
      const error = await this.errorOf(task, verifier.run())
      this.progress.partitionDone()
      return () => verifiedPartition(task, verifier, error)
    })
  }

  /** One partition's failure is no other's. */
  private async errorOf({ job }: ComparedPartition, run: Promise<void>): Promise<MirrorError | undefined> {
    try {
      await run
      return undefined
    } catch (error) {
      this.signal.throwIfAborted()
      return toMirrorError(error, sourceOf(this.clusters.mirror), `${job.topic}-${job.partition} could not be compared`)
    }
  }
}

const byTopicAndPartition = (a: VerifiedPartition, b: VerifiedPartition) =>
  a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : a.partition - b.partition

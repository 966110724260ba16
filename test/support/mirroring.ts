import { afterAll } from 'vitest'
import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import { KeyedLog } from '../../src/client/keyed-log.js'
import { MirrorState } from '../../src/mirror/fold.js'
import type { PartitionStatus } from '../../src/mirror/state.js'
import { STATE_TOPIC } from '../../src/mirror/state-topic.js'
import { MirrorAdmin } from '../../src/service/index.js'
import type { TestBroker, TestBrokers } from './brokers.js'
import { compactedDifferences, readLog, recordDifferences } from './kafka-log.js'
import { type RunnerOptions, RunnerProcess } from './runner-process.js'
import { eventually } from './wait.js'

/** What a destination of these tests needs: dead runners are noticed after three seconds. */
export const DESTINATION_PROPERTIES = { 'group.min.session.timeout.ms': '1000' }

/** FAILED partitions are tried again often enough for a test to see that this changes nothing, and topics are looked at often. */
const QUICK = {
  'mirror.failed.retry.initial.backoff.ms': '200',
  'mirror.failed.retry.max.backoff.ms': '400',
  'mirror.metadata.refresh.interval.ms': '500',
}

export interface MirroringOptions {
  /** Default: m. */
  readonly mirror?: string
  /** How the runner reaches the source; default: as the test does. */
  readonly sourceBootstrap?: () => string
  readonly config?: Readonly<Record<string, string>>
}

/** One mirror between two clusters of a test, its runners, and the comparison of both sides. */
export class Mirroring {
  readonly mirror: string
  readonly runners: RunnerProcess[] = []
  private destination: Cluster | undefined
  private theAdmin: MirrorAdmin | undefined

  constructor(
    private readonly brokers: TestBrokers,
    private readonly options: MirroringOptions = {},
  ) {
    this.mirror = options.mirror ?? 'm'
  }

  /** What operators have. */
  get admin(): MirrorAdmin {
    this.theAdmin ??= new MirrorAdmin({ 'bootstrap.servers': this.brokers.destination.bootstrap })
    return this.theAdmin
  }

  /** Creates the mirror. */
  async create(): Promise<void> {
    const bootstrap = this.options.sourceBootstrap?.() ?? this.brokers.source.bootstrap
    await this.admin.createMirror(this.mirror, { 'bootstrap.servers': bootstrap, ...QUICK, ...this.options.config })
  }

  /** Adds topics to it. */
  async add(...topics: readonly string[]): Promise<void> {
    const result = await this.admin.addTopicsToMirror(Object.fromEntries(topics.map((topic) => [topic, this.mirror])))
    for (const topic of result.topics) if (!topic.ok) throw topic.error
  }

  /** Starts a runner; it is killed after the tests of the file unless it ended before. */
  async startRunner(options: Partial<RunnerOptions> = {}): Promise<RunnerProcess> {
    const runner = await RunnerProcess.start({ bootstrap: this.brokers.destination.bootstrap, ...options })
    this.runners.push(runner)
    return runner
  }

  /** As {@link startRunner}, without waiting for it: the destination may be down. */
  spawnRunner(options: Partial<RunnerOptions> = {}): RunnerProcess {
    const runner = RunnerProcess.spawn({ bootstrap: this.brokers.destination.bootstrap, ...options })
    this.runners.push(runner)
    return runner
  }

  /** What runners last wrote about a partition. */
  async status(topic: string, partition = 0): Promise<PartitionStatus | undefined> {
    return (await this.state()).status(this.mirror, topic, partition)
  }

  /** Everything in the state topic now. */
  async state(): Promise<MirrorState> {
    const { bootstrap } = this.brokers.destination
    this.destination ??= new Cluster(clientConfigOf(new Map([['bootstrap.servers', bootstrap]])).config)
    return MirrorState.of((await new KeyedLog(this.destination, STATE_TOPIC).load()) ?? [])
  }

  /** Waits until the destination's log starts and ends where the source's does now. */
  async caughtUp(topic: string, within = 30_000): Promise<void> {
    const { source, destination } = this.brokers
    try {
      await eventually(
        async () => {
          const [there, here] = await Promise.all([source.admin.offsets(topic), destination.admin.offsets(topic)])
          const late = there.filter(({ endOffset }, i) => endOffset !== here[i]?.endOffset).map(({ partition }) => partition)
          if (late.length > 0) throw new Error(`partitions ${late} of ${topic} lag: ${bounds(there)} against ${bounds(here)}`)
          return true
        },
        { within, every: 20, what: `Catching up with ${topic}` },
      )
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${this.runners.map((runner) => runner.text()).join('\n---\n')}`)
    }
  }

  /**
   * What differs between both sides as Kafka's own consumer reads them: log start and end, and every visible record's
   * offset, timestamp, key, value and headers. Nothing but committed records may be on the destination, at either isolation level.
   */
  async differences(topic: string): Promise<string[]> {
    const { source, destination, worker } = this.brokers
    const read = (cluster: TestBroker, isolation: 'read_committed' | 'read_uncommitted', content: 'none' | 'hash') =>
      readLog(worker, cluster, { topic, isolation, content })
    const differences: string[] = []
    const expected = await read(source, 'read_committed', 'none')
    for (const isolation of ['read_committed', 'read_uncommitted'] as const) {
      const actual = await read(destination, isolation, 'none')
      if (expected.length !== actual.length) differences.push(`${expected.length} partitions against ${actual.length}`)
      const bad = expected.filter((ours, i) => KEYS.some((key) => ours[key] !== actual[i]?.[key]))
      if (bad.length === 0) continue
      const [left, right] = await Promise.all([read(source, 'read_committed', 'hash'), read(destination, isolation, 'hash')])
      for (const { partition } of bad) {
        for (const key of KEYS) {
          if (left[partition]?.[key] !== right[partition]?.[key])
            differences.push(
              `${isolation}: ${key} of partition ${partition} is ${left[partition]?.[key]} against ${right[partition]?.[key]}`,
            )
        }
        differences.push(...recordDifferences(partition, left[partition]?.records ?? [], right[partition]?.records ?? []))
      }
    }
    return differences
  }

  /**
   * As {@link differences}, for a topic that each side compacts by itself: a record that one side alone has is superseded by a
   * later one of its key. Tombstones must be younger than `delete.retention.ms`.
   */
  async compactedDifferences(topic: string): Promise<string[]> {
    const { source, destination, worker } = this.brokers
    const read = (cluster: TestBroker, isolation: 'read_committed' | 'read_uncommitted') =>
      readLog(worker, cluster, { topic, isolation, content: 'hash' })
    const expected = await read(source, 'read_committed')
    const differences: string[] = []
    for (const isolation of ['read_committed', 'read_uncommitted'] as const) {
      const actual = await read(destination, isolation)
      if (expected.length !== actual.length) differences.push(`${expected.length} partitions against ${actual.length}`)
      for (const { partition, endOffset, records } of expected) {
        const other = actual[partition]
        if (other === undefined) continue
        if (endOffset !== other.endOffset)
          differences.push(`${isolation}: partition ${partition} ends at ${endOffset} against ${other.endOffset}`)
        differences.push(...compactedDifferences(partition, records, other.records))
      }
    }
    return differences
  }

  async close(): Promise<void> {
    await Promise.all(this.runners.map((runner) => runner.kill()))
    await this.theAdmin?.close()
    await this.destination?.close()
  }
}

const KEYS = ['beginningOffset', 'endOffset', 'count', 'sha256'] as const

const bounds = (partitions: readonly { beginningOffset: bigint; endOffset: bigint }[]) =>
  partitions.map(({ beginningOffset, endOffset }) => `${beginningOffset}…${endOffset}`).join(' ')

/** A mirror for the tests of a file; its runners end with them. Call after {@link useBrokers}, whose brokers it needs to the end. */
export function useMirroring(brokers: TestBrokers, options: MirroringOptions = {}): Mirroring {
  const mirroring = new Mirroring(brokers, options)
  afterAll(() => mirroring.close())
  return mirroring
}

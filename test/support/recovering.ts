import { dirname, join } from 'node:path'
import type { RecoveredPartition, RecoverMirrorOptions } from '../../src/service/types.js'
import type { TestBrokers } from './brokers.js'
import { readLog, type SpelledRecord, writeLog } from './kafka-log.js'
import type { Mirroring } from './mirroring.js'
import { startProgram } from './program.js'
import { PROGRAM } from './runner-process.js'
import { eventually } from './wait.js'

/** A record that no source has. */
export const foreign = (value: string, partition = 0): SpelledRecord => ({
  partition,
  timestamp: 1_700_000_000_000,
  key: Buffer.from('who').toString('hex'),
  value: Buffer.from(value).toString('hex'),
  headers: [
    ['a', '00ff'],
    ['a', null],
  ],
})

/** What tests of `recover` do with one mirror. */
export class Recovering {
  constructor(
    private readonly brokers: TestBrokers,
    private readonly mirroring: Mirroring,
  ) {}

  /** A source topic with records, mirrored and caught up. */
  readonly mirrored = async (topic: string, partitions = 1, records = 1_000): Promise<void> => {
    const { source, worker } = this.brokers
    await source.admin.createTopic(topic, { partitions })
    await writeLog(worker, source, { topic, records, partitions })
    await this.mirroring.add(topic)
    await this.mirroring.caughtUp(topic)
  }

  /** Partitions as `recover` shows them. */
  readonly recover = async (topic: string, options: RecoverMirrorOptions = {}): Promise<readonly RecoveredPartition[]> => {
    const { topics } = await this.mirroring.admin.recoverMirror(this.mirroring.mirror, { topics: [topic], ...options })
    return topics.flatMap((result) => {
      if (!result.ok) throw result.error
      return result.partitions
    })
  }

  /** The program itself, as `kafka-mirrors.sh --recover`. */
  readonly program = (...words: string[]) =>
    startProgram(
      'kip',
      ['--bootstrap-server', this.brokers.destination.bootstrap, '--recover', '--mirror', this.mirroring.mirror, ...words],
      { program: join(dirname(PROGRAM), 'kafka-mirrors.sh') },
    )

  /** The error of a partition, once it is FAILED. */
  readonly failed = (topic: string, partition = 0) =>
    eventually(async () => {
      const status = await this.mirroring.status(topic, partition)
      return status?.state === 'FAILED' && status.error
    })

  /** Kept records by topic and partition, as Kafka's consumer reads them. */
  readonly keptTails = async (topic: string): Promise<Record<string, string[][]>> => {
    const { destination, worker } = this.brokers
    const names = Object.keys(await destination.admin.topics()).filter((name) => name.startsWith(`${topic}.diverged-`))
    const logs = await Promise.all(names.sort().map((name) => readLog(worker, destination, { topic: name })))
    return Object.fromEntries(
      names.map((name, i) => [
        name,
        logs[i]!.map(({ records }) =>
          records.map(({ key, value, headers, timestamp }) => [key, value, headers, String(timestamp)].join(' ')),
        ),
      ]),
    )
  }
}

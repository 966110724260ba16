import * as Flags from '@oclif/core/flags'
import { type Admin, BaseCommand } from '../src/cli/base-command.js'
import { ItemsFailedError } from '../src/cli/errors.js'
import {
  commonFlags,
  connectionFlags,
  divergenceFlag,
  dryRunFlag,
  mirrorFlag,
  onlyTopicsFlag,
  outputFlags,
  RESEED,
  waitFlag,
  yesFlag,
} from '../src/cli/flags.js'
import { resultJson, succeeded } from '../src/cli/item-results.js'
import { splitLists } from '../src/cli/lists.js'
import { bracketed, NEEDED, recoveryColumns } from '../src/cli/views.js'
import { optionalDuration } from '../src/mirror/durations.js'
import type { RecoveredPartition, RecoveredTopic, RecoverMirrorOptions, TopicResult } from '../src/service/types.js'

export default class Recover extends BaseCommand {
  static override optionalValues = { wait: '30s' }
  static override summary = 'Recover FAILED partitions: show what is wrong, try again, and with an option go on without or copy again.'
  static override description =
    'Looks at the last words of the runner and at both logs. Without options runners try again at once; where that cannot help, the table names the option that does. --on-gap record goes on without offsets the source no longer has; they are counted and shown by describe -o wide. --on-divergence reseed is for destinations that hold something else than the source (a foreign write, a source that was truncated, topics that were recreated): what differs is kept in a topic <topic>.diverged-<time>, and the whole topic is copied again from the start. It may be interrupted at any point: running it again finishes. The source is only read.'
  static override examples = [
    {
      description: 'What is wrong and what would be done, partition by partition',
      command: '<%= config.bin %> recover --bootstrap-server :9094 --mirror my-mirror --dry-run',
    },
    {
      description: 'Go on without what retention took from one partition',
      command:
        '<%= config.bin %> recover --bootstrap-server :9094 --mirror my-mirror --topic my-topic --partition 3 --on-gap record --wait',
    },
    {
      description: 'Copy a topic again that something else wrote to',
      command: '<%= config.bin %> recover --bootstrap-server :9094 --mirror my-mirror --topic my-topic --on-divergence reseed --yes',
    },
  ]
  static override flags = {
    ...mirrorFlag,
    ...onlyTopicsFlag(' (default all)'),
    partition: Flags.integer({ multiple: true, multipleNonGreedy: true, min: 0, description: 'only these partitions (default all)' }),
    'on-gap': Flags.option({ options: ['record'] as const })({
      description: 'record: go on without the offsets that the source no longer has',
    }),
    ...divergenceFlag('copy topics that hold something else than the source again from the start'),
    'discard-diverged': Flags.boolean({ default: false, description: 'with reseed: do not keep what differs' }),
    ...waitFlag('these partitions are MIRRORING'),
    ...yesFlag,
    ...dryRunFlag,
    ...connectionFlags,
    ...outputFlags,
    ...commonFlags,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Recover)
    const { mirror, 'dry-run': dryRun } = flags
    const wait = optionalDuration(flags.wait, '--wait')
    const topics = splitLists(flags.topic)
    const options: RecoverMirrorOptions = {
      topics: topics.length > 0 ? topics : undefined,
      partitions: flags.partition,
      onGap: flags['on-gap'],
      onDivergence: flags['on-divergence'],
      discardDiverged: flags['discard-diverged'],
    }
    const asks = options.onDivergence !== undefined && this.asksFirst(flags, RESEED)
    const admin = await this.admin(flags)
    const told = asks ? await this.askFirst(admin, mirror, options) : []
    const result = await admin.recoverMirror(mirror, { ...options, dryRun })
    this.warnings(result.warnings.filter((warning) => !told.includes(warning)))
    const rows = succeeded(result.topics).flatMap(({ partitions }) => partitions)
    if (this.wantsJson(flags)) this.printResult(flags, undefined, { mirror, dryRun, topics: resultJson(result.topics) })
    else if (rows.length > 0) await this.printTable(recoveryColumns, rows, flags)
    else if (result.topics.length === 0) this.print(`Nothing to recover in mirror ${mirror}\n`)
    this.tellKept(result.topics)
    await this.failIfAnyFailed(result.topics, async () => {
      if (wait !== undefined && !dryRun) await this.waitFor(admin, mirror, result.topics, wait)
    })
    if (dryRun) return
    this.failIfAnyNeeds(result.topics)
    // Who has waited has seen that trying again was enough.
    if (wait === undefined) this.failIfOnlyTried(options, rows)
  }

  /** Gives the warnings that were shown with the plan. */
  private async askFirst(admin: Admin, mirror: string, options: RecoverMirrorOptions): Promise<readonly string[]> {
    const { topics, warnings } = await admin.recoverMirror(mirror, { ...options, dryRun: true })
    const plan = succeeded(topics)
    const reseeded = plan.filter(({ partitions }) => partitions.some(({ action }) => action === 'reseed'))
    if (reseeded.length === 0) return []
    this.warnings(warnings)
    const names = bracketed(reseeded.map(({ topic }) => topic))
    const tail = options.discardDiverged ? 'throwing away what differs' : 'keeping what differs in topics of its own'
    const question = `Copy ${reseeded.length} topic(s) of mirror ${mirror} again from the start, ${tail}: ${names}?`
    const rows = plan.flatMap(({ partitions }) => partitions)
    await this.ask(question, recoveryColumns, rows)
    return warnings
  }

  private tellKept(topics: readonly TopicResult<RecoveredTopic>[]): void {
    for (const { topic, kept } of succeeded(topics))
      if (kept) this.tell(`kafka-mirrors: topic ${topic}: ${kept.records} record(s) that differed are kept in topic ${kept.topic}`)
  }

  /** Only for what can be expected to come back. */
  private async waitFor(admin: Admin, mirror: string, topics: readonly TopicResult<RecoveredTopic>[], wait: number): Promise<void> {
    const expected = succeeded(topics).flatMap(({ topic, partitions }): [string, number[]][] => {
      const numbers = partitions.filter(({ action }) => action !== 'none').map(({ partition }) => partition)
      return numbers.length === 0 ? [] : [[topic, numbers]]
    })
    if (expected.length > 0) await admin.waitForMirroring(mirror, new Map(expected), wait)
  }

  private failIfAnyNeeds(topics: readonly TopicResult<RecoveredTopic>[]): void {
    const stuck = succeeded(topics)
      .flatMap(({ partitions }) => partitions)
      .filter(({ action }) => action === 'none')
    for (const option of ['on-gap', 'on-divergence'] as const) {
      const count = stuck.filter(({ needs }) => needs === option).length
      if (count > 0) this.tell(`kafka-mirrors: ${count} partition(s) stay as they are without ${NEEDED[option]}`)
    }
    if (stuck.length > 0) throw new ItemsFailedError(1)
  }

  /** More was wanted than to try again, and nothing else came of it. */
  private failIfOnlyTried({ onGap, onDivergence }: RecoverMirrorOptions, rows: readonly RecoveredPartition[]): void {
    if ((onGap ?? onDivergence) === undefined || rows.length === 0) return
    if (!rows.every(({ action, problem }) => action === 'retry' && (problem === 'unknown' || problem === 'other'))) return
    const missed = [onGap && 'recorded', onDivergence && 'copied again'].filter(Boolean).join(' or ')
    this.tell(`kafka-mirrors: nothing was ${missed}: ${rows.length} partition(s) are only tried again; see what comes of it with --wait`)
    throw new ItemsFailedError(1)
  }
}

import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/cli/base-command.js'
import { ItemsFailedError, wrongUse } from '../src/cli/errors.js'
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
import { readPropertyFile } from '../src/cli/property-file.js'
import { reversedColumns, reversedRows } from '../src/cli/reverse-views.js'
import { bracketed } from '../src/cli/views.js'
import { optionalDuration } from '../src/mirror/durations.js'

export default class Reverse extends BaseCommand {
  static override optionalValues = { wait: '30s' }
  static override summary = 'Reverse a mirror: failback. The old source is copied to from the cluster that took over.'
  static override description =
    'Run it on the old source, once the topics were removed from the mirror on the other cluster. The mirror of the same name is set up here the other way, with its own settings but the patterns of topics; topics of the other cluster that these match and neither mirror has are named, for add to take. Client properties of the other cluster come from --remote-config. A topic begins only if nothing is open in it here. If this cluster did not go on alone, only the difference is copied. If it did, the topic is refused, and it is told how many offsets and records that is; --on-divergence reseed keeps them in a topic <topic>.diverged-<time> and copies the topic from the start. Runners of this cluster copy; it may be run again at any time. The other cluster is only read.'
  static override examples = [
    {
      description: 'What would be copied back, and what only the old source has',
      command: '<%= config.bin %> reverse --bootstrap-server :9092 --mirror my-mirror --remote-bootstrap-server :9094 --dry-run',
    },
    {
      description: 'Copy everything back and wait until it is being followed',
      command: '<%= config.bin %> reverse --bootstrap-server :9092 --mirror my-mirror --remote-bootstrap-server :9094 --wait=5m',
    },
    {
      description: 'Copy one topic anew that the old source went on writing to, and keep what only it has',
      command:
        '<%= config.bin %> reverse --bootstrap-server :9092 --mirror my-mirror --remote-bootstrap-server :9094 --topic my-topic --on-divergence reseed --yes',
    },
  ]
  static override flags = {
    ...mirrorFlag,
    'remote-bootstrap-server': Flags.string({
      helpValue: 'HOST:PORT,…',
      description: 'the cluster that took over, as runners of this one reach it; before bootstrap.servers of --remote-config',
    }),
    'remote-config': Flags.string({ helpValue: 'FILE', description: 'Java client properties of the cluster that took over' }),
    ...onlyTopicsFlag(' (default all of the mirror)'),
    ...divergenceFlag('copy topics from the start that went on here alone, and keep what only this cluster has'),
    ...waitFlag('all partitions are MIRRORING'),
    ...yesFlag,
    ...dryRunFlag,
    ...connectionFlags,
    ...outputFlags,
    ...commonFlags,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Reverse)
    const { mirror, 'dry-run': dryRun } = flags
    const wait = optionalDuration(flags.wait, '--wait')
    const file = flags['remote-config']
    const remote = file === undefined ? new Map<string, string>() : await readPropertyFile(file, '--remote-config')
    if (flags['remote-bootstrap-server'] !== undefined) remote.set('bootstrap.servers', flags['remote-bootstrap-server'])
    const setting = [...remote.keys()].find((key) => key.startsWith('mirror.'))
    if (setting !== undefined)
      throw wrongUse(`${setting} in --remote-config is a setting of a mirror`, "the mirror's own are taken over; change them with alter")
    if (!remote.get('bootstrap.servers'))
      throw wrongUse('the cluster that took over is not named', 'give --remote-bootstrap-server or --remote-config')
    const named = splitLists(flags.topic)
    const options = { topics: named.length > 0 ? named : undefined, onDivergence: flags['on-divergence'] }
    const asks = options.onDivergence !== undefined && this.asksFirst(flags, RESEED)
    const admin = await this.admin(flags)
    let told: readonly string[] = []
    if (asks) {
      const plan = await admin.reverseMirror(mirror, remote, { ...options, dryRun: true })
      const replaced = succeeded(plan.topics).flatMap(({ topic, how }) => (how === 'reseeded' ? [topic] : []))
      const question = `Make ${replaced.length} topic(s) anew and copy them from the start: ${bracketed(replaced)}?`
      if (replaced.length > 0) {
        told = plan.warnings
        this.warnings(told)
        await this.ask(question, reversedColumns, reversedRows(plan.topics))
      }
    }
    const { topics, warnings, sourceClusterId, created } = await admin.reverseMirror(mirror, remote, { ...options, dryRun })
    this.warnings(warnings.filter((warning) => !told.includes(warning)))
    const done = succeeded(topics)
    const names = done.map(({ topic }) => topic)
    if (dryRun && !this.wantsJson(flags)) await this.printTable(reversedColumns, reversedRows(topics), flags)
    else {
      const sentence = done.length > 0 ? `Reversed mirror ${mirror} for ${done.length} topic(s): ${bracketed(names)}` : undefined
      this.printResult(flags, sentence, { mirror, sourceClusterId, created, dryRun, topics: resultJson(topics) })
    }
    for (const { topic, kept } of done)
      if (kept !== undefined)
        this.tell(`kafka-mirrors: topic ${topic}: ${kept.records} record(s) only this cluster had are kept in topic ${kept.topic}`)
    await this.failIfAnyFailed(topics, async () => {
      if (wait !== undefined && !dryRun && done.length > 0) await admin.waitForMirroring(mirror, names, wait)
    })
    const refused = done.filter(({ needs }) => needs !== undefined)
    if (refused.length === 0) return
    this.tell(`kafka-mirrors: ${refused.length} topic(s) went on alone here and would be refused without --on-divergence reseed`)
    throw new ItemsFailedError(1)
  }
}

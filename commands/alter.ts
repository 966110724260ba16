import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/cli/base-command.js'
import { configHelp } from '../src/cli/config-help.js'
import { wrongUse } from '../src/cli/errors.js'
import { commonFlags, connectionFlags, dryRunFlag, mirrorFlag, outputFlags } from '../src/cli/flags.js'
import { parseAssignments, splitLists } from '../src/cli/lists.js'
import { readPropertyFile } from '../src/cli/property-file.js'

export default class Alter extends BaseCommand {
  static override summary = "Alter a mirror's configuration: where its source is, how to log in there, mirror.* settings."
  static override description =
    `Takes hold in running runners, without a restart. Keys that are not named stay as they are; two alters of different keys do not undo each other. A value in square brackets keeps its commas: bootstrap.servers=[a:9092,b:9092].

${configHelp()}`
  static override examples = [
    {
      description: 'New credentials for the source, from a file',
      command: '<%= config.bin %> alter --bootstrap-server :9094 --mirror my-mirror --mirror-config new-password.properties',
    },
    {
      description: 'One setting changed, one back to its default',
      command:
        '<%= config.bin %> alter --bootstrap-server :9094 --mirror my-mirror --add-config mirror.num.replica.fetchers=4 --delete-config mirror.on.gap',
    },
  ]
  static override flags = {
    ...mirrorFlag,
    'mirror-config': Flags.string({ helpValue: 'FILE', description: 'properties to set' }),
    'add-config': Flags.string({ multiple: true, multipleNonGreedy: true, helpValue: 'KEY=VALUE', description: 'settings to set' }),
    'delete-config': Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'KEY',
      description: 'settings to take back to their default',
    }),
    offline: Flags.boolean({ default: false, description: 'do not try the new settings against the source' }),
    ...dryRunFlag,
    ...connectionFlags,
    ...outputFlags,
    ...commonFlags,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Alter)
    const file = flags['mirror-config']
    const set = new Map([
      ...(file === undefined ? [] : await readPropertyFile(file, '--mirror-config')),
      ...parseAssignments(flags['add-config'], '--add-config'),
    ])
    const deleted = splitLists(flags['delete-config'])
    if (set.size + deleted.length === 0) throw wrongUse('nothing to alter', 'give --mirror-config, --add-config or --delete-config')
    const both = deleted.find((key) => set.has(key))
    if (both !== undefined) throw wrongUse(`${both} is to be set and deleted`, 'name it once')
    const admin = await this.admin(flags)
    const options = { offline: flags.offline, dryRun: flags['dry-run'] }
    const { warnings, ...result } = await admin.alterMirror(flags.mirror, { set, delete: deleted }, options)
    this.warnings(warnings)
    const sentence = flags['dry-run']
      ? `Would update config for mirror ${flags.mirror}.`
      : `Completed updating config for mirror ${flags.mirror}.`
    this.printResult(flags, sentence, { ...result, dryRun: flags['dry-run'] })
  }
}

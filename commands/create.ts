import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/cli/base-command.js'
import { configHelp } from '../src/cli/config-help.js'
import { commonFlags, connectionFlags, dryRunFlag, mirrorFlag, outputFlags } from '../src/cli/flags.js'
import { readPropertyFile } from '../src/cli/property-file.js'

export default class Create extends BaseCommand {
  static override summary = 'Create a mirror: a named link from one source cluster to this destination.'
  static override description =
    `Checks the configuration, reaches the source, pins its cluster id and keeps the mirror in the topic __kafka_mirrors of the destination, which is created if it is not there. Nothing is copied before topics are added.

${configHelp()}`
  static override examples = [
    {
      description: 'Link the cluster in mirror.properties (bootstrap.servers=…, and how to log in there)',
      command: '<%= config.bin %> create --bootstrap-server :9094 --mirror my-mirror --mirror-config mirror.properties',
    },
    {
      description: 'Only check the configuration, the way to the source and the rights on both sides',
      command: '<%= config.bin %> create --bootstrap-server :9094 --mirror my-mirror --mirror-config mirror.properties --dry-run',
    },
  ]
  static override flags = {
    ...mirrorFlag,
    'mirror-config': Flags.string({
      required: true,
      helpValue: 'FILE',
      description: "properties: the source's client properties and mirror.* settings",
    }),
    offline: Flags.boolean({
      default: false,
      description: 'do not reach the source now; its cluster id is pinned when it is first reached',
    }),
    ...dryRunFlag,
    ...connectionFlags,
    ...outputFlags,
    ...commonFlags,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Create)
    const configs = await readPropertyFile(flags['mirror-config'], '--mirror-config')
    const admin = await this.admin(flags)
    const { warnings, ...result } = await admin.createMirror(flags.mirror, configs, { offline: flags.offline, dryRun: flags['dry-run'] })
    this.warnings(warnings)
    const sentence = flags['dry-run'] ? `Would create mirror ${result.mirror}` : `Created mirror ${result.mirror}`
    this.printResult(flags, sentence, { ...result, sourceClusterId: result.sourceClusterId, dryRun: flags['dry-run'] })
  }
}

import { BaseCommand } from '../src/cli/base-command.js'
import { commonFlags, connectionFlags, dryRunFlag, mirrorFlag, onlyTopicsFlag, outputFlags, waitFlag } from '../src/cli/flags.js'
import { resultJson, succeeded } from '../src/cli/item-results.js'
import { splitLists } from '../src/cli/lists.js'
import { pauseSentence } from '../src/cli/pause-view.js'
import { optionalDuration } from '../src/mirror/durations.js'

export default class Resume extends BaseCommand {
  static override optionalValues = { wait: '30s' }
  static override summary = 'Resume a mirror or some of its topics that were paused: copying goes on where it was.'
  static override description =
    'Both logs are compared again before the first record is copied. What the source has deleted in the meantime is a gap, which mirror.on.gap decides about.'
  static override examples = [
    {
      description: 'Let everything go on, and wait until it is being copied',
      command: '<%= config.bin %> resume --bootstrap-server :9094 --mirror my-mirror --wait=1m',
    },
    {
      description: 'Only two topics',
      command: '<%= config.bin %> resume --bootstrap-server :9094 --mirror my-mirror --topic orders,payments',
    },
  ]
  static override flags = {
    ...mirrorFlag,
    ...onlyTopicsFlag(' (default all)'),
    ...waitFlag('all partitions are MIRRORING'),
    ...dryRunFlag,
    ...connectionFlags,
    ...outputFlags,
    ...commonFlags,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Resume)
    const { mirror, 'dry-run': dryRun } = flags
    const wait = optionalDuration(flags.wait, '--wait')
    const names = splitLists(flags.topic)
    const admin = await this.admin(flags)
    const { topics, warnings } = await admin.resumeMirror(mirror, { topics: names.length > 0 ? names : undefined, dryRun })
    this.warnings(warnings)
    this.printResult(flags, pauseSentence('Resumed', mirror, topics, dryRun), { mirror, dryRun, topics: resultJson(topics) })
    const resumed = succeeded(topics).map(({ topic }) => topic)
    await this.failIfAnyFailed(topics, async () => {
      if (wait !== undefined && !dryRun && resumed.length > 0) await admin.waitForMirroring(mirror, resumed, wait)
    })
  }
}

import { BaseCommand } from '../src/cli/base-command.js'
import { commonFlags, connectionFlags, dryRunFlag, mirrorFlag, onlyTopicsFlag, outputFlags, waitFlag } from '../src/cli/flags.js'
import { resultJson, succeeded } from '../src/cli/item-results.js'
import { splitLists } from '../src/cli/lists.js'
import { pauseSentence } from '../src/cli/pause-view.js'
import { optionalDuration } from '../src/mirror/durations.js'

export default class Pause extends BaseCommand {
  static override optionalValues = { wait: '30s' }
  static override summary = 'Pause a mirror or some of its topics: nothing is copied until they are resumed.'
  static override description =
    'The topics stay mirrored and are not writable; their settings are still held, and groups and access rules still kept up to date. A runner appends what it has read and then says PAUSED. Works with no runner too, and with the source gone. While topics are paused the source may delete what was not copied yet: see mirror.on.gap.'
  static override examples = [
    {
      description: 'Pause everything a mirror copies, and wait until nothing is appended any more',
      command: '<%= config.bin %> pause --bootstrap-server :9094 --mirror my-mirror --wait',
    },
    {
      description: 'See which topics of the shop would be paused',
      command: "<%= config.bin %> pause --bootstrap-server :9094 --mirror my-mirror --topic 'shop\\..*' --dry-run",
    },
  ]
  static override flags = {
    ...mirrorFlag,
    ...onlyTopicsFlag(' (default all)'),
    ...waitFlag('all partitions are PAUSED'),
    ...dryRunFlag,
    ...connectionFlags,
    ...outputFlags,
    ...commonFlags,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Pause)
    const { mirror, 'dry-run': dryRun } = flags
    const wait = optionalDuration(flags.wait, '--wait')
    const names = splitLists(flags.topic)
    const admin = await this.admin(flags)
    const { topics, warnings } = await admin.pauseMirror(mirror, { topics: names.length > 0 ? names : undefined, dryRun })
    this.warnings(warnings)
    this.printResult(flags, pauseSentence('Paused', mirror, topics, dryRun), { mirror, dryRun, topics: resultJson(topics) })
    const paused = succeeded(topics).map(({ topic }) => topic)
    await this.failIfAnyFailed(topics, async () => {
      if (wait !== undefined && !dryRun && paused.length > 0) await admin.waitForPaused(mirror, paused, wait)
    })
  }
}

import { BaseCommand } from '../src/cli/base-command.js'
import { commonFlags, confirmationWaitFlag, connectionFlags, dryRunFlag, mirrorFlag, outputFlags, yesFlag } from '../src/cli/flags.js'
import { succeeded } from '../src/cli/item-results.js'
import { lossColumns, lossRows, removalJson } from '../src/cli/removal-views.js'
import { optionalDuration } from '../src/mirror/durations.js'

export default class Delete extends BaseCommand {
  static override optionalValues = { wait: '30s' }
  static override summary = 'Delete a mirror: all its topics are removed as remove does, then the mirror itself. Data stays.'
  static override description =
    'Works with the source gone and with no runner. A topic that cannot be removed keeps the mirror; run delete again to finish.'
  static override examples = [
    {
      description: 'What would be lost, partition by partition',
      command: '<%= config.bin %> delete --bootstrap-server :9094 --mirror my-mirror --dry-run',
    },
    {
      description: 'Promote all topics and forget the mirror',
      command: '<%= config.bin %> delete --bootstrap-server :9094 --mirror my-mirror --yes',
    },
  ]
  static override flags = {
    ...mirrorFlag,
    ...confirmationWaitFlag,
    ...yesFlag,
    ...dryRunFlag,
    ...connectionFlags,
    ...outputFlags,
    ...commonFlags,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Delete)
    const dryRun = flags['dry-run']
    const confirmationTimeoutMs = optionalDuration(flags.wait, '--wait')
    const admin = await this.admin(flags)
    if (this.asksFirst(flags)) {
      const plan = succeeded((await admin.deleteMirror(flags.mirror, { dryRun: true })).topics)
      const question = `Delete mirror ${flags.mirror} and make its ${plan.length} topic(s) writable?`
      await this.ask(question, lossColumns, plan.flatMap(lossRows))
    }
    const { warnings, topics, ...result } = await admin.deleteMirror(flags.mirror, { dryRun, confirmationTimeoutMs })
    this.warnings(warnings)
    if (dryRun && !this.wantsJson(flags)) await this.printTable(lossColumns, succeeded(topics).flatMap(lossRows), flags)
    else {
      const sentence = result.deleted ? `Deleted mirror ${flags.mirror}` : undefined
      this.printResult(flags, sentence, { ...result, dryRun, topics: removalJson(topics) })
    }
    await this.failIfAnyFailed(topics)
  }
}

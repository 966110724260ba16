import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/cli/base-command.js'
import { commonFlags, connectionFlags, dryRunFlag, mirrorFlag, outputFlags, topicsFlag, yesFlag } from '../src/cli/flags.js'
import { resultJson, succeeded } from '../src/cli/item-results.js'
import { splitLists } from '../src/cli/lists.js'
import { canAsk } from '../src/cli/terminal.js'
import { bracketed, lossColumns, lossRows } from '../src/cli/views.js'
import { parseDuration } from '../src/mirror/durations.js'

export default class Remove extends BaseCommand {
  static override aliases = ['stop']
  static override optionalValues = { wait: '30s' }
  static override summary = 'Remove topics from a mirror: failover. Copying stops and they become writable here.'
  static override description =
    'Works with the source gone and with no runner. A living runner drains what it has read and confirms; without its word the command fences late writers itself. The other topics of the mirror go on. The data stays. Also called stop.'
  static override examples = [
    {
      description: 'What would be lost, partition by partition',
      command: '<%= config.bin %> remove --bootstrap-server :9094 --mirror my-mirror --topic my-topic --dry-run',
    },
    {
      description: 'Fail over every topic of the shop',
      command: "<%= config.bin %> remove --bootstrap-server :9094 --mirror my-mirror --topic 'shop\\..*' --yes",
    },
  ]
  static override flags = {
    ...mirrorFlag,
    ...topicsFlag,
    wait: Flags.string({
      helpValue: '30s',
      description: "wait this long for the runner's word before fencing (without the flag: its session timeout and 5s)",
    }),
    ...yesFlag,
    ...dryRunFlag,
    ...connectionFlags,
    ...outputFlags,
    ...commonFlags,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Remove)
    const { mirror } = flags
    const confirmationTimeoutMs = flags.wait === undefined ? undefined : parseDuration(flags.wait, '--wait')
    const names = splitLists(flags.topic)
    const dryRun = flags['dry-run']
    const admin = await this.admin(flags)
    if (!dryRun && !flags.yes && canAsk(this.terminal)) {
      const plan = succeeded((await admin.removeTopicsFromMirror(mirror, names, { dryRun: true })).topics)
      this.tell(await this.tableText(lossColumns, plan.flatMap(lossRows), {}))
      const topics = bracketed(plan.map(({ topic }) => topic))
      await this.ask(`Stop mirroring and make writable ${plan.length} topic(s) of mirror ${mirror}: ${topics}?`, flags)
    }
    const { topics, warnings } = await admin.removeTopicsFromMirror(mirror, names, { dryRun, confirmationTimeoutMs })
    this.warnings(warnings)
    const removed = succeeded(topics)
    if (dryRun && !this.wantsJson(flags)) await this.printTable(lossColumns, removed.flatMap(lossRows), flags)
    else {
      const list = bracketed(removed.map(({ topic }) => topic))
      const sentence = removed.length > 0 ? `Removed ${removed.length} topic(s) from mirror ${mirror}: ${list}` : undefined
      this.printResult(flags, sentence, { mirror, dryRun, topics: resultJson(topics) })
    }
    this.failIfAnyFailed(topics)
  }
}

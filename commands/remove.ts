import * as Flags from '@oclif/core/flags'
import { type Admin, BaseCommand } from '../src/cli/base-command.js'
import {
  commonFlags,
  confirmationWaitFlag,
  connectionFlags,
  dryRunFlag,
  mirrorFlag,
  onlyTopicsFlag,
  outputFlags,
  yesFlag,
} from '../src/cli/flags.js'
import { succeeded } from '../src/cli/item-results.js'
import { splitLists } from '../src/cli/lists.js'
import { drainLine, lossColumns, lossRows, removalJson } from '../src/cli/removal-views.js'
import { StatusLine } from '../src/cli/status-line.js'
import { bracketed } from '../src/cli/views.js'
import { optionalDuration } from '../src/mirror/durations.js'
import type { RemoveTopicsFromMirrorOptions, RemoveTopicsFromMirrorResult } from '../src/service/types.js'

export default class Remove extends BaseCommand {
  static override aliases = ['stop']
  static override optionalValues = { wait: '30s', drain: '5m' }
  static override summary = 'Remove topics from a mirror: failover. Copying stops and they become writable here.'
  static override description =
    'Works with the source gone and with no runner. A living runner drains what it has read and confirms; without its word the command fences late writers itself. Then groups get their last positions, withheld rights and real settings are given back, and topics are writable. The other topics of the mirror go on; without --topic all its topics are removed. The data stays. It may be interrupted and run again. With --drain, for a planned move, it first waits until the writers of the source have stopped and everything they wrote is here, and changes nothing if that takes too long. Also called stop.'
  static override examples = [
    {
      description: 'What would be lost, partition by partition',
      command: '<%= config.bin %> remove --bootstrap-server :9094 --mirror my-mirror --topic my-topic --dry-run',
    },
    {
      description: 'Fail over every topic of the shop',
      command: "<%= config.bin %> remove --bootstrap-server :9094 --mirror my-mirror --topic 'shop\\..*' --yes",
    },
    {
      description: 'Move all topics as planned, once their writers have stopped, and lose nothing',
      command: '<%= config.bin %> remove --bootstrap-server :9094 --mirror my-mirror --drain=10m --yes',
    },
  ]
  static override flags = {
    ...mirrorFlag,
    ...onlyTopicsFlag(' (default all; without a terminal that wants --yes)'),
    drain: Flags.string({
      helpValue: '5m',
      description: 'first wait, at most this long (default 5m), until writers have stopped and everything they wrote is here',
    }),
    ...confirmationWaitFlag,
    ...yesFlag,
    ...dryRunFlag,
    ...connectionFlags,
    ...outputFlags,
    ...commonFlags,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Remove)
    const { mirror } = flags
    const confirmationTimeoutMs = optionalDuration(flags.wait, '--wait')
    const drainMs = optionalDuration(flags.drain, '--drain')
    const named = splitLists(flags.topic)
    const names = named.length > 0 ? named : undefined
    const dryRun = flags['dry-run']
    const refused = names === undefined ? `all topics of mirror ${mirror} are removed without --topic, which` : undefined
    const asks = this.asksFirst(flags, refused)
    const admin = await this.admin(flags)
    if (asks) {
      const plan = succeeded((await admin.removeTopicsFromMirror(mirror, names, { dryRun: true })).topics)
      const list = bracketed(plan.map(({ topic }) => topic))
      const question = `Stop mirroring and make writable ${plan.length} topic(s) of mirror ${mirror}: ${list}?`
      await this.ask(question, lossColumns, plan.flatMap(lossRows))
    }
    const { topics, warnings } = await this.remove(admin, mirror, names, { dryRun, confirmationTimeoutMs, drainMs })
    this.warnings(warnings)
    const removed = succeeded(topics)
    if (dryRun && !this.wantsJson(flags)) await this.printTable(lossColumns, removed.flatMap(lossRows), flags)
    else {
      const list = bracketed(removed.map(({ topic }) => topic))
      const sentence = removed.length > 0 ? `Removed ${removed.length} topic(s) from mirror ${mirror}: ${list}` : undefined
      const nothing = topics.length === 0 ? `Mirror ${mirror} has no topics` : undefined
      this.printResult(flags, sentence ?? nothing, { mirror, dryRun, topics: removalJson(topics) })
    }
    await this.failIfAnyFailed(topics)
  }

  /** With the progress of a drain on the terminal. */
  private async remove(
    admin: Admin,
    mirror: string,
    names: readonly string[] | undefined,
    options: RemoveTopicsFromMirrorOptions,
  ): Promise<RemoveTopicsFromMirrorResult> {
    if (options.drainMs === undefined) return admin.removeTopicsFromMirror(mirror, names, options)
    const status = new StatusLine(this.terminal)
    this.terminal.signal.addEventListener('abort', () => status.clear(), { once: true })
    try {
      return await admin.removeTopicsFromMirror(mirror, names, {
        ...options,
        onProgress: (progress) => status.show(() => drainLine(progress)),
      })
    } finally {
      status.clear()
    }
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import * as Flags from '@oclif/core/flags'
import { type Admin, BaseCommand, type OutputFlags } from '../src/cli/base-command.js'
import { errorLine } from '../src/cli/errors.js'
import { commonFlags, connectionFlags, onlyTopicsFlag, outputFlags } from '../src/cli/flags.js'
import { toJson } from '../src/cli/json.js'
import { splitLists } from '../src/cli/lists.js'
import { mirrorJson, problemLines, remarkColumns, remarkRows, syncColumns, syncRows } from '../src/cli/metadata-views.js'
import { describeColumns, failedColumns, partitionJson, troubleLines } from '../src/cli/views.js'
import { optionalDuration } from '../src/mirror/durations.js'
import type { DescribeMirrorsOptions, DescribeMirrorsResult } from '../src/service/types.js'

const CLEAR_SCREEN = '\x1b[H\x1b[J'

export default class Describe extends BaseCommand {
  static override optionalValues = { watch: '2s' }
  static override summary = 'Show every partition of the mirrors: offsets on both sides, lag and state.'
  static override description =
    "SOURCE-OFFSET is the source's high watermark, DESTINATION-OFFSET the destination's log end, both read now; LAG is the difference, so an open transaction on the source shows as lag. An offset that nobody knows is a dash. -o wide adds the source's last stable offset, the owning runner, how gaps are filled, the settings held back until failover, and what keeps a partition from progressing; below, how the syncs of topics, settings, groups and access rules fare, and which topics are guarded against writes by a DENY rule and which are only watched."
  static override examples = [
    { description: 'Everything', command: '<%= config.bin %> describe --bootstrap-server :9094' },
    {
      description: 'One topic, again every five seconds',
      command: '<%= config.bin %> describe --bootstrap-server :9094 --mirror my-mirror --topic my-topic --watch=5s',
    },
    { description: 'What has failed, and why', command: '<%= config.bin %> describe --bootstrap-server :9094 --failed' },
  ]
  static override flags = {
    mirror: Flags.string({ multiple: true, multipleNonGreedy: true, helpValue: 'NAME', description: 'only these mirrors' }),
    ...onlyTopicsFlag(),
    failed: Flags.boolean({ default: false, description: 'only FAILED partitions, with the reason and how often they were retried' }),
    all: Flags.boolean({ default: false, description: 'removed topics too' }),
    watch: Flags.string({ helpValue: '2s', description: 'show it again and again, this often (default 2s), until Ctrl-C' }),
    ...connectionFlags,
    ...outputFlags,
    ...commonFlags,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Describe)
    const interval = optionalDuration(flags.watch, '--watch')
    const mirrors = splitLists(flags.mirror)
    const topics = splitLists(flags.topic)
    const options = { topics: topics.length > 0 ? topics : undefined, failed: flags.failed, all: flags.all }
    const admin = await this.admin(flags)
    if (interval === undefined) await this.show(await admin.describeMirrors(mirrors, options), flags)
    else await this.watch(admin, mirrors, options, flags, interval)
  }

  /** Only the first look may fail: later ones are reported, and tried again. */
  private async watch(
    admin: Admin,
    mirrors: string[],
    options: DescribeMirrorsOptions,
    flags: OutputFlags & { failed: boolean },
    interval: number,
  ): Promise<void> {
    const redraw = this.terminal.stdout.isTTY === true && !this.wantsJson(flags)
    let result = await admin.describeMirrors(mirrors, options)
    for (let look = 0; ; look++) {
      if (redraw) this.print(CLEAR_SCREEN)
      else if (look > 0 && !this.wantsJson(flags)) this.print('\n')
      await this.show(result, flags, true)
      do {
        await delay(interval, undefined, { signal: this.terminal.signal })
      } while (
        !(await this.again(async () => {
          result = await admin.describeMirrors(mirrors, options)
        }))
      )
    }
  }

  private async again(look: () => Promise<void>): Promise<boolean> {
    try {
      await look()
      return true
    } catch (error) {
      this.tell(`kafka-mirrors: ${errorLine(error as Error & { advice?: string })}`)
      return false
    }
  }

  private async show(
    { mirrors, partitions, warnings }: DescribeMirrorsResult,
    flags: OutputFlags & { failed: boolean },
    compact = false,
  ): Promise<void> {
    if (this.wantsJson(flags)) this.print(toJson({ mirrors: mirrors.map(mirrorJson), partitions: partitions.map(partitionJson) }, compact))
    else await this.printTable(flags.failed ? failedColumns : describeColumns, partitions, flags)
    if (!flags.failed && flags.output === 'wide' && !flags.json) await this.showMetadata(mirrors, flags)
    this.warnings(warnings)
    if (flags.failed || flags.output !== 'table') return
    for (const line of [...troubleLines(partitions), ...problemLines(mirrors)]) this.tell(`kafka-mirrors: ${line}`)
  }

  /** Tables of their own below that of the partitions, an empty line before each; none where there is nothing to tell. */
  private async showMetadata(mirrors: DescribeMirrorsResult['mirrors'], flags: OutputFlags): Promise<void> {
    const syncs = syncRows(mirrors)
    const remarks = remarkRows(mirrors)
    if (syncs.length > 0) this.print(`\n${await this.tableText(syncColumns, syncs, flags)}`)
    if (remarks.length > 0) this.print(`\n${await this.tableText(remarkColumns, remarks, flags)}`)
  }
}

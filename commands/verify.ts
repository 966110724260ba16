import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/cli/base-command.js'
import { ItemsFailedError, wrongUse } from '../src/cli/errors.js'
import { commonFlags, connectionFlags, mirrorFlag, onlyTopicsFlag, outputFlags } from '../src/cli/flags.js'
import { toJson } from '../src/cli/json.js'
import { splitLists } from '../src/cli/lists.js'
import { StatusLine } from '../src/cli/status-line.js'
import { differenceLine, findingLines, progressLine, summaryLine, verifyColumns, verifyJson, verifyRows } from '../src/cli/verify-views.js'
import type { LogDifference } from '../src/service/types.js'

/** Differences told as soon as they are found; the others come with the result. */
const TOLD_AT_ONCE = 20
const LAST_OFFSET = 2n ** 63n - 1n

export default class Verify extends BaseCommand {
  static override summary = 'Compare source and destination record by record.'
  static override description =
    "Offset, timestamp, key, value, headers and where the logs begin and end, up to what the destination has now; what it has not yet is lag, not a difference. Nothing but committed records may be on the destination, whatever the consumer's isolation level. On compacted topics a record may be missing on one side if a later one of its key is there, or if it is an expired tombstone. Copying may go on meanwhile. Exit code 0: equal, 1: different or not comparable."
  static override examples = [
    { description: 'Everything a mirror has copied', command: '<%= config.bin %> verify --bootstrap-server :9094 --mirror my-mirror' },
    {
      description: 'A hundred stretches of each partition of one large topic, for a quick look',
      command: '<%= config.bin %> verify --bootstrap-server :9094 --mirror my-mirror --topic my-topic --sample 100',
    },
    {
      description: 'One range of offsets, for a program',
      command: '<%= config.bin %> verify --bootstrap-server :9094 --mirror my-mirror --topic my-topic --from 1000 --to 2000 --json',
    },
  ]
  static override flags = {
    ...mirrorFlag,
    ...onlyTopicsFlag('; a removed topic is compared up to where it was left, if its name is given'),
    from: Flags.string({ helpValue: 'OFFSET', description: 'the first offset to compare, in every partition' }),
    to: Flags.string({ helpValue: 'OFFSET', description: 'the offset to end before' }),
    sample: Flags.integer({
      min: 1,
      helpValue: 'N',
      description: 'compare N stretches of 1000 offsets chosen by chance, and both ends, of each partition',
    }),
    seed: Flags.integer({ min: 0, dependsOn: ['sample'], helpValue: 'N', description: 'choose as the sample that said this seed did' }),
    ...connectionFlags,
    ...outputFlags,
    ...commonFlags,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Verify)
    const topics = splitLists(flags.topic)
    const options = {
      topics: topics.length > 0 ? topics : undefined,
      from: offsetOf(flags.from, '--from'),
      to: offsetOf(flags.to, '--to'),
      sample: flags.sample,
      seed: flags.seed,
    }
    const admin = await this.admin(flags)
    const { signal } = this.terminal
    const quiet = this.wantsJson(flags)
    const status = new StatusLine(this.terminal)
    signal.addEventListener('abort', () => status.clear(), { once: true })
    const start = performance.now()
    const elapsed = () => performance.now() - start
    const told = new Set<LogDifference>()
    try {
      const result = await admin.verifyMirror(flags.mirror, {
        ...options,
        signal,
        onProgress: (progress) => {
          if (!signal.aborted) status.show(() => progressLine(progress, elapsed()))
        },
        onDifference: (difference) => {
          if (quiet || signal.aborted || told.size === TOLD_AT_ONCE) return
          status.clear()
          told.add(difference)
          this.tell(`kafka-mirrors: ${differenceLine(difference)}`)
        },
      })
      status.clear()
      if (quiet) this.print(toJson(verifyJson(result)))
      else await this.printTable(verifyColumns, verifyRows(result), flags)
      this.warnings(result.warnings)
      if (!quiet) for (const line of [...findingLines(result, told), summaryLine(result, elapsed())]) this.tell(`kafka-mirrors: ${line}`)
      if (!result.equal) throw new ItemsFailedError(1)
    } finally {
      status.clear()
    }
  }
}

function offsetOf(text: string | undefined, flag: string): bigint | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,19}$/.test(text) || BigInt(text) > LAST_OFFSET) throw wrongUse(`${flag} needs an offset, not '${text}'`)
  return BigInt(text)
}

import * as Flags from '@oclif/core/flags'
import { BaseCommand, onlyOne } from '../src/cli/base-command.js'
import { wrongUse } from '../src/cli/errors.js'
import { additionFlags, commonFlags, connectionFlags, dryRunFlag, mirrorFlag, outputFlags, waitFlag } from '../src/cli/flags.js'
import { resultJson, succeeded } from '../src/cli/item-results.js'
import { splitLists } from '../src/cli/lists.js'
import { bracketed, plannedColumns } from '../src/cli/views.js'
import { optionalDuration } from '../src/mirror/durations.js'

export default class Add extends BaseCommand {
  static override aliases = ['start']
  static override optionalValues = { wait: '30s' }
  static override summary = 'Add topics to a mirror: they are created on the destination and copied by a runner.'
  static override description =
    "Topics keep their names, partitions and offsets. A topic that is not on the destination is created complete before the first record; one that is there must be empty or hold the source's own data. Also called start."
  static override examples = [
    {
      description: 'Mirror one topic with two replicas and wait until it is being copied',
      command: '<%= config.bin %> add --bootstrap-server :9094 --mirror my-mirror --topic my-topic --replication-factor 2 --wait',
    },
    {
      description: 'Mirror all topics of the shop but its logs, also those that are created later',
      command: "<%= config.bin %> add --bootstrap-server :9094 --mirror my-mirror --topics 'shop\\..*' --exclude '.*\\.log'",
    },
    {
      description: 'See what adding every topic of the shop but its logs would do',
      command: "<%= config.bin %> add --bootstrap-server :9094 --mirror my-mirror --topic 'shop\\..*' --exclude '.*\\.log' --dry-run",
    },
  ]
  static override flags = {
    ...mirrorFlag,
    ...additionFlags,
    exclude: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'NAME',
      description:
        'names or regular expressions to leave out of what a regular expression matches (with --topics kept as mirror.topics.exclude)',
    }),
    'replication-factor': Flags.integer({ min: 1, max: 32767, description: "of topics that are created; default is the broker's" }),
    'topic-id': Flags.string({ helpValue: 'ID', description: "the topic's id on the source, to be sure it is that topic" }),
    'remote-bootstrap-server': Flags.string({
      helpValue: 'HOST:PORT,…',
      description: "how this host reaches the mirror's source, for this call",
    }),
    ...waitFlag('all partitions are MIRRORING'),
    ...dryRunFlag,
    ...connectionFlags,
    ...outputFlags,
    ...commonFlags,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Add)
    const wait = optionalDuration(flags.wait, '--wait')
    const names = splitLists(flags.topic)
    const patterns = splitLists(flags.topics)
    if (names.length + patterns.length === 0) throw wrongUse('no topic is named', 'give --topic or --topics')
    const topicIds = flags['topic-id'] === undefined ? undefined : { [onlyOne(names, '--topic with --topic-id')]: flags['topic-id'] }
    const dryRun = flags['dry-run']
    const admin = await this.admin(flags)
    const { topics, warnings } = await admin.addTopicsToMirror(new Map(names.map((name) => [name, flags.mirror])), {
      discover: new Map(patterns.map((pattern) => [pattern, flags.mirror])),
      exclude: splitLists(flags.exclude),
      replicationFactor: flags['replication-factor'],
      topicIds,
      remoteBootstrapServer: flags['remote-bootstrap-server'],
      dryRun,
    })
    this.warnings(warnings)
    const added = succeeded(topics)
    const addedNames = added.map(({ topic }) => topic)
    if (dryRun && !this.wantsJson(flags)) await this.printTable(plannedColumns, added, flags)
    else {
      // Patterns that match nothing yet are added all the same.
      const sentence =
        added.length > 0 || patterns.length > 0
          ? `Added ${added.length} topic(s) to mirror ${flags.mirror}: ${bracketed(addedNames)}`
          : undefined
      this.printResult(flags, sentence, { mirror: flags.mirror, dryRun, topics: resultJson(topics) })
    }
    await this.failIfAnyFailed(topics, async () => {
      if (wait !== undefined && !dryRun && added.length > 0) await admin.waitForMirroring(flags.mirror, addedNames, wait)
    })
  }
}

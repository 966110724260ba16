import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/cli/base-command.js'
import { commonFlags, connectionFlags, dryRunFlag, outputFlags } from '../src/cli/flags.js'
import { toJson } from '../src/cli/json.js'
import { entityText, throttleRequest } from '../src/cli/throttle-request.js'
import { throttleColumns } from '../src/cli/views.js'

const KIP = "AS THE KIP'S KAFKA-CONFIGS.SH"

export default class Throttle extends BaseCommand {
  static override summary = 'Throttle copying, show what is throttled, or lift it. Binds within a second.'
  static override description =
    "A broker's rate binds all mirror partitions that broker leads on the destination, until a topic lists replicas (partition:broker): then only those of that topic. --source throttles reading instead, by a client quota on the mirror's source. Without a rate or replicas it shows what is set. The flags the KIP gives to kafka-configs.sh work too; there --entity-type clients goes to the source, whose address --bootstrap-server then is."
  static override examples = [
    {
      description: 'At most 50 MB/s into what broker 4 leads',
      command: '<%= config.bin %> throttle --bootstrap-server :9094 --broker 4 --rate 50MB',
    },
    {
      description: 'Of my-topic, only partition 0 on broker 4',
      command: '<%= config.bin %> throttle --bootstrap-server :9094 --topic my-topic --replicas 0:4',
    },
    {
      description: 'Read no more than 1 kB/s from the source with this fetcher',
      command:
        '<%= config.bin %> throttle --bootstrap-server :9094 --source --mirror my-mirror --client broker-4-fetcher-0-mirror-my-mirror --rate 1024',
    },
    { description: 'What is set', command: '<%= config.bin %> throttle --bootstrap-server :9094' },
  ]
  static override flags = {
    broker: Flags.string({ helpValue: 'ID', description: 'destination broker' }),
    topic: Flags.string({ helpValue: 'NAME', description: 'topic whose throttled replicas are set' }),
    source: Flags.boolean({ default: false, description: "on the mirror's source instead, with --mirror and --client" }),
    mirror: Flags.string({ helpValue: 'NAME', description: 'the mirror, with --source' }),
    client: Flags.string({ helpValue: 'ID', description: 'client id of the fetcher, with --source' }),
    rate: Flags.string({ helpValue: 'BYTES', description: 'bytes per second; 50MB, 1GiB work too' }),
    replicas: Flags.string({ helpValue: 'P:B,…', description: 'partition:broker pairs, or * for all' }),
    clear: Flags.boolean({ default: false, description: 'lift it' }),
    'entity-type': Flags.string({ options: ['brokers', 'topics', 'clients'], helpGroup: KIP, description: 'what is throttled' }),
    'entity-name': Flags.string({ helpGroup: KIP, helpValue: 'NAME', description: 'broker id, topic or client id' }),
    alter: Flags.boolean({ default: false, helpGroup: KIP, description: 'change, with --add-config or --delete-config' }),
    'add-config': Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      helpGroup: KIP,
      helpValue: 'KEY=VALUE',
      description: 'mirror.replication.throttled.rate, mirror.replication.throttled.replicas or consumer_byte_rate',
    }),
    'delete-config': Flags.string({ multiple: true, multipleNonGreedy: true, helpGroup: KIP, helpValue: 'KEY', description: 'lift it' }),
    describe: Flags.boolean({ default: false, description: 'show what is set' }),
    ...dryRunFlag,
    ...connectionFlags,
    ...outputFlags,
    ...commonFlags,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Throttle)
    const request = throttleRequest(flags)
    const admin = await this.admin(flags)
    if (request.action === 'describe') {
      const { target, mirror, kind } = request
      const { throttles, warnings } = await admin.describeThrottles({ target, mirror, clients: kind === 'client' })
      this.warnings(warnings)
      const shown = throttles.filter((throttle) => kind === undefined || throttle.target.kind === kind)
      if (this.wantsJson(flags)) this.print(toJson({ throttles: shown }))
      else await this.printTable(throttleColumns, shown, flags)
      return
    }
    await admin.setThrottle(request.target, request.value, { dryRun: flags['dry-run'] })
    const entity = entityText(request.target)
    const sentence = flags['dry-run'] ? `Would update config for ${entity}.` : `Completed updating config for ${entity}.`
    this.printResult(flags, sentence, { target: request.target, value: request.value, dryRun: flags['dry-run'] })
  }
}

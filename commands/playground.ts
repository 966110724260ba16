import { join } from 'node:path'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/cli/base-command.js'
import { wrongUse } from '../src/cli/errors.js'
import { commonFlags } from '../src/cli/flags.js'
import { asTyped } from '../src/cli/program-name.js'
import { describeColumns } from '../src/cli/views.js'
import { optionalDuration } from '../src/mirror/durations.js'
import type { PlaygroundIo } from '../src/playground/index.js'
import type { DescribeMirrorsResult } from '../src/service/types.js'

export default class Playground extends BaseCommand {
  static override summary = 'Try it: two real clusters on this machine, a mirror with topics, a producer and a runner.'
  static override description =
    'Needs Java 17 and Maven, which fetches Kafka once; with KAFKA_HOME set the Kafka there is used. Shows the mirror live and prints commands to try against it. Ctrl-C, or the end of --duration, stops and deletes everything.'
  static override examples = [
    { description: 'Kafka 3.9.1 mirrored to 4.4.0, until Ctrl-C', command: '<%= config.bin %> playground' },
    {
      description: 'A look of twenty seconds, without records coming in',
      command: '<%= config.bin %> playground --no-producer --duration 20s',
    },
  ]
  static override flags = {
    producer: Flags.boolean({ default: true, allowNo: true, description: 'write records all the while, not only once at the beginning' }),
    'source-version': Flags.string({ default: '3.9.1', helpValue: 'X.Y.Z', description: 'Kafka of the source' }),
    'destination-version': Flags.string({ default: '4.4.0', helpValue: 'X.Y.Z', description: 'Kafka of the destination' }),
    duration: Flags.string({ helpValue: '20s', description: 'end by itself after so long' }),
    ...commonFlags,
  }

  protected override get drains(): boolean {
    return true
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Playground)
    const sourceVersion = versionOf(flags['source-version'], '--source-version')
    const destinationVersion = versionOf(flags['destination-version'], '--destination-version')
    const durationMs = optionalDuration(flags.duration, '--duration')
    const { runPlayground } = await import('../src/playground/index.js')
    await runPlayground({ producer: flags.producer, sourceVersion, destinationVersion, durationMs }, this.world(flags))
  }

  private world(flags: { 'no-color': boolean }): PlaygroundIo<DescribeMirrorsResult> {
    const { stdout, env, signal } = this.terminal
    const runner = join(this.config.root, 'bin', 'run.js')
    return {
      print: (text) => this.print(text),
      tell: (line) => this.tell(line),
      live: stdout.isTTY === true,
      // The playground's clusters want no login, whatever the user's own do.
      env: Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('KAFKA_MIRRORS_'))),
      signal,
      program: [process.execPath, runner],
      programName: asTyped(process.argv[1] ?? runner, process.cwd()),
      createAdmin: (bootstrap) => this.surroundings.createAdmin(new Map([['bootstrap.servers', bootstrap]])),
      render: ({ partitions }) => this.tableText(describeColumns, partitions, flags),
    }
  }
}

function versionOf(text: string, flag: string): string {
  if (!/^\d+\.\d+\.\d+$/.test(text)) throw wrongUse(`${flag}: '${text}' is not a version of Kafka`, 'write it like 4.4.0')
  return text
}

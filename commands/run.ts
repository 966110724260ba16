import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/cli/base-command.js'
import { InterruptedError } from '../src/cli/errors.js'
import { commonFlags, connectionFlags } from '../src/cli/flags.js'
import { splitLists } from '../src/cli/lists.js'
import { whenAborted } from '../src/cli/terminal.js'
import { parseAllowedConfig } from '../src/client/allowed-config.js'
import type { RunnerSnapshot } from '../src/engine/events.js'
import type { Runner } from '../src/engine/runner.js'
import { checkName } from '../src/mirror/names.js'
import type { RunMirrorsOptions } from '../src/service/run-mirrors.js'

/** What the health endpoints say before the runner has started. */
const STARTING: RunnerSnapshot = { alive: false, memberId: undefined, ownedShards: 0, bufferedBytes: 0, partitions: [] }

export default class Run extends BaseCommand {
  static override summary = 'Run a runner: it copies what the mirrors say until it is told to stop.'
  static override description =
    'Needs no disk and may be killed at any point: the destination itself says where to go on. Several runners share the work. Logs go to stderr, lines for a person on a terminal and JSON otherwise. The first SIGTERM or Ctrl-C drains and leaves, the second quits.'
  static override examples = [
    { description: 'Serve all mirrors of the destination', command: '<%= config.bin %> run --bootstrap-server :9094' },
    {
      description: 'Serve one mirror, with health and metrics over HTTP',
      command: '<%= config.bin %> run --bootstrap-server :9094 --mirror my-mirror --http 127.0.0.1:9640',
    },
  ]
  static override flags = {
    mirror: Flags.string({ multiple: true, multipleNonGreedy: true, helpValue: 'NAME', description: 'only these mirrors (default all)' }),
    http: Flags.string({ helpValue: 'HOST:PORT', description: 'serve /livez, /readyz and /metrics, without authentication' }),
    'allow-config': Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'PROVIDER:WHAT,…',
      description:
        'references to config providers in settings of mirrors that may be resolved: env:NAME, env:PREFIX*, file:/folder, directory:/folder (default none)',
    }),
    'log-level': Flags.option({ options: ['debug', 'info', 'warn', 'error'] as const, default: 'info' })({
      description: 'what to log',
      helpGroup: 'OUTPUT',
    }),
    ...connectionFlags,
    ...commonFlags,
  }

  protected override get drains(): boolean {
    return true
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Run)
    const mirrors = splitLists(flags.mirror)
    for (const mirror of mirrors) checkName('mirror', mirror)
    const allowedConfig = parseAllowedConfig(splitLists(flags['allow-config']))
    const properties = await this.connection(flags)
    const observe = await import('../src/observe/index.js')
    const address = flags.http === undefined ? undefined : observe.parseListenAddress(flags.http)
    const { stderr } = this.terminal
    const human = stderr.isTTY === true
    const log = observe.createLog({ stream: stderr, human, colour: this.wantsColourOn(stderr, flags), level: flags['log-level'] })
    const stopLogging = [observe.logEvents(log), observe.logSyncs(log)]
    let runner: Runner | undefined
    const server = address && (await observe.serveHttp(address, { snapshot: () => runner?.snapshot ?? STARTING }))
    if (server) log.info(`health and metrics on http://${server.address}`)
    try {
      const { signal } = this.terminal
      const stop = whenAborted(signal)
      runner = await Promise.race([
        this.startRunner({ properties, mirrors: mirrors.length > 0 ? mirrors : undefined, allowedConfig }),
        stop,
      ])
      if (!runner) throw new InterruptedError()
      log.info(`runner started, serving ${mirrors.length > 0 ? `mirrors ${mirrors.join(', ')}` : 'all mirrors'}`)
      await stop
      log.info(`${signal.reason}: draining; a second signal quits at once`)
      await runner.drain()
      log.info('drained and left')
    } finally {
      await server?.close()
      for (const stop of stopLogging) stop()
    }
  }

  protected async startRunner(options: RunMirrorsOptions): Promise<Runner> {
    const { runMirrors } = await import('../src/service/run-mirrors.js')
    return runMirrors(options)
  }
}

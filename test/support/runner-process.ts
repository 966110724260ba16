import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { exitOf, Watchdog } from '../../src/playground/process.js'
import { root } from './cli.js'
import { eventually } from './wait.js'

/** The program under test: the built one, or an installed one that the environment names. */
export const PROGRAM = process.env.KAFKA_MIRRORS_TEST_PROGRAM ?? join(root, 'bin/run.js')

/** One line of a runner's log. */
export interface RunnerLogLine {
  readonly time: number
  readonly level: string
  readonly msg: string
  readonly event?: string
  readonly topic?: string
  readonly partition?: number
}

export interface RunnerOptions {
  /** The destination. */
  readonly bootstrap: string
  readonly mirrors?: readonly string[]
  /** Java client properties, over a session of 3 s. */
  readonly properties?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  /** What of config providers it may resolve: `--allow-config`. */
  readonly allowConfig?: string
  /** Serve health and metrics at a port of its own, see {@link RunnerProcess.metrics}. */
  readonly http?: boolean
}

/** Dead runners are noticed after 3 s: brokers of tests must allow it (`group.min.session.timeout.ms`). */
const QUICK_SESSION = { 'session.timeout.ms': '3000', 'heartbeat.interval.ms': '500' }

/** A runner as users have it: `kafka-mirrors run` in a process of its own, which cannot outlive the test. */
export class RunnerProcess {
  /** Everything it has logged so far. */
  readonly log: RunnerLogLine[] = []
  /** What it printed beside its log: nothing, if all is well. */
  readonly noise: string[] = []
  private readonly watchdog = new Watchdog()

  private constructor(private readonly child: ChildProcess) {
    this.watchdog.watch(child)
    createInterface({ input: child.stderr! }).on('line', (line) => this.take(line))
    child.stdout!.setEncoding('utf8').on('data', (text: string) => this.noise.push(text))
    child.on('exit', () => this.watchdog.release())
  }

  /** Starts the process; what it does from then on is in its log. */
  static spawn(options: RunnerOptions): RunnerProcess {
    const properties = Object.entries({ ...QUICK_SESSION, ...options.properties }).flatMap(([key, value]) => ['-X', `${key}=${value}`])
    const mirrors = (options.mirrors ?? []).flatMap((mirror) => ['--mirror', mirror])
    const http = options.http ? ['--http', '127.0.0.1:0'] : []
    const allowed = options.allowConfig === undefined ? [] : ['--allow-config', options.allowConfig]
    const words = ['run', '--bootstrap-server', options.bootstrap, ...properties, ...mirrors, ...http, ...allowed]
    return new RunnerProcess(
      spawn(process.execPath, [PROGRAM, ...words], { env: { ...process.env, ...options.env }, stdio: ['ignore', 'pipe', 'pipe'] }),
    )
  }

  /** Resolves once it holds shards, unless it is the second of two. */
  static async start(options: RunnerOptions): Promise<RunnerProcess> {
    const runner = RunnerProcess.spawn(options)
    try {
      await eventually(() => !runner.running || runner.said(/^runner started/), { what: 'The start of a runner' })
      if (runner.running) return runner
    } catch {
      await runner.kill()
    }
    throw new Error(`The runner does not start:\n${runner.text()}`)
  }

  get pid(): number {
    return this.child.pid!
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  get exitCode(): number | null {
    return this.child.exitCode
  }

  /** Lines whose sentence matches. */
  said(sentence: RegExp): RunnerLogLine | undefined {
    return this.log.find((line) => sentence.test(line.msg))
  }

  /** What Prometheus would read. */
  async metrics(): Promise<string> {
    const [address] = /http:\/\/[0-9.:]+/.exec(this.said(/^health and metrics on /)!.msg)!
    return (await fetch(`${address}/metrics`)).text()
  }

  /** The end of the log, for a failing test. */
  text(): string {
    return [...this.log.slice(-60).map((line) => JSON.stringify(line)), ...this.noise].join('\n')
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await exitOf(this.child)
  }

  /** Asks it to drain and leave; resolves with its exit status. */
  async stop(withinMs = 20_000): Promise<number | null> {
    this.child.kill('SIGTERM')
    const timer = setTimeout(() => this.child.kill('SIGKILL'), withinMs)
    await exitOf(this.child)
    clearTimeout(timer)
    return this.exitCode
  }

  /** Freezes it, as a machine that swaps or a suspended laptop does. */
  freeze(): void {
    this.child.kill('SIGSTOP')
  }

  thaw(): void {
    this.child.kill('SIGCONT')
  }

  private take(line: string): void {
    try {
      this.log.push(JSON.parse(line) as RunnerLogLine)
    } catch {
      this.noise.push(line)
    }
  }
}

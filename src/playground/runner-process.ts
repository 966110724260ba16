import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { exitOf, Watchdog } from './process.js'

/** A runner of our own program as a child process that can't outlive us; its log goes to a file. */
export class RunnerProcess {
  readonly #child: ChildProcess
  readonly #watchdog = new Watchdog()
  readonly #logFile: string
  #stopping = false
  /** Rejects when the runner ends though nobody stopped it; never resolves. */
  readonly failure: Promise<never>

  /** @param program the command line that starts our program, before its verb */
  constructor(program: readonly string[], bootstrap: string, logFile: string, env: NodeJS.ProcessEnv) {
    this.#logFile = logFile
    const [command, ...args] = [...program, 'run', '--bootstrap-server', bootstrap]
    const log = openSync(logFile, 'a')
    this.#child = spawn(command!, args, { detached: true, env, stdio: ['ignore', log, log] })
    closeSync(log)
    this.#watchdog.watch(this.#child)
    this.failure = new Promise((_, reject) => {
      this.#child.on('error', reject)
      this.#child.on('exit', () => {
        if (!this.#stopping) reject(new Error(`The runner ended by itself:\n${this.#lastLines(20)}`))
      })
    })
    // Whoever waits for it hears of it; nobody has to.
    this.failure.catch(() => {})
  }

  /** Lets it drain and leave; after `withinMs` by force. */
  async stop(withinMs = 5_000): Promise<void> {
    this.#stopping = true
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), withinMs)
    if (this.#child.pid !== undefined) await exitOf(this.#child)
    clearTimeout(timer)
    this.#watchdog.release()
  }

  #lastLines(count: number): string {
    return readFileSync(this.#logFile, 'utf8').trimEnd().split('\n').slice(-count).join('\n')
  }
}

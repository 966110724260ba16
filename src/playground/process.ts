import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'

/** What is missing or wrong on this machine, and what the user can do about it. */
export class SetupError extends Error {
  /** One sentence: what to install or set. */
  readonly advice: string

  constructor(message: string, advice: string) {
    super(message)
    this.name = 'SetupError'
    this.advice = advice
  }
}

export interface CommandResult {
  /** Exit status; −1 when the command was ended by a signal or by the time bound. */
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface CommandOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** The command is killed after this many milliseconds. Default: two minutes. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** Text for the command's standard input, which is closed after it. */
  readonly input?: string
}

/**
 * Runs a command to its end and collects what it printed.
 *
 * @throws the error of spawn (`code` ENOENT: no such program), and Error when the time bound was hit.
 */
export function runCommand(command: string, args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const timeoutMs = options.timeoutMs ?? 120_000
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: options.cwd, env: options.env, signal: options.signal, stdio: ['pipe', 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    let late = false
    const timer = setTimeout(() => {
      late = true
      child.kill('SIGKILL')
    }, timeoutMs)
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    // A command that ends without reading its input is not an error.
    child.stdin.on('error', () => {})
    child.stdin.end(options.input ?? '')
    child.on('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    child.on('close', (code) => {
      clearTimeout(timer)
      if (late) reject(new Error(`${command} did not end within ${timeoutMs} ms\n${stderr}`))
      else resolve({ code: code ?? -1, stdout, stderr })
    })
  })
}

/** Resolves once the process has ended (at once when it already has). */
export function exitOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => child.once('exit', () => resolve()))
}

// Lines name the process to kill; an empty line forgets it. The end of input is the end of our process.
const WATCHDOG_SCRIPT = `pid=
while read -r line; do pid="$line"; done
if [ -n "$pid" ]; then kill -9 "$pid" 2>/dev/null; sleep 0.1; fi
if [ -n "$1" ]; then rm -rf -- "$1"; fi`

/**
 * Makes sure that a process never outlives this one, however this one ends (also by kill -9): a tiny shell waits for
 * the pipe from us to close, then kills the process, if there is one, and deletes the folder. Signal handlers could not do that.
 */
export class Watchdog {
  readonly #shell: ChildProcess

  /** @param folder deleted when we are gone; leave it out to keep the data */
  constructor(folder = '') {
    this.#shell = spawn('/bin/sh', ['-c', WATCHDOG_SCRIPT, 'watchdog', folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
    this.#shell.on('error', () => {})
    this.#shell.stdin?.on('error', () => {})
    // Neither the shell nor its pipe may keep us running.
    this.#shell.unref()
    if (this.#shell.stdin instanceof Socket) this.#shell.stdin.unref()
  }

  /** From now on this child is killed with us, until it has ended. */
  watch(child: ChildProcess): void {
    if (child.pid === undefined) return
    this.#shell.stdin?.write(`${child.pid}\n`)
    child.once('exit', () => this.#shell.stdin?.write('\n'))
  }

  /** Everything was cleaned up in order. */
  release(): void {
    this.#shell.kill('SIGKILL')
  }
}

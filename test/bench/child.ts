import { type ChildProcess, spawn } from 'node:child_process'

export interface ChildOptions {
  readonly env?: Record<string, string>
  readonly cwd?: string
}

/** A process of the benchmark: dies with us (its stdin closes), and its last words are kept for errors. */
export class Child {
  private output = ''
  private said = ''
  readonly ended: Promise<number>

  private constructor(
    readonly name: string,
    private readonly process: ChildProcess,
  ) {
    process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.said += text
    })
    process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.output = (this.output + text).slice(-4000)
    })
    this.ended = new Promise((resolve) => {
      process.on('error', (error) => {
        this.output += error.message
        resolve(127)
      })
      process.on('close', (code) => resolve(code ?? -1))
    })
  }

  static start(name: string, command: string, args: readonly string[], options: ChildOptions = {}): Child {
    const env = { ...process.env, ...options.env }
    return new Child(name, spawn(command, args, { env, cwd: options.cwd, stdio: ['pipe', 'pipe', 'pipe'] }))
  }

  get pid(): number {
    return this.process.pid ?? -1
  }

  get running(): boolean {
    return this.process.exitCode === null && this.process.signalCode === null && this.process.pid !== undefined
  }

  get stdout(): string {
    return this.said
  }

  tell(line: string): void {
    this.process.stdin?.write(`${line}\n`)
  }

  failure(): Error {
    return new Error(`${this.name} ended too early (${this.process.exitCode ?? this.process.signalCode}):\n${this.output}${this.said}`)
  }

  /** Runs to the end. @throws with its last words unless it leaves with 0 */
  async finish(): Promise<string> {
    if ((await this.ended) !== 0) throw this.failure()
    return this.said
  }

  /** SIGTERM, and SIGKILL ten seconds later. */
  async stop(): Promise<void> {
    if (!this.running) return
    this.process.stdin?.end()
    this.process.kill('SIGTERM')
    const timer = setTimeout(() => this.process.kill('SIGKILL'), 10_000)
    await this.ended
    clearTimeout(timer)
  }
}

export const run = (name: string, command: string, args: readonly string[], options?: ChildOptions): Promise<string> =>
  Child.start(name, command, args, options).finish()

import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** `verbs`: `kafka-mirrors add …`; `kip`: `kafka-mirrors.sh --add …`. */
export type Spelling = 'verbs' | 'kip'

export const projectRoot = fileURLToPath(new URL('../..', import.meta.url))
const PROGRAMS = { verbs: `${projectRoot}bin/run.js`, kip: `${projectRoot}bin/kafka-mirrors.sh` } as const

export interface Outcome {
  /** null when a signal ended it. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunningProgram {
  readonly child: ChildProcess
  /** What it has written so far. */
  readonly output: { stdout: string; stderr: string }
  readonly ended: Promise<Outcome>
}

export interface ProgramOptions {
  /** Started instead of the program of the spelling. */
  readonly program?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Starts the built program as a process of its own, with none of the test's own settings in its environment. */
export function startProgram(spelling: Spelling, words: readonly string[], options: ProgramOptions = {}): RunningProgram {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('KAFKA_MIRRORS_') && name !== 'NODE_ENV')
  const env = { ...Object.fromEntries(inherited), ...options.env }
  const child = spawn(process.execPath, [options.program ?? PROGRAMS[spelling], ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (output.stderr += text))
  const ended = new Promise<Outcome>((resolve) => child.once('close', (exitCode) => resolve({ exitCode, ...output })))
  return { child, output, ended }
}

/** Runs the built program to its end. */
export function runProgram(spelling: Spelling, words: readonly string[], options?: ProgramOptions): Promise<Outcome> {
  return startProgram(spelling, words, options).ended
}

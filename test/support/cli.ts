import { readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { Config } from '@oclif/core/config'
import type { Admin, CommandClass } from '../../src/cli/base-command.js'
import { reportError } from '../../src/cli/errors.js'

export const root = new URL('../..', import.meta.url).pathname
const manifest = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))

export interface VerbOptions {
  admin?: Partial<Admin>
  env?: Record<string, string>
  /** What is typed; makes stdin and stderr a terminal. */
  typed?: string
  /** Makes stdout a terminal. */
  screen?: boolean
  signal?: AbortSignal
  /** Sees stderr as it is written. */
  onStderr?: (text: string) => void
}

export interface VerbOutcome {
  stdout: string
  stderr: string
  exitCode: number
  /** The properties each admin was created with. */
  connections: ReadonlyMap<string, string>[]
  closed: number
}

const SERVER = { KAFKA_MIRRORS_BOOTSTRAP_SERVER: ':9094' }

/** Runs one verb inside this process against an admin of the test's, and says what a user would have seen. */
export async function runVerb(Verb: CommandClass, argv: string[], options: VerbOptions = {}): Promise<VerbOutcome> {
  const outcome: VerbOutcome = { stdout: '', stderr: '', exitCode: 0, connections: [], closed: 0 }
  const stdin = stream(options.typed !== undefined)
  const stdout = stream(options.screen === true)
  const stderr = stream(options.typed !== undefined)
  stdout.on('data', (chunk) => (outcome.stdout += chunk))
  stderr.on('data', (chunk) => (outcome.stderr += chunk))
  if (options.onStderr) stderr.on('data', options.onStderr)
  if (options.typed !== undefined) stdin.end(options.typed)
  const { commands: _, ...oclif } = manifest.oclif
  const config = await Config.load({ root, pjson: { ...manifest, oclif } })
  const signal = options.signal ?? new AbortController().signal
  const command = new Verb(argv, config)
  try {
    await command.execute({
      terminal: { stdin, stdout, stderr, env: { ...SERVER, ...options.env }, signal },
      createAdmin: async (properties) => {
        outcome.connections.push(properties)
        return { close: async () => void outcome.closed++, ...options.admin } as Admin
      },
    })
  } catch (error) {
    const report = reportError(error)
    outcome.exitCode = report.exitCode
    if (report.line !== undefined) stderr.write(`kafka-mirrors: ${report.line}\n`)
  }
  await new Promise(setImmediate)
  return outcome
}

function stream(isTTY: boolean): PassThrough & { isTTY: boolean } {
  return Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
}

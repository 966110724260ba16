import type { CommandClass } from './base-command.js'
import { EXIT, InterruptedError, reportError, wrongUse } from './errors.js'
import { rewriteKipArguments } from './kip-arguments.js'
import { processTerminal } from './terminal.js'
import { findVerb, nearest, VERB_WORDS } from './verbs.js'

export interface Program {
  /** Folder of package.json. */
  readonly root: string
  /** package.json, already read. */
  readonly manifest: { readonly version: string; readonly oclif: Readonly<Record<string, unknown>> }
  /** `verbs`: `kafka-mirrors add …`; `kip`: `kafka-mirrors.sh --add …`. */
  readonly spelling: 'verbs' | 'kip'
  /** Loads the module of one verb; its default export is the command. */
  readonly loadCommand: (name: string) => Promise<{ default: CommandClass & { id: string } }>
}

/**
 * The program: runs what `argv` says and ends the process with its exit code.
 *
 * Only the verb that is called is loaded. oclif's own way from a clone (no manifest) is to load every command first,
 * which is kept for help, where it is needed.
 */
export async function main(argv: readonly string[], program: Program): Promise<void> {
  // Read by oclif's help when it is loaded, which is below.
  if (argv.includes('--no-color')) process.env.NO_COLOR = '1'
  const interruption = interruptions()
  // `describe --watch | head` has seen enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.done)
  })
  const debug = argv.includes('--debug')
  // A bug, not an answer: whatever state it leaves cannot be trusted, and the source of truth is elsewhere.
  process.on('uncaughtException', (error) => process.exit(complain(error, debug)))
  let exitCode: number = EXIT.done
  try {
    await dispatch(program.spelling === 'kip' ? rewriteKipArguments(argv) : [...argv], program, interruption)
    if (interruption.aborted && interruption.reason === 'SIGINT') exitCode = EXIT.interrupted
  } catch (error) {
    exitCode = complain(error, debug)
    if (error instanceof InterruptedError && interruption.reason === 'SIGTERM') exitCode = EXIT.terminated
  }
  // What is still in the pipe has to get out before the process ends; sockets left open must not keep it.
  await Promise.all([flushed(process.stdout), flushed(process.stderr)])
  process.exit(exitCode)
}

async function dispatch(argv: string[], program: Program, signal: AbortSignal): Promise<void> {
  const [word, ...rest] = argv
  if (word === '--version' || word === '-v') {
    process.stdout.write(`kafka-mirrors ${program.manifest.version}\n`)
    return
  }
  if (word === undefined || word === 'help' || word === '--help' || word === '-h') return showHelp(word === 'help' ? rest : [], program)
  const verb = findVerb(word)
  if (!verb) throw unknownVerb(word)
  const end = rest.indexOf('--')
  const flags = end === -1 ? rest : rest.slice(0, end)
  if (flags.includes('--help') || flags.includes('-h')) return showHelp([verb.name], program)

  const { Config } = await import('@oclif/core/config')
  const { commands: _, ...oclif } = program.manifest.oclif
  const config = await Config.load({ root: program.root, pjson: { ...program.manifest, oclif } as never })
  const { default: Verb } = await program.loadCommand(verb.name)
  Verb.id = verb.name
  await new Verb(rest, config).execute({ terminal: processTerminal(signal) })
}

/** Says what went wrong, in one line without `debug`. @returns the exit code */
function complain(error: unknown, debug: boolean): number {
  const { line, exitCode } = reportError(error)
  if (line !== undefined) process.stderr.write(`kafka-mirrors: ${line}\n`)
  if (line !== undefined && debug && error instanceof Error) process.stderr.write(`${stackOf(error)}\n`)
  return exitCode
}

function unknownVerb(word: string): Error {
  const near = nearest(word.replace(/^-+/, ''), VERB_WORDS)
  const what = word.startsWith('-') ? `the first word has to be a verb, not ${word}` : `unknown verb ${word}`
  return wrongUse(what, near ? `did you mean ${near}?` : `use one of ${VERB_WORDS.join(' ')}`)
}

async function showHelp(words: string[], program: Program): Promise<void> {
  if (words[0] !== undefined && !findVerb(words[0])) throw unknownVerb(words[0])
  const { settings } = await import('@oclif/core/settings')
  // Help is of what runs: never of sources transpiled on the way.
  settings.enableAutoTranspile = false
  const { run } = await import('@oclif/core/run')
  const oclif = { ...program.manifest.oclif, helpOptions: { hideAliasesFromRoot: true } }
  await run([...words, '--help'], { root: program.root, pjson: { ...program.manifest, oclif } as never })
}

/** Aborted by the first SIGINT or SIGTERM; the second one ends the process whatever it is doing. */
function interruptions(): AbortSignal {
  const controller = new AbortController()
  const onSignal = (name: 'SIGINT' | 'SIGTERM') => {
    if (controller.signal.aborted) process.exit(name === 'SIGINT' ? EXIT.interrupted : EXIT.terminated)
    controller.abort(name)
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return controller.signal
}

function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\nCaused by: ${stackOf(error.cause)}` : ''
  return `${error.stack ?? error.message}${cause}`
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0) resolve()
    else stream.write('', () => resolve())
  })
}

import { stripVTControlCharacters } from 'node:util'
import { type MirrorError, usageError } from '../mirror/errors.js'
import { nearest } from './verbs.js'

/** Exit codes of the program; 128 + signal number where a signal ended it. */
export const EXIT = { done: 0, failed: 1, wrongUse: 2, interrupted: 130, terminated: 143 } as const

/** The user pressed Ctrl-C, or the process was told to go. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError'
}

/** Some items of many failed; each was already reported on stderr. */
export class ItemsFailedError extends Error {
  override readonly name = 'ItemsFailedError'

  constructor(readonly exitCode: number) {
    super('some items failed')
  }
}

/** What to say about an error, on one line without the program's name, and the code to leave with. */
export interface ErrorReport {
  readonly line: string | undefined
  readonly exitCode: number
}

/** An error of the kind "wrong use": exit code 2. */
export function wrongUse(message: string, advice?: string): MirrorError {
  return usageError('INVALID_REQUEST', message, advice)
}

/** `what — advice` on one line. */
export function errorLine(error: { message: string; advice?: string | undefined }): string {
  const advice = error.advice && lowerFirst(error.advice).replace(/\.$/, '')
  return [error.message, advice]
    .filter(Boolean)
    .join(' — ')
    .replace(/\s*\n\s*/g, ' ')
}

/** Turns anything thrown into a line and an exit code. Known by shape, so that no room below needs to be loaded for it. */
export function reportError(thrown: unknown): ErrorReport {
  if (thrown instanceof InterruptedError) return { line: undefined, exitCode: EXIT.interrupted }
  if (thrown instanceof ItemsFailedError) return { line: undefined, exitCode: thrown.exitCode }
  if (!(thrown instanceof Error)) return { line: errorLine({ message: String(thrown) }), exitCode: EXIT.failed }
  const error: Error & { kind?: unknown; advice?: unknown; oclif?: { exit?: number }; code?: unknown } = thrown
  if (error.code === 'EEXIT') return { line: undefined, exitCode: error.oclif?.exit ?? EXIT.done }
  const wrong = error.kind === 'usage' || error.name === 'ConfigError' || error.oclif?.exit === EXIT.wrongUse
  const told = error.oclif ? parserError(error) : { message: error.message || error.name, advice: error.advice }
  const advice = typeof told.advice === 'string' ? told.advice : undefined
  return { line: errorLine({ message: told.message, advice }), exitCode: wrong ? EXIT.wrongUse : EXIT.failed }
}

interface ParserError extends Error {
  flags?: readonly string[]
  parse?: { input?: { flags?: Record<string, unknown> } }
}

/** oclif's parser speaks in paragraphs. */
function parserError(error: ParserError): { message: string; advice?: string } {
  const text = stripVTControlCharacters(error.message)
    .replace(/\s*See more help with --help\s*$/, '')
    .trim()
  const unknown = /^Nonexistent flags?: (.*)$/.exec(text)
  if (unknown) return { message: `unknown flag ${unknown[1]}`, advice: suggestFlag(error) ?? 'see --help' }
  const parsing = /^Parsing (--\S+) \s*([\s\S]*)$/.exec(text)
  if (parsing) return { message: `${parsing[1]}: ${lowerFirst(parsing[2]!)}` }
  const reasons = text
    .replace(/^The following errors? occurred:\s*/, '')
    .split('\n')
    .map((line) => line.trim().replace(/^Missing required flag (\S+)$/, '--$1 is missing'))
  return { message: lowerFirst(reasons.filter(Boolean).join('; ')), advice: 'see --help' }
}

function suggestFlag(error: ParserError): string | undefined {
  const known = Object.keys(error.parse?.input?.flags ?? {}).map((name) => `--${name}`)
  const near = error.flags?.length === 1 ? nearest(error.flags[0]!.replace(/=.*/, ''), known) : undefined
  return near && `did you mean ${near}?`
}

const lowerFirst = (text: string) => (/^[A-Z][a-z ]/.test(text) ? text[0]!.toLowerCase() + text.slice(1) : text)

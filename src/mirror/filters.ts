import { usageError } from './errors.js'

/** One entry of an include or exclude list. */
export interface Pattern {
  readonly text: string
  /** A literal matches the one name it spells; otherwise the text is a regex over the whole name. */
  readonly literal: boolean
  matches(name: string): boolean
}

/** What makes a text a regex. The dot is not among them: `my.internal` is a name, not a wildcard. */
const REGEX_CHARACTER = /[\\^$*+?()[\]{}|]/

export const isLiteral = (text: string): boolean => !REGEX_CHARACTER.test(text)

/** Throws MirrorError (usage) naming a regex that cannot be read. */
export function parsePattern(text: string): Pattern {
  if (isLiteral(text)) return { text, literal: true, matches: (name) => name === text }
  try {
    const regex = new RegExp(`^(?:${text})$`, 's')
    return { text, literal: false, matches: (name) => regex.test(name) }
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^.*:\s*/s, '') : String(error)
    throw usageError('INVALID_PATTERN', `'${text}' is neither a name nor a regular expression: ${reason}`)
  }
}

/**
 * Splits a comma list, dropping blanks around entries and empty entries. Commas inside (), [] or {} belong to a regex:
 * `a{1,3},b` has two entries.
 */
export function splitList(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let current = ''
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (char === '\\') {
      current += char + (text[++i] ?? '')
      continue
    }
    if ('([{'.includes(char)) depth++
    else if (')]}'.includes(char)) depth = Math.max(0, depth - 1)
    if (char === ',' && depth === 0) {
      parts.push(current)
      current = ''
    } else current += char
  }
  parts.push(current)
  return parts.map((part) => part.trim()).filter((part) => part !== '')
}

/** A name passes when an include entry matches and no exclude entry does. */
export interface Filter {
  passes(name: string): boolean
}

export function filterOf(include: readonly string[], exclude: readonly string[]): Filter {
  const included = include.map(parsePattern)
  const excluded = exclude.map(parsePattern)
  const any = (patterns: readonly Pattern[], name: string) => patterns.some((pattern) => pattern.matches(name))
  return { passes: (name) => any(included, name) && !any(excluded, name) }
}

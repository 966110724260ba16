/** A line of a properties file that cannot be read; names its number. */
export class PropertiesError extends Error {
  override readonly name = 'PropertiesError'

  constructor(
    readonly line: number,
    reason: string,
  ) {
    super(`line ${line}: ${reason}`)
  }
}

export interface Properties {
  readonly entries: Map<string, string>
}

const ESCAPES: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f' }

/**
 * Reads Java's `.properties` syntax (java.util.Properties.load): `#` and `!` comments, `=`, `:` or blanks as separator,
 * lines continued by a backslash, `\t \n \r \f` and `\uXXXX` escapes; a key given twice keeps its last value.
 *
 * Stricter than Java on what is always a mistake: a line without a separator, an empty key, binary content.
 *
 * @throws PropertiesError
 */
export function parseProperties(text: string): Properties {
  const entries = new Map<string, string>()
  for (const { number, content } of logicalLines(text)) {
    if (hasBinary(content)) throw new PropertiesError(number, 'holds binary data; is this a text file?')
    const [key, value] = split(content, number)
    entries.set(unescapeText(key, number), unescapeText(value, number))
  }
  return { entries }
}

/** Joins continued lines, and drops blank lines and comments. */
function* logicalLines(text: string): Generator<{ number: number; content: string }> {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
  for (let i = 0; i < lines.length; i++) {
    const number = i + 1
    let content = trimStart(lines[i]!)
    if (content === '' || content.startsWith('#') || content.startsWith('!')) continue
    while (endsInOddBackslashes(content)) content = content.slice(0, -1) + trimStart(lines[++i] ?? '')
    if (content !== '') yield { number, content }
  }
}

function split(line: string, number: number): [key: string, value: string] {
  let end = 0
  while (end < line.length && !/[=:\s]/.test(line[end]!)) end += line[end] === '\\' ? 2 : 1
  if (end >= line.length) throw new PropertiesError(number, `'${shorten(line)}' has no '=' between key and value`)
  if (end === 0) throw new PropertiesError(number, 'has no key before the separator')
  return [line.slice(0, end), line.slice(end).replace(/^[ \t\f]*[=:]?[ \t\f]*/, '')]
}

function unescapeText(text: string, number: number): string {
  if (!text.includes('\\')) return text
  return text.replace(/\\(u[0-9a-fA-F]{4}|[\s\S]|$)/g, (_, escaped: string) => {
    if (escaped.length === 5) return String.fromCharCode(Number.parseInt(escaped.slice(1), 16))
    if (escaped === 'u') throw new PropertiesError(number, 'has a \\u that is not followed by four hexadecimal digits')
    return ESCAPES[escaped] ?? escaped
  })
}

const trimStart = (line: string) => line.replace(/^[ \t\f]+/, '')
const endsInOddBackslashes = (line: string) => /\\*$/.exec(line)![0].length % 2 === 1
const hasBinary = (line: string) => /[^\P{Cc}\t\f]|\uFFFD/u.test(line)

/** Enough of a bad line to find it. A line without a separator might still be a pasted secret, so no more than that. */
const shorten = (line: string) => (line.length > 20 ? `${line.slice(0, 20)}…` : line)

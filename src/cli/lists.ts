import { wrongUse } from './errors.js'

const OPENING = '([{'
const CLOSING = ')]}'

/**
 * Splits `a,b,c` at the commas that are not inside brackets or double quotes, so that `x{1,2}`, `[0:4,1:4]` and
 * `password="a,b"` stay whole. A backslash takes the next character as it is. Blank items are dropped.
 */
export function splitList(text: string): string[] {
  const items: string[] = []
  let item = ''
  let depth = 0
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!
    if (character === '\\' && i + 1 < text.length) {
      item += character + text[++i]
      continue
    }
    if (character === '"') quoted = !quoted
    if (!quoted && OPENING.includes(character)) depth++
    if (!quoted && CLOSING.includes(character)) depth = Math.max(0, depth - 1)
    if (character === ',' && depth === 0 && !quoted) {
      items.push(item)
      item = ''
    } else item += character
  }
  return [...items, item].map((one) => one.trim()).filter((one) => one !== '')
}

/** Splits every value of a repeatable flag, drops repetitions, keeps the order. */
export function splitLists(values: readonly string[] | undefined): string[] {
  return [...new Set((values ?? []).flatMap(splitList))]
}

/**
 * Reads `key=value,key=[a,b]` as `kafka-configs.sh` does: a value in square brackets keeps its commas and loses the brackets.
 *
 * @throws MirrorError (usage) for an item without `=`
 */
export function parseAssignments(values: readonly string[] | undefined, flag: string): Map<string, string> {
  const assignments = (values ?? []).flatMap(splitList).map((item) => parseAssignment(item, flag))
  return new Map(assignments.map(([key, value]) => [key, /^\[.*\]$/.test(value) ? value.slice(1, -1) : value]))
}

/** One `key=value`. Only the key is named in the error: the rest might be a secret. */
export function parseAssignment(item: string, flag: string): [key: string, value: string] {
  const at = item.indexOf('=')
  if (at < 1) throw wrongUse(`${flag} needs key=value, not '${at < 0 ? item.slice(0, 20) : item}'`)
  return [item.slice(0, at).trim(), item.slice(at + 1).trim()]
}

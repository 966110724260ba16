import { splitList } from '../mirror/filters.js'
import { wrongUse } from './errors.js'

/** Splits every value of a repeatable flag at its commas, drops repetitions, keeps the order. */
export function splitLists(values: readonly string[] | undefined): string[] {
  return [...new Set((values ?? []).flatMap(splitList))]
}

/** `key=value` items; commas inside double quotes or square brackets belong to the value. */
const ASSIGNMENTS = /(?:"[^"]*"|\[[^\]]*\]|[^,])+/gs

/**
 * Reads `key=value,key=[a,b]` as `kafka-configs.sh` does: a value in square brackets keeps its commas and loses the brackets.
 *
 * @throws MirrorError (usage) for an item without `=`
 */
export function parseAssignments(values: readonly string[] | undefined, flag: string): Map<string, string> {
  const items = (values ?? []).flatMap((value) => value.match(ASSIGNMENTS) ?? [])
  const assignments = items.filter((item) => item.trim() !== '').map((item) => parseAssignment(item, flag))
  return new Map(assignments.map(([key, value]) => [key, /^\[.*\]$/s.test(value) ? value.slice(1, -1) : value]))
}

/** One `key=value`. Little is repeated of what is none: it might be a secret. */
export function parseAssignment(item: string, flag: string): [key: string, value: string] {
  const at = item.indexOf('=')
  if (at < 1) throw wrongUse(`${flag} needs key=value, not '${item.slice(0, 20)}'`)
  return [item.slice(0, at).trim(), item.slice(at + 1).trim()]
}

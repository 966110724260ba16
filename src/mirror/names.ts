import { usageError } from './errors.js'

const ALLOWED = /^[a-zA-Z0-9._-]+$/
const MAX_LENGTH = 249

/** True for what Kafka allows as a topic name (kafka's Topic.validate); mirrors follow the same rule. */
export const isName = (name: string): boolean => ALLOWED.test(name) && name.length <= MAX_LENGTH && name !== '.' && name !== '..'

/** Throws MirrorError (usage) unless `name` is allowed. `what` is "mirror" or "topic". */
export function checkName(what: 'mirror' | 'topic', name: string): void {
  if (isName(name)) return
  const shown = name.length > 80 ? `${name.slice(0, 80)}…` : name
  throw usageError(
    'INVALID_NAME',
    `${what} name '${shown.replace(/[^\x20-\x7e]/g, '?')}' is not allowed`,
    `A name has 1 to ${MAX_LENGTH} of the characters a-z, A-Z, 0-9, '.', '_' and '-', and is not '.' or '..'.`,
  )
}

import { faultOf, referencesIn, shownReference } from '../client/config-references.js'
import { usageError } from './errors.js'

/** Client properties whose values are never printed or logged. */
const SECRET = /(?:^sasl\.jaas\.config$|password|secret|^ssl\.keystore\.key$|\.token$)/i

export const isSecret = (key: string): boolean => SECRET.test(key)

/** What stands for a secret's value in every output. */
export const HIDDEN = '[hidden]'

/**
 * Checks the references to config providers in a value as it is to be stored. Only the source's client properties may have any: the
 * settings of ours are read by everybody who reads the state, and are no secrets. Throws MirrorError (usage).
 */
export function checkReferences(key: string, value: string): void {
  for (const reference of referencesIn(value)) {
    const fault = key.startsWith('mirror.') ? 'only client properties of the source may' : faultOf(reference)
    if (fault === undefined) continue
    throw usageError('INVALID_CONFIG', `the value of ${key} refers to ${shownReference(reference)}: ${fault}`, REFERENCES)
  }
}

const REFERENCES = `There are \${env:NAME}, \${file:/path:key} and \${directory:/path:key}; a value itself is stored as given and never printed.`

/** Whether a value is nothing but a reference: that may be shown. */
const isOneReference = (value: string): boolean => {
  const [only] = referencesIn(value)
  return only !== undefined && only.text === value.trim()
}

/** The settings as they may be shown. */
export function withoutSecrets(configs: ReadonlyMap<string, string>): Record<string, string> {
  const sorted = [...configs].sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([key, value]) => [key, isSecret(key) && !isOneReference(value) ? HIDDEN : value]))
}

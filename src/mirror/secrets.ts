/** Client properties whose values are never printed or logged. */
const SECRET = /(?:^sasl\.jaas\.config$|password|secret|^ssl\.keystore\.key$|\.token$)/i

export const isSecret = (key: string): boolean => SECRET.test(key)

/** What stands for a secret's value in every output. */
export const HIDDEN = '[hidden]'

/** A reference that a config provider would resolve: `${env:NAME}`, `${file:path:key}`, `${directory:path:key}`. */
const REFERENCE = /\$\{[a-z]+:[^}]*\}/i

export const isReference = (value: string): boolean => REFERENCE.test(value)

/** The settings as they may be shown. */
export function withoutSecrets(configs: ReadonlyMap<string, string>): Record<string, string> {
  const sorted = [...configs].sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([key, value]) => [key, isSecret(key) ? HIDDEN : value]))
}

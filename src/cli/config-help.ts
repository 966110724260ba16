import { CONFIG_DEFINITIONS } from '../mirror/config-definitions.js'

/** The settings of a mirror as help, from the table that checks them: key and default, then what it is for. */
export function configHelp(): string {
  const settings = Object.entries(CONFIG_DEFINITIONS).map(
    ([key, { doc, allowed, default: value }]) => `${key}=${value}\n    ${doc} Takes ${allowed}.`,
  )
  return `Settings of a mirror and their defaults, beside the source's client properties (bootstrap.servers, security.protocol, sasl.*, ssl.*):\n\n${settings.join('\n')}`
}

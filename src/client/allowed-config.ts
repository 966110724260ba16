import { normalize, resolve, sep } from 'node:path'
import { CONFIG_PROVIDERS, type ConfigProviderName, type ConfigReference } from './config-references.js'

/** What may be resolved: names of variables, where a last `*` stands for any rest, and absolute paths of files and folders. */
export type AllowedConfig = Readonly<Record<ConfigProviderName, readonly string[]>>

/** An entry of `--allow-config` that cannot be read; wrong use. */
export class AllowConfigError extends Error {
  override readonly name = 'AllowConfigError'
  readonly kind = 'usage'
  readonly advice = 'Write env:NAME or env:PREFIX*, file:/folder, directory:/folder, with commas between several.'
}

/**
 * `env:PREFIX*`, `env:NAME`, `file:/folder`, `directory:/folder`; a folder stands for all below it, and `file:` may name a single file.
 *
 * @throws AllowConfigError
 */
export function parseAllowedConfig(entries: readonly string[]): AllowedConfig {
  const allowed: Record<ConfigProviderName, string[]> = { env: [], file: [], directory: [] }
  for (const entry of entries) {
    const colon = entry.indexOf(':')
    const provider = CONFIG_PROVIDERS.find((name) => name === entry.slice(0, colon))
    const what = entry.slice(colon + 1)
    if (provider === undefined || what === '') throw new AllowConfigError(`--allow-config: '${entry}' is not provider:what`)
    if (provider === 'env' && !/^[^*=]*\*?$/.test(what))
      throw new AllowConfigError(`--allow-config: '${what}' is not a name with at most a * at its end`)
    if (provider !== 'env' && !what.startsWith('/')) throw new AllowConfigError(`--allow-config: '${what}' is not an absolute path`)
    allowed[provider].push(provider === 'env' ? what : resolve(what))
  }
  return allowed
}

/** Whether a reference is allowed by what it says, before anything is looked at: the files there are, are nobody's business. */
export function isAllowed(allowed: AllowedConfig, { provider, path, key }: ConfigReference): boolean {
  if (provider === 'env') return allowed.env.some((name) => (name.endsWith('*') ? key.startsWith(name.slice(0, -1)) : key === name))
  if (provider === 'file' || provider === 'directory') return allowed[provider].some((folder) => isWithin(normalize(path), folder))
  return false
}

/** Whether a path is `folder` or lies below it; both absolute and without `..`. */
export const isWithin = (path: string, folder: string): boolean => {
  const plain = path.length > 1 && path.endsWith(sep) ? path.slice(0, -1) : path
  return plain === folder || plain.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

import { realpathSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { type AllowedConfig, isAllowed, isWithin } from './allowed-config.js'
import { type ConfigReference, faultOf, hasReference, replaceReferences, shownReference } from './config-references.js'
import { ConfigError } from './errors.js'
import { PropertiesError, parseProperties } from './properties.js'
import { readPlainly } from './regular-file.js'

export interface ProviderOptions {
  /** What may be resolved; default all that this process may read. */
  readonly allowed?: AllowedConfig | undefined
  readonly env?: Readonly<Record<string, string | undefined>>
}

/**
 * Fills in what config providers hold, as Kafka's EnvVarConfigProvider, FileConfigProvider (a key of a properties file) and
 * DirectoryConfigProvider (the content of a file of that name, line end included) do. Stricter in one thing: what is not there is an
 * error, where Kafka leaves the reference as it is, to be taken for a password.
 *
 * Whoever may alter a mirror chooses both the references and the server their values are sent to. So with `allowed` nothing
 * else is looked at, not even whether it is there, and no message holds anything that was read.
 *
 * @throws ConfigError naming the setting and the reference
 */
export function resolveReferences(properties: ReadonlyMap<string, string>, options: ProviderOptions = {}): ReadonlyMap<string, string> {
  if (![...properties.values()].some(hasReference)) return properties
  return new Map([...properties].map(([key, value]) => [key, replaceReferences(value, (reference) => resolved(key, reference, options))]))
}

const ELSEWHERE = "Where only the runners' hosts have it, create and alter take --offline."

function resolved(setting: string, reference: ConfigReference, { allowed, env = process.env }: ProviderOptions): string {
  const refuse = (why: string): never => {
    throw new ConfigError(setting, `${setting} refers to ${shownReference(reference)}, ${why}`, ELSEWHERE)
  }
  const fault = faultOf(reference)
  if (fault !== undefined) return refuse(`but ${fault}`)
  if (allowed !== undefined && !isAllowed(allowed, reference)) {
    return refuse('which this runner may not resolve: run --allow-config says what it may')
  }
  if (reference.provider === 'env') {
    const value = Object.hasOwn(env, reference.key) ? env[reference.key] : undefined
    return value ?? refuse('but there is no such environment variable')
  }
  const content = contentOf(reference, allowed, refuse)
  if (reference.provider === 'directory') return content
  return propertiesOf(content, refuse).get(reference.key) ?? refuse('but the file has no such key')
}

function contentOf({ provider, path, key }: ConfigReference, allowed: AllowedConfig | undefined, refuse: (why: string) => never): string {
  const folders = provider === 'file' ? allowed?.file : allowed?.directory
  try {
    const real = realpathSync(provider === 'file' ? normalize(path) : join(normalize(path), key))
    // Links may lead on within what is allowed, as those of mounted Kubernetes secrets do, but not out of it.
    if (folders !== undefined && !folders.some((folder) => isWithin(real, realOf(folder)))) {
      return refuse('which leads out of what run --allow-config allows')
    }
    return readPlainly(real).toString('utf8')
  } catch (error) {
    if (error instanceof ConfigError) throw error
    return refuse(`but the file ${REASONS[(error as NodeJS.ErrnoException).code ?? ''] ?? 'cannot be read'}`)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EACCES: 'may not be read',
  EISDIR: 'is a folder',
  EFTYPE: 'is not a regular file',
  EFBIG: 'is too large',
}

/** A folder that is allowed may itself be a link; one that is not there holds nothing. */
function realOf(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return folder
  }
}

function propertiesOf(content: string, refuse: (why: string) => never): ReadonlyMap<string, string> {
  try {
    return parseProperties(content).entries
  } catch (error) {
    // Its sentence quotes the line, which may be anything.
    return refuse(`but the file is not one of Java properties${error instanceof PropertiesError ? ` (line ${error.line})` : ''}`)
  }
}

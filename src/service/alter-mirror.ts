import { checkConfigs, checkKey } from '../mirror/config.js'
import { MirrorError, usageError } from '../mirror/errors.js'
import { about, sourceOf, toMirrorError } from '../mirror/failures.js'
import { erase, type Mirror, mustExist, put } from '../mirror/spec-store.js'
import { entriesOf, type ServiceContext } from './context.js'
import { settingWarnings, unknownKeyWarnings } from './create-mirror.js'
import { checkedClusterId, checkSource, openSource } from './source-connection.js'
import type { AlterMirrorChanges, AlterMirrorOptions, AlterMirrorResult } from './types.js'

interface Change {
  readonly set: ReadonlyMap<string, string>
  readonly deleted: readonly string[]
}

/** See {@link MirrorAdmin.alterMirror}. */
export async function alterMirror(
  { store }: ServiceContext,
  name: string,
  changes: AlterMirrorChanges,
  options: AlterMirrorOptions,
): Promise<AlterMirrorResult> {
  const change: Change = { set: entriesOf(changes.set ?? {}), deleted: [...new Set(changes.delete)] }
  checkConfigs(change.set)
  for (const key of change.deleted) checkKey(key)
  const mirror = mustExist(await store.read(), name)
  const warnings = await tryOut(mirror, applied(mirror, change), options)
  const changed = options.dryRun ? changedKeys(mirror, change) : await store.update((state) => decide(mustExist(state, name), change))
  return { mirror: name, changed, warnings: [...warnings, ...settingWarnings(change.set)] }
}

function decide(mirror: Mirror, change: Change) {
  applied(mirror, change)
  const keys = changedKeys(mirror, change)
  const records = keys.map((key) => {
    const value = change.set.get(key)
    const stateKey = { kind: 'config', mirror: mirror.name, key } as const
    return value === undefined ? erase(stateKey) : put(stateKey, { value })
  })
  return { records, result: keys }
}

const changedKeys = ({ configs }: Mirror, { set, deleted }: Change): string[] => [
  ...[...set].filter(([key, value]) => configs.get(key) !== value).map(([key]) => key),
  ...deleted,
]

/** The settings as they would be. Throws MirrorError for a key to be deleted that is not set, or that cannot be missing. */
function applied({ name, configs }: Mirror, { set, deleted }: Change): ReadonlyMap<string, string> {
  const unset = deleted.find((key) => !configs.has(key))
  if (unset !== undefined)
    throw usageError('INVALID_CONFIG', `${unset} is not set on mirror ${name}`, `Set: ${[...configs.keys()].sort().join(', ')}.`)
  const result = new Map([...configs, ...set])
  for (const key of deleted) result.delete(key)
  if (!result.get('bootstrap.servers')?.trim()) {
    throw usageError('INVALID_CONFIG', `mirror ${name} cannot do without bootstrap.servers`, 'Set it to another value instead.')
  }
  return result
}

/**
 * Tries the new client properties against the source when they change. A source that is out of reach is only a warning:
 * settings must be changeable then most of all; one that refuses the login, or is another cluster, is an error.
 */
async function tryOut(mirror: Mirror, configs: ReadonlyMap<string, string>, options: AlterMirrorOptions): Promise<string[]> {
  const { name } = mirror
  if (!clientKeysDiffer(mirror.configs, configs)) return []
  const isNews = (key: string) => !mirror.configs.has(key)
  if (options.offline) {
    const unknown = await about(sourceOf(name), undefined, async () => checkSource({ mirror: name, configs }))
    return unknownKeyWarnings(unknown.filter(isNews))
  }
  const opened = await about(sourceOf(name), undefined, async () => openSource({ mirror: name, configs }))
  const warnings = unknownKeyWarnings(opened.unknownKeys.filter(isNews))
  try {
    await checkedClusterId(opened.cluster, name, mirror.spec.sourceClusterId)
    return warnings
  } catch (cause) {
    const error = toMirrorError(cause, sourceOf(name))
    if (error.code !== 'SOURCE_UNREACHABLE') throw error
    if (isRefusal(error)) throw new MirrorError(error.code, error.message, { advice: REFUSED, cause })
    return [...warnings, `the new settings were not tried: ${error.message}`]
  } finally {
    await opened.cluster.close()
  }
}

const REFUSED = 'Nothing was changed; use --offline to change it nevertheless.'

/** Wrong password, wrong certificate: the source is there and says no. */
function isRefusal(error: MirrorError): boolean {
  const kind = (error.cause as { kind?: unknown } | undefined)?.kind
  return kind === 'authentication' || kind === 'tls'
}

function clientKeysDiffer(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): boolean {
  const keys = [...new Set([...before.keys(), ...after.keys()])].filter((key) => !key.startsWith('mirror.'))
  return keys.some((key) => before.get(key) !== after.get(key))
}

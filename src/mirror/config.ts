import { CONFIG_DEFINITIONS, type ConfigDefinition, isMirrorConfigKey, type MirrorConfigKey } from './config-definitions.js'
import { usageError } from './errors.js'
import { splitList } from './filters.js'
import { checkReferences } from './secrets.js'

/** What to do when the source no longer has what was to be copied next. */
export type OnGap = 'fail' | 'record'

/** A mirror's own settings, defaults filled in. Times are milliseconds. */
export interface MirrorConfig {
  readonly topicsInclude: readonly string[]
  readonly topicsExclude: readonly string[]
  readonly topicPropertiesExclude: readonly string[]
  readonly groupsInclude: readonly string[]
  readonly groupsExclude: readonly string[]
  readonly aclInclude: readonly string[]
  readonly metadataRefreshIntervalMs: number
  readonly groupSyncIntervalMs: number
  readonly numReplicaFetchers: number
  readonly fetchBackoffMs: number
  readonly failedRetryInitialBackoffMs: number
  readonly failedRetryMaxBackoffMs: number
  readonly onGap: OnGap
  readonly bufferBytes: number
}

/**
 * Checks settings as given to `create` or `alter`; keys outside `mirror.` are the source's client properties, which the
 * client checks itself. Throws MirrorError (usage) naming the key, the value and what is allowed.
 */
export function checkConfigs(entries: Iterable<readonly [string, string]>): void {
  for (const [key, value] of entries) {
    checkKey(key)
    checkReferences(key, value)
    if (!isMirrorConfigKey(key)) continue
    const definition: ConfigDefinition = CONFIG_DEFINITIONS[key]
    if (definition.check(value.trim())) continue
    const reason = definition.reason?.(value.trim())
    throw usageError(
      'INVALID_CONFIG',
      `'${value}' is not a value for ${key}${reason === undefined ? '' : `: ${reason}`}`,
      `Allowed: ${definition.allowed}.`,
    )
  }
}

/** Throws MirrorError (usage) for a key that cannot be one: empty, or an unknown one of ours. */
export function checkKey(key: string): void {
  if (!/^[a-zA-Z0-9._-]+$/.test(key)) throw usageError('INVALID_CONFIG', `'${key}' is not the name of a setting`)
  if (!key.startsWith('mirror.') || isMirrorConfigKey(key)) return
  throw usageError('INVALID_CONFIG', `there is no setting ${key}`, `Known: ${Object.keys(CONFIG_DEFINITIONS).join(', ')}.`)
}

/** The typed settings. `configs` was checked when it was stored; what cannot be read falls back to the default. */
export function mirrorConfigOf(configs: ReadonlyMap<string, string>): MirrorConfig {
  const text = (key: MirrorConfigKey): string => {
    const value = configs.get(key)?.trim()
    return value !== undefined && CONFIG_DEFINITIONS[key].check(value) ? value : CONFIG_DEFINITIONS[key].default
  }
  const list = (key: MirrorConfigKey) => splitList(text(key))
  const number = (key: MirrorConfigKey) => Number(text(key))
  return {
    topicsInclude: list('mirror.topics.include'),
    topicsExclude: list('mirror.topics.exclude'),
    topicPropertiesExclude: list('mirror.topic.properties.exclude'),
    groupsInclude: list('mirror.groups.include'),
    groupsExclude: list('mirror.groups.exclude'),
    aclInclude: list('mirror.acl.include'),
    metadataRefreshIntervalMs: number('mirror.metadata.refresh.interval.ms'),
    groupSyncIntervalMs: number('mirror.group.sync.interval.ms'),
    numReplicaFetchers: number('mirror.num.replica.fetchers'),
    fetchBackoffMs: number('mirror.fetch.backoff.ms'),
    failedRetryInitialBackoffMs: number('mirror.failed.retry.initial.backoff.ms'),
    failedRetryMaxBackoffMs: number('mirror.failed.retry.max.backoff.ms'),
    onGap: text('mirror.on.gap') === 'record' ? 'record' : 'fail',
    bufferBytes: number('mirror.buffer.bytes'),
  }
}

/** The part of a mirror's settings that configures the client to its source. */
export const clientPropertiesOf = (configs: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map([...configs].filter(([key]) => !key.startsWith('mirror.')))

import type { AllowedConfig } from '../client/allowed-config.js'
import { Cluster } from '../client/cluster.js'
import { type ClientConfig, clientConfigOf } from '../client/config.js'
import { isClientKey } from '../client/config-keys.js'
import { resolveReferences } from '../client/config-providers.js'
import { hasReference, referencesIn, shownReference } from '../client/config-references.js'
import { type Open, openConnection } from '../client/connection.js'
import { ConfigError } from '../client/errors.js'
import { readRegularFile } from '../client/regular-file.js'
import { clientPropertiesOf } from '../mirror/config.js'
import { failure } from '../mirror/errors.js'
import { about, sourceOf } from '../mirror/failures.js'

export interface SourceSettings {
  readonly mirror: string
  readonly configs: ReadonlyMap<string, string>
  /** Used instead of the mirror's own bootstrap servers. */
  readonly bootstrapServers?: string | undefined
  /**
   * References to config providers that may be resolved; undefined for all. A command has its operator's rights; a runner must give
   * this always, since its rights are not those of whoever alters a mirror.
   */
  readonly allowed?: AllowedConfig | undefined
  /** Default: that of a command. */
  readonly clientId?: string | undefined
}

/**
 * A client for a mirror's source; the caller closes it. Where settings refer to config providers, these are asked again for every
 * new connection, so that a changed password or certificate is used from then on; the addresses stay what they were.
 * Throws ConfigError for a client property or reference that cannot be used.
 */
export function openSource(settings: SourceSettings): { cluster: Cluster; unknownKeys: string[] } {
  const { config, unknownKeys } = sourceConfigOf(settings)
  return { cluster: new Cluster(config, refers(settings) ? { open: askingAgain(settings) } : {}), unknownKeys }
}

/**
 * Checks a source's properties without reaching it, as far as they can be checked here: what config providers hold may be known
 * only where the runner is. Returns the keys no client knows. Throws ConfigError.
 */
export function checkSource(settings: SourceSettings): string[] {
  if (!refers(settings)) return sourceConfigOf(settings).unknownKeys
  return [...clientPropertiesOf(settings.configs).keys()].filter((key) => !isClientKey(key))
}

const refers = ({ configs }: SourceSettings) => [...clientPropertiesOf(configs).values()].some(hasReference)

/** Opens connections with what the config providers hold at that moment. */
function askingAgain(settings: SourceSettings): Open {
  return async (address, _config, options) => openConnection(address, sourceConfigOf(settings).config, options)
}

function sourceConfigOf({ mirror, configs, bootstrapServers, allowed, clientId }: SourceSettings): {
  config: ClientConfig
  unknownKeys: string[]
} {
  const given = clientPropertiesOf(configs)
  const properties = resolveReferences(given, { allowed })
  try {
    return clientConfigOf(properties, {
      clientId: clientId ?? `kafka-mirrors-admin-${mirror}`,
      readFile: readRegularFile,
      ...(bootstrapServers === undefined ? {} : { bootstrapServers }),
    })
  } catch (error) {
    throw error instanceof ConfigError ? withoutValues(error, given, properties) : error
  }
}

/** Sentences about a property may quote its value, and they are kept in the state: not one that came from a config provider. */
function withoutValues(error: ConfigError, given: ReadonlyMap<string, string>, resolved: ReadonlyMap<string, string>): ConfigError {
  const filled = [...given].filter(([, value]) => hasReference(value))
  const isQuoted = (text: string) => text !== '' && error.message.includes(text)
  const quoted = filled.find(([key]) => key === error.key || isQuoted(resolved.get(key)!.trim()))
  if (quoted === undefined) return error
  const references = referencesIn(quoted[1]).map(shownReference).join(', ')
  return new ConfigError(error.key, `${error.key} cannot be used with what ${references} stands for, which is not shown`)
}

/** Opens a mirror's source for `action`, and closes it whatever happens. ConfigErrors and the like become MirrorErrors. */
export async function withSource<T>(settings: SourceSettings, action: (source: Cluster) => Promise<T>): Promise<T> {
  return about(sourceOf(settings.mirror), undefined, async () => {
    const { cluster } = openSource(settings)
    try {
      return await action(cluster)
    } finally {
      await cluster.close()
    }
  })
}

/** The cluster's id, which must be the pinned one if there is one. Throws MirrorError OTHER_CLUSTER. */
export async function checkedClusterId(source: Cluster, mirror: string, pinned: string | undefined): Promise<string> {
  const clusterId = await source.clusterId()
  if (pinned === undefined || pinned === clusterId) return clusterId
  throw failure(
    'OTHER_CLUSTER',
    `${source.name} is not the source of mirror ${mirror}: its cluster id is ${clusterId}, the mirror's is ${pinned}`,
    'A mirror belongs to one source cluster for ever; create another mirror for another cluster.',
  )
}

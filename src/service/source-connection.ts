import { Cluster } from '../client/cluster.js'
import { clientConfigOf } from '../client/config.js'
import { clientPropertiesOf } from '../mirror/config.js'
import { failure } from '../mirror/errors.js'
import { about, sourceOf } from './failures.js'

export interface SourceSettings {
  readonly mirror: string
  readonly configs: ReadonlyMap<string, string>
  /** Used instead of the mirror's own bootstrap servers. */
  readonly bootstrapServers?: string | undefined
}

/** A client for a mirror's source; the caller closes it. Throws MirrorError (usage) for a client property that cannot be used. */
export function openSource({ mirror, configs, bootstrapServers }: SourceSettings): { cluster: Cluster; unknownKeys: string[] } {
  const { config, unknownKeys } = clientConfigOf(clientPropertiesOf(configs), {
    clientId: `kafka-mirrors-admin-${mirror}`,
    ...(bootstrapServers === undefined ? {} : { bootstrapServers }),
  })
  return { cluster: new Cluster(config), unknownKeys }
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

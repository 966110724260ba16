import { isActive } from '../mirror/fold.js'
import type { Mirror } from '../mirror/spec-store.js'
import type { ServiceContext } from './context.js'
import type { ListMirrorsResult, MirrorListing } from './types.js'

/** See {@link MirrorAdmin.listMirrors}. */
export async function listMirrors({ store }: ServiceContext): Promise<ListMirrorsResult> {
  return { mirrors: (await store.read()).mirrors().map(listingOf), warnings: [] }
}

export function listingOf(mirror: Mirror): MirrorListing {
  return {
    mirror: mirror.name,
    topics: [...mirror.topics.values()].filter(isActive).length,
    sourceBootstrap: mirror.configs.get('bootstrap.servers') ?? '',
    sourceClusterId: mirror.spec.sourceClusterId,
  }
}

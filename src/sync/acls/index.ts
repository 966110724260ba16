import type { SyncLoop } from '../types.js'
import { syncAcls } from './sync-acls.js'

export { type ReleaseAclsOptions, releaseAcls, releaseAclsOf } from './release-acls.js'

/** Access rules, and the guard that makes mirrored topics read-only. */
export const ACLS_LOOP: SyncLoop = {
  name: 'acls',
  intervalMs: (config) => config.metadataRefreshIntervalMs,
  run: syncAcls,
}

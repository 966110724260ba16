import type { FrameLoop } from '../types.js'
import { syncAcls } from './sync-acls.js'

export { type ReleaseAclsOptions, type ReleasedAcls, releaseAcls, releaseAclsOf, releaseLeftovers } from './release-acls.js'

/** Access rules, and the guard that makes mirrored topics read-only: guards, and what topics get that leave, need the destination only. */
export const ACLS_LOOP: FrameLoop = {
  name: 'acls',
  intervalMs: (config) => config.metadataRefreshIntervalMs,
  run: syncAcls,
}

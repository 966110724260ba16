import { ACLS_LOOP } from './acls/index.js'
import { groupsLoop } from './groups/index.js'
import { configs } from './topics/configs.js'
import { discovery } from './topics/discovery.js'
import { growth } from './topics/growth.js'
import type { SyncLoop } from './types.js'

export { type ReleaseAclsOptions, releaseAcls } from './acls/index.js'
export { type GroupSync, syncGroups } from './groups/index.js'
export { MirrorSync } from './mirror-sync.js'
export type { SyncContext, SyncFrame, SyncLoop, SyncOutcome, SyncReport, TopicAdmission, WriteSyncStatus } from './types.js'

/** Everything of a mirror beside its records, in the order in which views show it. */
export const SYNC_LOOPS: readonly SyncLoop[] = [discovery, growth, configs, groupsLoop, ACLS_LOOP]

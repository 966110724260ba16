import { ACLS_LOOP } from './acls/index.js'
import { groupsLoop } from './groups/index.js'
import { configs } from './topics/configs.js'
import { discovery } from './topics/discovery.js'
import { growth } from './topics/growth.js'
import type { FrameLoop, SyncLoop } from './types.js'

export { type ReleaseAclsOptions, releaseAcls } from './acls/index.js'
export { type GroupSync, syncGroups } from './groups/index.js'
export { MirrorSync } from './mirror-sync.js'
export type { SyncContext, SyncFrame, SyncLoop, SyncOutcome, SyncReport, TopicAdmission, WriteSyncStatus } from './types.js'

/** A loop that does nothing without the source. */
const bothSides = (loop: SyncLoop): FrameLoop => ({ ...loop, run: async (frame) => loop.run(await frame.connect()) })

/** Everything of a mirror beside its records, in the order in which views show it. */
export const SYNC_LOOPS: readonly FrameLoop[] = [...[discovery, growth, configs, groupsLoop].map(bothSides), ACLS_LOOP]

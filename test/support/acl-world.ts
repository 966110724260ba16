import type { AclBinding } from '../../src/client/admin-acls.js'
import { parseBinding } from '../../src/mirror/acl-bindings.js'
import { mirrorConfigOf } from '../../src/mirror/config.js'
import { put } from '../../src/mirror/spec-store.js'
import type { TopicSpec } from '../../src/mirror/state.js'
import { ACLS_LOOP, releaseAclsOf } from '../../src/sync/acls/index.js'
import type { SyncFrame, SyncReport } from '../../src/sync/types.js'
import { ModelAuthorizer, ModelStore } from './model-authorizer.js'

/** Alice may read a1, unless told. */
export const rule = (fields: Partial<AclBinding> = {}): AclBinding => ({
  resourceType: 'TOPIC',
  patternType: 'LITERAL',
  resourceName: 'a1',
  principal: 'User:alice',
  host: '*',
  operation: 'READ',
  permission: 'ALLOW',
  ...fields,
})

const spec = (desired: TopicSpec['desired']): TopicSpec => ({
  ...{ desired, sourceTopicId: '', destinationTopicId: '', partitions: 1, producers: [], held: {}, addedAt: 1 },
})

/** A source, a destination and the state between them. */
export class AclWorld {
  readonly source = new ModelAuthorizer()
  readonly destination = new ModelAuthorizer()
  readonly store = new ModelStore()

  async topics(desired: TopicSpec['desired'], ...topics: readonly string[]): Promise<void> {
    await this.topicsOf('m', desired, ...topics)
  }

  async topicsOf(mirror: string, desired: TopicSpec['desired'], ...topics: readonly string[]): Promise<void> {
    const records = [
      put({ kind: 'mirror', mirror }, { sourceClusterId: undefined, createdAt: 1 }),
      ...topics.map((topic) => put({ kind: 'topic', mirror, topic }, spec(desired))),
    ]
    await this.store.update(() => ({ records, result: undefined }))
  }

  round(options: Parameters<AclWorld['frame']>[0] = {}): Promise<SyncReport> {
    return ACLS_LOOP.run(this.frame(options))
  }

  /** What a round works with. */
  frame({ mirror = 'm', include = '*', ownsShard = (): boolean => true } = {}): SyncFrame {
    const frame = {
      mirror,
      destination: this.destination.cluster,
      store: this.store,
      state: () => this.store.state,
      config: () => mirrorConfigOf(new Map([['mirror.acl.include', include]])),
      now: () => 1,
      ownsShard,
    }
    const admission = { checkRights: async () => {}, checkExisting: () => Promise.reject(new Error('no topic is added here')) }
    return { ...frame, connect: async () => ({ ...frame, source: this.source.cluster, admission }) }
  }

  /** What `remove` does for the rules of topics, and writes down before. */
  release(...topics: readonly string[]): Promise<readonly string[]> {
    return this.releaseWithin(0, ...topics)
  }

  /** As {@link release}, with time for a runner to say that it is done. */
  async releaseWithin(patienceMs: number, ...topics: readonly string[]): Promise<readonly string[]> {
    await this.topics('STOPPING', ...topics)
    const options = { destination: this.destination.cluster, store: this.store, mirror: 'm', topics, now: () => 1, patienceMs }
    return (await releaseAclsOf(options)).warnings
  }

  /** What the mirror has on record as there. */
  get created(): AclBinding[] {
    const acls = this.store.state.mirror('m')?.acls ?? new Map()
    return [...acls].filter(([, { what }]) => what !== 'withheld').map(([key]) => parseBinding(key)!)
  }
}

import { expect, test } from 'vitest'
import { formatBinding, guardOf } from '../../../src/mirror/acl-bindings.js'
import { put } from '../../../src/mirror/spec-store.js'
import type { ServiceContext } from '../../../src/service/context.js'
import { removeTopicsFromMirror } from '../../../src/service/remove-topics.js'
import { ModelAuthorizer, ModelStore } from '../../support/model-authorizer.js'

const ID = '00000000-0000-0000-0000-000000000001'

test('what goes wrong with topics that were removed earlier is their own failure, and others are told about all the same', async () => {
  const [store, authorizer] = [new ModelStore(), new ModelAuthorizer()]
  const spec = { sourceTopicId: ID, destinationTopicId: ID, partitions: 1, producers: [{ id: 1n, epoch: 0 }], held: {}, addedAt: 5 }
  const records = [
    put({ kind: 'mirror', mirror: 'm' }, { sourceClusterId: 'A', createdAt: 1 }),
    put({ kind: 'topic', mirror: 'm', topic: 'old' }, { ...spec, desired: 'STOPPED' }),
    put({ kind: 'result', mirror: 'm', topic: 'old' }, { how: 'confirmed', at: 9, partitions: [] }),
    put({ kind: 'acl', mirror: 'm', binding: formatBinding(guardOf('old')) }, { what: 'guard', at: 1 }),
  ]
  await store.update(() => ({ records, result: undefined }))
  const context = { destination: authorizer.cluster, store: Object.assign(store, { read: async () => store.state }), now: () => 99 }
  const remove = () => removeTopicsFromMirror(context as unknown as ServiceContext, 'm', ['old', 'nowhere'], {})
  authorizer.breakAt(1)
  const message = expect.stringMatching(/^whether topic old, which was removed earlier, is writable could not be seen: /)
  expect((await remove()).topics).toMatchObject([
    { topic: 'nowhere', ok: false, error: { code: 'TOPIC_NOT_MIRRORED' } },
    { topic: 'old', ok: false, error: { code: 'DESTINATION_UNREACHABLE', message } },
  ])
  authorizer.mend()
  expect((await remove()).topics).toMatchObject([{ ok: false }, { topic: 'old', ok: true, how: 'unchanged' }])
})

import { expect, test } from 'vitest'
import { formatBinding, guardOf } from '../../../src/mirror/acl-bindings.js'
import { MirrorState } from '../../../src/mirror/fold.js'
import type { StateKind, StateValues } from '../../../src/mirror/state.js'
import { formatKey, type StateKey } from '../../../src/mirror/state-keys.js'
import { encodeValue } from '../../../src/mirror/state-values.js'
import { failedSyncs, metadataOf } from '../../../src/service/metadata-view.js'

const record = <K extends StateKind>(key: StateKey & { kind: K }, value: StateValues[K]) => ({
  key: formatKey(key),
  value: encodeValue<K>(key.kind, value),
})
const topic = (name: string, desired: 'MIRRORING' | 'STOPPED' = 'MIRRORING') =>
  record(
    { kind: 'topic', mirror: 'm', topic: name },
    { desired, sourceTopicId: '', destinationTopicId: '', partitions: 1, producers: [{ id: 1n, epoch: 0 }], held: {}, addedAt: 1 },
  )
const written = { ownerEpoch: 1, owner: 'o', changes: 0, problems: [], more: 0, notes: [] } as const
const right = { ...guardOf('b'), principal: 'User:alice', permission: 'ALLOW' }

const mirror = MirrorState.of([
  record({ kind: 'mirror', mirror: 'm' }, { sourceClusterId: 'x', createdAt: 1 }),
  ...[topic('b'), topic('a'), topic('c'), topic('gone', 'STOPPED')],
  record({ kind: 'acl', mirror: 'm', binding: formatBinding(guardOf('a')) }, { what: 'guard', at: 1 }),
  record({ kind: 'acl', mirror: 'm', binding: formatBinding(guardOf('b')) }, { what: 'guard', pending: true, at: 1 }),
  record({ kind: 'acl', mirror: 'm', binding: formatBinding(guardOf('c')) }, { what: 'created', at: 1 }),
  record({ kind: 'acl', mirror: 'm', binding: formatBinding(right) }, { what: 'withheld', at: 1 }),
  record({ kind: 'acl', mirror: 'm', binding: 'who knows' }, { what: 'withheld', at: 1 }),
  record({ kind: 'sync', mirror: 'm', loop: 'acls' }, { ...written, at: 2_000, ok: true, lastSuccess: 2_000 }),
  record({ kind: 'sync', mirror: 'm', loop: 'groups' }, { ...written, at: 3_000, ok: false, lastSuccess: 1_000, error: 'away', more: 7 }),
  record({ kind: 'sync', mirror: 'm', loop: 'discovery' }, { ...written, at: 3_000, ok: false, error: 'no right' }),
]).mirror('m')!

test('tells loops that ran, topics guarded and only watched, guards that are not there yet among these, and rights withheld', () => {
  const metadata = metadataOf(mirror)
  expect(metadata.syncs.map(({ loop, ok, moreProblems }) => [loop, ok, moreProblems])).toEqual([
    ['discovery', false, 0],
    ['groups', false, 7],
    ['acls', true, 0],
  ])
  expect(metadata.readOnly).toEqual({ guarded: ['a'], watched: ['b', 'c'] })
  expect(metadata.withheldRights).toEqual(['ALLOW WRITE on topic b for User:alice', 'who knows'])
})

test('says which loops failed, and when they last succeeded', () => {
  expect(failedSyncs('m', metadataOf(mirror))).toEqual([
    'mirror m: the sync of discovery failed at 1970-01-01T00:00:03.000Z, it never succeeded: no right',
    'mirror m: the sync of groups failed at 1970-01-01T00:00:03.000Z, its last success was at 1970-01-01T00:00:01.000Z: away',
  ])
})

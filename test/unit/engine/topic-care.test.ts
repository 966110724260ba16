import { expect, test } from 'vitest'
import type { Cluster } from '../../../src/client/cluster.js'
import { LostPlace } from '../../../src/engine/errors.js'
import { type Holder, holderOf, TopicCare } from '../../../src/engine/topic-care.js'
import { MirrorState } from '../../../src/mirror/fold.js'
import { put } from '../../../src/mirror/spec-store.js'
import type { TopicSpec } from '../../../src/mirror/state.js'

const HELD = { 'retention.ms': '7000', 'cleanup.policy': null }

interface Change {
  readonly configs: readonly { readonly name: string; readonly value: string | null }[]
}

/** A destination that keeps what was asked of it, and what operators say of the topic whenever they are asked. */
function destination(...holders: Holder[]) {
  const sent: Record<string, string | null>[] = []
  const any = async (_api: unknown, { resources }: { readonly resources: readonly Change[] }) => {
    sent.push(...resources.map(({ configs }) => Object.fromEntries(configs.map(({ name, value }) => [name, value]))))
    return { responses: resources.map((resource) => ({ ...resource, errorCode: 0, errorMessage: null })) }
  }
  const care = new TopicCare({ any } as unknown as Cluster)
  return { sent, hold: () => care.hold('t', { held: HELD }, async () => holders.shift() ?? 'nobody') }
}

const FORCED = { 'retention.ms': '-1', 'cleanup.policy': 'delete' }

test('a topic that is the mirror’s is held', async () => {
  const { sent, hold } = destination('us', 'us')
  await hold()
  expect(sent).toEqual([FORCED])
})

test('a topic that was failed over while its runner was frozen is let alone', async () => {
  const { sent, hold } = destination('nobody')
  await expect(hold()).rejects.toThrow(LostPlace)
  expect(sent).toEqual([])
})

test('what was put on behind a failover comes off again', async () => {
  const { sent, hold } = destination('us', 'nobody')
  await expect(hold()).rejects.toThrow(LostPlace)
  expect(sent).toEqual([FORCED, HELD])
})

test('a topic that was removed and added again meanwhile stays held', async () => {
  const { sent, hold } = destination('us', 'another')
  await expect(hold()).rejects.toThrow(LostPlace)
  expect(sent).toEqual([FORCED])
})

const SPEC: TopicSpec = {
  desired: 'MIRRORING',
  sourceTopicId: 's',
  destinationTopicId: 'd',
  partitions: 1,
  producers: [],
  held: HELD,
  addedAt: 7,
}
const RESEED = { at: 1, tailTopic: undefined, kept: false }

test.each<readonly [Holder, readonly (readonly [string, Partial<TopicSpec>])[]]>([
  ['us', [['m', {}]]],
  ['us', [['m', { desired: 'PAUSED' }]]],
  ['nobody', [['m', { desired: 'STOPPING' }]]],
  ['nobody', [['m', { desired: 'STOPPED' }]]],
  ['nobody', []],
  ['another', [['m', { desired: 'STOPPING', reseed: RESEED }]]],
  ['another', [['m', { addedAt: 8 }]]],
  ['another', [['m', { addedAt: 8, desired: 'ADDING' }]]],
  ['another', [['n', {}]]],
  [
    'another',
    [
      ['m', { desired: 'STOPPED' }],
      ['n', { desired: 'ADDING' }],
    ],
  ],
])('a topic is %s whose record says so: %j', (holder, specs) => {
  const state = new MirrorState()
  for (const name of ['m', 'n']) state.apply(put({ kind: 'mirror', mirror: name }, { sourceClusterId: 'A', createdAt: 1 }))
  for (const [mirror, spec] of specs) state.apply(put({ kind: 'topic', mirror, topic: 't' }, { ...SPEC, ...spec }))
  expect(holderOf(state, 'm', 't', SPEC.addedAt)).toBe(holder)
})

import { describe, expect, it } from 'vitest'
import type { TopicMetadata } from '../../../src/client/metadata.js'
import { type ActiveTopic, MirrorState } from '../../../src/mirror/fold.js'
import type { TopicConfigs } from '../../../src/mirror/held.js'
import { put } from '../../../src/mirror/spec-store.js'
import type { TopicSpec } from '../../../src/mirror/state.js'
import { Errors } from '../../../src/protocol/errors.js'
import { NO_UUID } from '../../../src/protocol/schema.js'
import { checkNoLoop } from '../../../src/sync/topics/add-checks.js'
import { planConfigs, sameValues, takenAfter } from '../../../src/sync/topics/config-plan.js'
import { isStillWanted, planDiscovery } from '../../../src/sync/topics/discovery-plan.js'
import { planGrowth } from '../../../src/sync/topics/growth-plan.js'
import { originsOf } from '../../../src/sync/topics/origins.js'

const spec: TopicSpec = {
  desired: 'MIRRORING',
  sourceTopicId: '11111111-1111-1111-1111-111111111111',
  destinationTopicId: '22222222-2222-2222-2222-222222222222',
  partitions: 2,
  producers: [],
  held: {},
  addedAt: 1,
}
const active = spec as ActiveTopic

function stateOf(topics: Record<string, TopicSpec>, others: Record<string, TopicSpec> = {}): MirrorState {
  const mirror = (name: string) => put({ kind: 'mirror', mirror: name }, { sourceClusterId: 'A', createdAt: 1 })
  return MirrorState.of([
    mirror('m'),
    mirror('other'),
    ...Object.entries(topics).map(([topic, value]) => put({ kind: 'topic', mirror: 'm', topic }, value)),
    ...Object.entries(others).map(([topic, value]) => put({ kind: 'topic', mirror: 'other', topic }, value)),
  ])
}

describe('discovery', () => {
  const filters = { topicsInclude: ['shop\\..*', 'named'], topicsExclude: ['.*\\.log', '__.*', 'named'] }
  const found = (...names: string[]) => names.map((name) => ({ name, internal: name === '__consumer_offsets' }))

  it('takes what matches and is not known, names whatever the excludes say', () => {
    const plan = planDiscovery(stateOf({ 'shop.a': spec }), 'm', filters, found('shop.a', 'shop.b', 'shop.log', 'shopper', 'named'))
    expect(plan).toEqual({ add: ['named', 'shop.b'], problems: [], notes: [] })
  })

  it('does not bring back what was stopped or is stopping', () => {
    const state = stateOf({ 'shop.a': { ...spec, desired: 'STOPPED' }, 'shop.b': { ...spec, desired: 'STOPPING' } })
    expect(planDiscovery(state, 'm', filters, found('shop.a', 'shop.b')).add).toEqual([])
  })

  it('finishes what was interrupted, its own only', () => {
    const adding: TopicSpec = { ...spec, desired: 'ADDING' }
    const plan = planDiscovery(stateOf({ 'shop.a': adding }, { 'shop.b': adding }), 'm', filters, found('shop.a', 'shop.b'))
    expect([plan.add, plan.problems.map(({ item }) => item)]).toEqual([['shop.a'], ['shop.b']])
  })

  it('leaves other mirrors their topics, and says so; what they gave up is free', () => {
    const state = stateOf({}, { 'shop.a': spec, 'shop.b': { ...spec, desired: 'STOPPED' } })
    const plan = planDiscovery(state, 'm', filters, found('shop.a', 'shop.b'))
    expect(plan.add).toEqual(['shop.b'])
    expect(plan.problems).toEqual([{ item: 'shop.a', message: expect.stringContaining('already mirrored by mirror other') }])
  })

  it('takes names that only look internal, and none that belong to a cluster', () => {
    const everything = { topicsInclude: ['.*'], topicsExclude: [] }
    const names = [
      '__mine',
      'a.internal',
      '_schemas',
      '__consumer_offsets',
      '__kafka_mirrors',
      '__transaction_state',
      '__share_group_state',
    ]
    expect(planDiscovery(stateOf({}), 'm', everything, found(...names)).add).toEqual(['__mine', '_schemas', 'a.internal'])
  })

  it('notes a name that is not there', () => {
    expect(planDiscovery(stateOf({}), 'm', filters, found()).notes).toEqual(['topic named of mirror.topics.include is not on the source'])
  })

  it('does not add behind a change of mind', () => {
    expect(isStillWanted(stateOf({}), 'm', filters, 'shop.a')).toBe(true)
    expect(isStillWanted(stateOf({ 'shop.a': { ...spec, desired: 'STOPPED' } }), 'm', filters, 'shop.a')).toBe(false)
    expect(isStillWanted(stateOf({}), 'm', { ...filters, topicsInclude: [] }, 'shop.a')).toBe(false)
  })
})

describe('where a topic comes from', () => {
  /** The source is itself the destination of a mirror of cluster A, and of one whose source nobody has reached. */
  const source = (origins: readonly string[] | undefined, desired: TopicSpec['desired'] = 'MIRRORING') =>
    MirrorState.of([
      put({ kind: 'mirror', mirror: 'up' }, { sourceClusterId: 'A', createdAt: 1 }),
      put({ kind: 'topic', mirror: 'up', topic: 't' }, { ...spec, desired, origins }),
    ])

  it('is the chain of the source’s mirrors, as far as they know', () => {
    expect(originsOf(source(['B', 'C']), 't', 'own')).toEqual(['A', 'B', 'C'])
    expect(originsOf(source(undefined), 't', 'own')).toEqual(['A'])
    expect(originsOf(source([]), 'other', 'own')).toEqual([])
    expect(originsOf(source([], 'STOPPED'), 't', 'own')).toEqual([])
    expect(originsOf('unknown', 't', 'own')).toBeUndefined()
  })

  it('ends where it comes back, since a circle has no end', () => {
    expect(originsOf(source(['B', 'own', 'A', 'B', 'own']), 't', 'own')).toEqual(['A', 'B', 'own'])
    expect(originsOf(source(['B', 'A', 'B', 'A']), 't', 'own')).toEqual(['A', 'B'])
  })

  it('must not be the cluster that is to copy it, however far away', () => {
    expect(() => checkNoLoop(source(['B']), 'own', 't')).not.toThrow()
    expect(() => checkNoLoop('unknown', 'own', 't')).not.toThrow()
    expect(() => checkNoLoop(source([]), 'A', 't')).toThrow('in a circle: mirror up on the source copies it from this cluster')
    expect(() => checkNoLoop(source(['B', 'own']), 'own', 't')).toThrow('copies it from cluster A, which has it from this one')
    expect(() => checkNoLoop(source([], 'ADDING'), 'A', 't')).toThrow('in a circle')
  })
})

describe('growth', () => {
  const topic = (partitions: number, topicId: string, errorCode = 0): TopicMetadata => ({
    name: 't',
    topicId,
    internal: false,
    errorCode,
    partitions: Array.from({ length: partitions }, (_, partition) => ({
      partition,
      leader: 1,
      leaderEpoch: 0,
      replicas: [],
      isr: [],
      errorCode: 0,
    })),
  })
  const there = (partitions: number) => topic(partitions, spec.sourceTopicId)
  const here = (partitions: number) => topic(partitions, spec.destinationTopicId)
  const plan = (theirs: TopicMetadata | undefined, ours: TopicMetadata | undefined) =>
    planGrowth('t', active, theirs, ours, new Set([spec.destinationTopicId]))

  it('has nothing to do while both sides agree', () => {
    expect(plan(there(2), here(2))).toEqual({ what: 'nothing' })
  })

  it('follows the source, also where the destination has grown already', () => {
    expect(plan(there(5), here(2))).toEqual({ what: 'grow', to: 5, create: true })
    expect(plan(there(5), here(5))).toEqual({ what: 'grow', to: 5, create: false })
  })

  it('tells of more partitions on the destination, of topics that are gone and of topics that are others', () => {
    const gone = topic(0, NO_UUID, Errors.UNKNOWN_TOPIC_OR_PARTITION)
    const other = topic(2, '33333333-3333-3333-3333-333333333333')
    const messages = [
      plan(there(2), here(3)),
      plan(gone, here(2)),
      plan(undefined, here(2)),
      plan(there(2), gone),
      plan(other, here(2)),
      plan(there(2), other),
    ]
    expect(messages.map((step) => (step.what === 'problem' ? step.message.split(';')[0]!.split(':')[0] : step))).toEqual([
      'topic t has 3 partitions on the destination and 2 on the source',
      'topic t is not on the source any more',
      'topic t is not on the source any more',
      'topic t is not on the destination any more',
      'topic t was recreated on the source',
      'topic t was recreated on the destination',
    ])
  })

  it('waits while a side cannot tell, and takes any topic of brokers without ids for the one', () => {
    expect(plan(topic(0, NO_UUID, Errors.TOPIC_AUTHORIZATION_FAILED), here(2))).toEqual({ what: 'nothing' })
    expect(plan(topic(3, NO_UUID), topic(2, NO_UUID))).toEqual({ what: 'grow', to: 3, create: true })
  })
})

describe('settings', () => {
  const DEFAULTS = {
    'retention.ms': '604800000',
    'max.message.bytes': '1048588',
    'segment.bytes': '1073741824',
    'flush.ms': '9',
    'min.insync.replicas': '1',
  }
  const side = (overrides: Record<string, string>): TopicConfigs => ({
    overrides: new Map(Object.entries(overrides)),
    effective: new Map(Object.entries({ ...DEFAULTS, ...overrides })),
  })
  const HELD = { 'retention.ms': '-1' }
  const held = { held: { 'retention.ms': null, 'max.message.bytes': null } }
  const plan = (
    of: Pick<TopicSpec, 'held' | 'taken'>,
    source: Record<string, string>,
    destination: Record<string, string>,
    exclude: string[] = [],
  ) => planConfigs(of, { source: side(source), destination: side({ ...HELD, ...destination }), exclude })
  const changes = (...args: Parameters<typeof plan>) => Object.fromEntries(plan(...args).changes)

  it('sends nothing where nothing differs', () => {
    expect(changes(held, { 'flush.ms': '5' }, { 'flush.ms': '5' })).toEqual({})
  })

  it("takes the source's overrides and leaves local ones alone", () => {
    expect(changes(held, { 'flush.ms': '5' }, { 'flush.ms': '6', 'segment.bytes': '77' })).toEqual({ 'flush.ms': '5' })
  })

  it("removes what the source has no more, unless somebody has set another value here or it was never the source's", () => {
    const taken = { taken: { 'flush.ms': '5' }, ...held }
    expect(changes(taken, {}, { 'flush.ms': '5' })).toEqual({ 'flush.ms': null })
    expect(changes(taken, {}, { 'flush.ms': '6' })).toEqual({})
    expect(changes(held, {}, { 'flush.ms': '5' })).toEqual({})
  })

  it('leaves what is excluded as it is, also what was taken before', () => {
    const taken = { taken: { 'min.insync.replicas': '2' }, ...held }
    expect(changes(taken, { 'min.insync.replicas': '3' }, { 'min.insync.replicas': '2' }, ['min\\..*'])).toEqual({})
    expect(changes(taken, {}, { 'min.insync.replicas': '2' }, ['min\\..*'])).toEqual({})
  })

  it('keeps held values up to date in the spec only, and holds again what was changed', () => {
    expect(plan(held, { 'retention.ms': '1000' }, {})).toMatchObject({ changes: new Map(), held: { 'retention.ms': '1000' } })
    const known = { held: { 'retention.ms': '1000' }, taken: { 'retention.ms': '1000' } }
    expect(plan(known, {}, {}).held).toEqual({ 'retention.ms': null })
    const local = { held: { 'retention.ms': '77' }, taken: {} }
    expect(plan(local, {}, {}).held).toEqual({ 'retention.ms': '77' })
    expect(changes(held, {}, { 'retention.ms': '5' })).toEqual({ 'retention.ms': '-1' })
  })

  it("raises the largest message to the source's, and never lowers it", () => {
    expect(changes(held, { 'max.message.bytes': '2000000' }, {})).toEqual({ 'max.message.bytes': '2000000' })
    expect(changes(held, { 'max.message.bytes': '1000' }, { 'max.message.bytes': '2000000' })).toEqual({})
  })

  it('names settings the destination does not have', () => {
    expect(plan(held, { 'new.setting': '1' }, {})).toMatchObject({ changes: new Map(), unknown: ['new.setting'] })
  })

  it('remembers what was taken: not what was refused or is excluded, and the last value of what cannot be changed', () => {
    const sides = {
      source: side({ 'flush.ms': '5', 'segment.bytes': '1', 'retention.ms': '1000', 'min.insync.replicas': '2' }),
      destination: side(HELD),
      exclude: ['min\\..*'],
    }
    const before = { ...held, taken: { 'segment.bytes': '99', 'gone.now': '1' } }
    expect(takenAfter(before, sides, new Set(['segment.bytes']))).toEqual({
      'flush.ms': '5',
      'retention.ms': '1000',
      'segment.bytes': '99',
    })
    expect(takenAfter(held, sides, new Set(['segment.bytes']))).toEqual({ 'flush.ms': '5', 'retention.ms': '1000' })
  })

  it('compares records by their values', () => {
    expect(sameValues({ a: '1', b: null }, { b: null, a: '1' })).toBe(true)
    expect(sameValues({ a: '1' }, { a: null })).toBe(false)
    expect(sameValues(undefined, {})).toBe(false)
  })
})

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ConnectionError } from '../../../src/client/errors.js'
import { CANARY, guardOf } from '../../../src/mirror/acl-bindings.js'
import { put } from '../../../src/mirror/spec-store.js'
import { releaseAclsOf } from '../../../src/sync/acls/index.js'
import { AclWorld, rule } from '../../support/acl-world.js'

const writing = rule({ operation: 'WRITE' })
const OUT_OF_REACH = {
  'refuses connections': () =>
    Promise.reject(new ConnectionError({ kind: 'closed', address: { host: 'two', port: 2 }, reason: 'refused' })),
  'never answers': () => new Promise<never>(() => {}),
}

const reading = rule()
const denial = rule({ resourceType: 'GROUP', resourceName: 'g', permission: 'DENY', principal: 'User:*' })
const narrow = rule({ permission: 'DENY', principal: 'User:*', operation: 'ALTER', resourceName: 'a', patternType: 'PREFIXED' })
const UNKNOWN = {
  item: 'guards, and rules that deny something',
  message:
    'left as they are, since nobody knows whether the runner is a super user of the destination: a broker of the destination is out of reach',
}

/** What a super user's round made of these rules. */
async function guarded(): Promise<AclWorld> {
  const world = new AclWorld()
  world.source.set([reading, writing, denial, narrow])
  await world.topics('MIRRORING', 'a1', 'a2')
  await world.round()
  return world
}

/** With as much time passing as it waits for. */
async function inTime<T>(waiting: Promise<T>): Promise<T> {
  waiting.catch(() => {})
  await vi.advanceTimersByTimeAsync(60_000)
  return waiting
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe.each(Object.entries(OUT_OF_REACH))('with a broker of the destination that %s', (_name, outOfReach) => {
  it('topics that leave are given back all the same, and that broker is told of, within 5 s', async () => {
    const world = new AclWorld()
    world.source.set([writing])
    await world.topics('MIRRORING', 'a1', 'a2')
    await world.round()
    world.destination.outOfReach = outOfReach
    await world.topics('STOPPING', 'a1', 'a2')
    const options = { destination: world.destination.cluster, store: world.store, mirror: 'm', topics: ['a1', 'a2'], patienceMs: 0 }
    const releasing = releaseAclsOf(options)
    releasing.catch(() => {})
    await vi.advanceTimersByTimeAsync(5_000)
    const late = new Promise((resolve) => setImmediate(() => resolve('later than that')))
    expect(await Promise.race([releasing, late])).toEqual({
      warnings: ['topic a1, a2: a broker is out of reach, and may not go by the changed rules yet'],
      readOnly: [],
      withheld: [],
    })
    expect(['a1', 'a2'].map((topic) => world.destination.has(guardOf(topic)))).toEqual([false, false])
    expect(world.destination.has(writing)).toBe(true)
  })

  it('a round sets no guard until every broker that answers is known to know the rule that tells of super users', async () => {
    const world = new AclWorld()
    world.destination.set([rule()])
    await world.topics('MIRRORING', 'a1')
    world.destination.outOfReach = outOfReach
    expect(await inTime(world.round())).toMatchObject({ problems: [UNKNOWN], notes: [] })
    expect(world.destination.has(guardOf('a1'))).toBe(false)
    expect(await inTime(world.round())).toMatchObject({ problems: [], notes: [] })
    expect(world.destination.has(guardOf('a1'))).toBe(true)
  })

  it.each(['a1', 'a2'])('and the rule that tells of super users gone, what denies writing to %s and other things stays', async (topic) => {
    const world = await guarded()
    world.destination.remove(CANARY)
    world.destination.outOfReach = outOfReach
    const standing = [guardOf(topic), denial, narrow, reading]
    expect(await inTime(world.round())).toMatchObject({ problems: [UNKNOWN], notes: [] })
    expect(standing.map(world.destination.has)).toEqual(standing.map(() => true))
    expect(await inTime(world.round())).toMatchObject({ changes: 0, problems: [], notes: [] })
    expect(standing.map(world.destination.has)).toEqual(standing.map(() => true))
  })

  it('rules that deny something stay where the only topic was reseeded', async () => {
    const world = await guarded()
    const change = (fields: object) =>
      world.store.update((state) => {
        const topics = [...state.mirror('m')!.topics]
        return {
          records: topics.map(([topic, spec]) => put({ kind: 'topic', mirror: 'm', topic }, { ...spec, ...fields })),
          result: undefined,
        }
      })
    await change({ desired: 'STOPPING', stopping: { at: 2 }, reseed: { at: 2, tailTopic: undefined, kept: false } })
    await inTime(world.round())
    expect([CANARY, denial].map(world.destination.has)).toEqual([false, true])
    await change({ desired: 'MIRRORING', stopping: undefined, reseed: undefined })
    world.destination.outOfReach = outOfReach
    expect(await inTime(world.round())).toMatchObject({ problems: [UNKNOWN] })
    expect([CANARY, guardOf('a1'), denial].map(world.destination.has)).toEqual([true, true, true])
  })

  it('rules that nobody knows yet are set as if they bound the runner', async () => {
    const world = new AclWorld()
    const mine = rule({ principal: 'User:runner', permission: 'DENY' })
    const others = rule({ principal: 'User:mallory', permission: 'DENY' })
    world.source.set([reading, denial, mine, others])
    await world.topics('MIRRORING', 'a1')
    world.destination.outOfReach = outOfReach
    await inTime(world.round())
    expect([reading, denial, mine, others].map(world.destination.has)).toEqual([true, false, false, true])
  })
})

it('guards and rules that deny something stay where the rule that tells of super users is refused', async () => {
  const world = await guarded()
  world.destination.remove(CANARY)
  world.destination.refuses = (api) => api === 'CreateAcls'
  const { problems, notes } = await world.round()
  expect(problems).toContainEqual({ ...UNKNOWN, message: expect.stringMatching(/: the rule that tells could not be set$/) })
  expect(notes).toEqual([])
  expect([guardOf('a1'), denial, narrow].map(world.destination.has)).toEqual([true, true, true])
})

it('guards and rules that deny something stay while a broker has not heard of the rule that tells of super users', async () => {
  const world = await guarded()
  world.destination.remove(CANARY)
  const stale = { errorCode: 0, errorMessage: null, resources: [] }
  world.destination.outOfReach = () => Promise.resolve(stale as never)
  const { problems } = await inTime(world.round())
  expect(problems).toEqual([{ ...UNKNOWN, message: expect.stringMatching(/: not every broker goes by the rule that tells yet$/) }])
  expect([guardOf('a1'), denial, narrow].map(world.destination.has)).toEqual([true, true, true])
})

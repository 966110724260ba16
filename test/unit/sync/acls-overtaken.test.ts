import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { allowsWriting, CANARY, formatBinding, guardOf } from '../../../src/mirror/acl-bindings.js'
import { Errors } from '../../../src/protocol/errors.js'
import { releaseAclsOf, releaseLeftovers } from '../../../src/sync/acls/index.js'
import { AclWorld, rule } from '../../support/acl-world.js'
import { keyOfBinding } from '../../support/model-authorizer.js'

const writing = rule({ operation: 'WRITE' })
const all = rule({ operation: 'ALL', principal: 'User:bob' })
const prefixed = rule({ operation: 'WRITE', patternType: 'PREFIXED', resourceName: 'a', principal: 'User:carol' })
const MINE = { principal: 'User:dave', operation: 'DESCRIBE' } as const

/** More than a round has. */
const MOMENTS = 80

// A round may wait for brokers to show what somebody else has undone: seconds that pass by themselves here.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

async function quickly(action: Promise<unknown>): Promise<void> {
  let isDone = false
  const done = action.finally(() => {
    isDone = true
  })
  while (!isDone) await vi.advanceTimersByTimeAsync(1_000)
  await done
}

class Died extends Error {}

/**
 * A round that something comes in between of, at one moment of all that it has: before and after each request and each change of the
 * state. Gives false once there are no more moments.
 */
async function interrupted(world: AclWorld, nth: number, fate: 'goes on' | 'dies', meanwhile: () => Promise<unknown>): Promise<boolean> {
  let passed = 0
  let isOver = false
  let isBetween = false
  const moment = async () => {
    if (isBetween) return
    if (isOver && fate === 'dies') throw new Died()
    if (isOver || passed++ !== nth) return
    isOver = true
    isBetween = true
    await meanwhile()
    isBetween = false
    if (fate === 'dies') throw new Died()
  }
  world.destination.moment = moment
  world.store.moment = moment
  await quickly(
    world.round().catch((error) => {
      if (!(error instanceof Died)) throw error
    }),
  )
  world.destination.moment = async () => {}
  world.store.moment = async () => {}
  return isOver
}

/** What clients find of a topic that has left, with the runner that was overtaken gone for good. */
function expectReleased(world: AclWorld): void {
  expect(world.destination.has(guardOf('a1'))).toBe(false)
  for (const right of [writing, all]) expect(world.destination.has(right)).toBe(true)
  const carols = [prefixed, rule({ operation: 'WRITE', principal: 'User:carol' })]
  expect(carols.some((right) => world.destination.has(right))).toBe(true)
  expect(world.destination.has(rule(MINE))).toBe(true)
  const acls = world.store.state.mirror('m')!.acls
  expect([...acls].filter(([key, { what }]) => what === 'guard' && key === formatBinding(guardOf('a1')))).toEqual([])
}

/** Rules are known from an earlier round: what the runner has not heard of, a removal cannot give. */
const BEGINNINGS = {
  'a round that sets the guard': async (world: AclWorld) => {
    await world.topics('MIRRORING', 'a1', 'a2')
    await world.round()
    world.destination.remove(guardOf('a1'))
  },
  'a round that sets the guard for the first time': async (world: AclWorld) => {
    await world.topics('MIRRORING', 'a1', 'a2')
    world.destination.superUser = false
    await world.round()
    world.destination.superUser = true
  },
  'a round after the topic was added again': async (world: AclWorld) => {
    await world.topics('MIRRORING', 'a1')
    await world.round()
    await world.release('a1')
    await world.topics('STOPPED', 'a1')
    await world.topics('MIRRORING', 'a1', 'a2')
  },
  'a round after another that broke off': async (world: AclWorld) => {
    await world.topics('MIRRORING', 'a1', 'a2')
    await world.round()
    world.destination.remove(guardOf('a1'))
    world.destination.remove(CANARY)
    world.destination.breakAt(5)
    await world.round().catch(() => {})
    world.destination.mend()
  },
  'a round after one of a runner that may not change rules any more': async (world: AclWorld) => {
    await world.topics('MIRRORING', 'a1', 'a2')
    await world.round()
    world.destination.superUser = false
  },
}

describe.each(Object.entries(BEGINNINGS))('a removal in the middle of %s', (_name, begin) => {
  it.each(['goes on', 'dies'] as const)('leaves the topic its clients, whatever the moment, if the runner %s', async (fate) => {
    for (let nth = 0; ; nth++) {
      expect(nth).toBeLessThan(MOMENTS)
      const world = new AclWorld()
      world.source.set([writing, all, prefixed])
      world.destination.set([rule(MINE)])
      await begin(world)
      const wasInterrupted = await interrupted(world, nth, fate, async () => {
        expect(await world.release('a1')).toEqual([])
        await world.topics('STOPPED', 'a1')
      })
      if (!wasInterrupted) break
      expectReleased(world)
      // So it is after whatever the next runner finds to do.
      await world.round()
      expectReleased(world)
      await world.release('a2')
      await world.topics('STOPPED', 'a2')
      expect(
        world.destination.keys().some((key) => key.startsWith('4 ')),
        'the check of the super user',
      ).toBe(false)
      for (const right of [writing, all, prefixed].filter(allowsWriting)) expect(world.destination.has(right)).toBe(true)
    }
  })
})

/** A mirror whose next round creates the guard and nothing else. */
async function unguarded(): Promise<AclWorld> {
  const world = new AclWorld()
  await world.topics('MIRRORING', 'a1')
  await world.round()
  world.destination.remove(guardOf('a1'))
  return world
}

const isGuarded = (world: AclWorld) => world.destination.has(guardOf('a1'))
const guardRecord = (world: AclWorld) => world.store.state.mirror('m')!.acls.get(formatBinding(guardOf('a1')))

describe('a guard', () => {
  it('is on record as not yet done before it is created', async () => {
    const world = await unguarded()
    const records: unknown[] = []
    world.destination.moment = async (api) => {
      if (api === 'CreateAcls') records.push(guardRecord(world))
    }
    await world.round()
    expect(records).toEqual([0, 0].map(() => ({ what: 'guard', pending: true, standsFor: undefined, at: 1 })))
    expect(guardRecord(world)).toEqual({ what: 'guard', at: 1, standsFor: undefined, pending: undefined })
  })

  it('that is being created is waited for by whoever lifts it', async () => {
    vi.useRealTimers()
    const world = await unguarded()
    let removal: Promise<unknown> = Promise.resolve()
    let isRemoved = false
    let waitedFor: boolean | undefined
    world.destination.moment = async (api) => {
      if (api !== 'CreateAcls' || waitedFor !== undefined) return
      waitedFor = false
      let looks = 0
      world.store.moment = async () => {
        looks++
      }
      removal = world.releaseWithin(60_000, 'a1').then(() => {
        isRemoved = true
      })
      // It has written down that the topic leaves, and looked again and again whether the runner is done.
      await vi.waitFor(() => expect(looks).toBeGreaterThan(8), { timeout: 10_000 })
      waitedFor = !isRemoved
    }
    const round = world.round()
    await removal
    await vi.waitFor(() => expect(isRemoved).toBe(true))
    expect([waitedFor, isGuarded(world), guardRecord(world)]).toEqual([true, false, undefined])
    world.destination.add(guardOf('a1'))
    await round
  })

  it('is not created by a runner that has lost its place in between', async () => {
    const world = await unguarded()
    let owns = true
    world.store.moment = async () => {
      owns = guardRecord(world)?.pending !== true
    }
    await world.round({ ownsShard: () => owns })
    expect([isGuarded(world), guardRecord(world)?.pending]).toEqual([false, true])
    world.store.moment = async () => {}
    await world.round()
    expect([isGuarded(world), guardRecord(world)?.pending]).toEqual([true, undefined])
  })

  it('that came too late and cannot be undone is on record again, for the next round to lift', async () => {
    const world = await unguarded()
    let isOver = false
    world.destination.moment = async (api) => {
      if (api !== 'CreateAcls' || isOver) return
      isOver = true
      await world.release('a1')
      await world.topics('STOPPED', 'a1')
      world.destination.refuses = (change) => change === 'DeleteAcls'
    }
    const { problems } = await world.round()
    expect(problems).toMatchObject([{ item: 'DENY WRITE on topic a1 for User:*' }])
    expect([isGuarded(world), guardRecord(world)?.what]).toEqual([true, 'guard'])
    world.destination.refuses = () => false
    await world.round()
    expect([isGuarded(world), guardRecord(world)]).toEqual([false, undefined])
  })

  it('that could not be lifted is named, and lifted when its topic is removed again', async () => {
    const world = await unguarded()
    await world.round()
    world.destination.refuses = (change) => change === 'DeleteAcls'
    const options = { destination: world.destination.cluster, store: world.store, mirror: 'm', topics: ['a1'], now: () => 1, patienceMs: 0 }
    await world.topics('STOPPING', 'a1')
    expect((await releaseAclsOf(options)).readOnly).toEqual(['a1'])
    await world.topics('STOPPED', 'a1')
    expect((await releaseLeftovers(options)).readOnly).toEqual(['a1'])
    world.destination.refuses = () => false
    expect(await releaseLeftovers(options)).toEqual({ warnings: [], readOnly: [], withheld: [] })
    expect([isGuarded(world), guardRecord(world)]).toEqual([false, undefined])
    const { changes } = world.destination
    expect(await releaseLeftovers(options)).toEqual({ warnings: [], readOnly: [], withheld: [] })
    expect(world.destination.changes).toBe(changes)
  })

  it('of a topic that was added again is not lifted by a removal that was late', async () => {
    const world = await unguarded()
    await world.round()
    await world.topics('STOPPING', 'a1')
    let isAgain = false
    world.destination.moment = async () => {
      if (isAgain) return
      isAgain = true
      await world.topics('STOPPED', 'a1')
      await world.topics('MIRRORING', 'a1')
    }
    const options = { destination: world.destination.cluster, store: world.store, mirror: 'm', topics: ['a1'], now: () => 1, patienceMs: 0 }
    await expect(releaseAclsOf(options)).rejects.toThrow('topic a1 was added to mirror m again while it was being removed')
    expect(isGuarded(world)).toBe(true)
  })

  it('that no mirror answers for stays, and is told of', async () => {
    const world = await unguarded()
    await world.release('a1')
    await world.topics('STOPPED', 'a1')
    world.destination.set([guardOf('a1')])
    const { notes, changes } = await world.round()
    expect(notes).toEqual([
      "topic a1 stays read-only by DENY WRITE on topic a1 for User:*, which is no mirror's: remove that with kafka-acls unless it was meant to be",
    ])
    expect([changes, isGuarded(world)]).toEqual([0, true])
  })
})

describe('what a topic was given when it left', () => {
  const left = async (): Promise<AclWorld> => {
    const world = new AclWorld()
    world.source.set([writing, prefixed])
    await world.topics('MIRRORING', 'a1', 'a2')
    await world.round()
    await world.release('a1')
    await world.topics('STOPPED', 'a1')
    return world
  }

  it('is not given again once the destination has taken it away', async () => {
    const world = await left()
    const narrow = rule({ operation: 'WRITE', principal: 'User:carol' })
    expect([writing, narrow].map(world.destination.has)).toEqual([true, true])
    world.destination.remove(writing)
    world.destination.remove(narrow)
    await world.round()
    await world.release('a2')
    await world.topics('STOPPED', 'a2')
    world.destination.remove(prefixed)
    await world.round()
    expect([writing, narrow, prefixed].map(world.destination.has)).toEqual([false, false, false])
  })

  it('is given by a later round where it was refused at first', async () => {
    const world = await left()
    world.destination.refuses = (api) => api === 'CreateAcls'
    expect(await world.release('a2')).toEqual([
      expect.stringContaining('the withheld rule ALLOW WRITE on topic a* (prefixed) for User:carol'),
    ])
    await world.topics('STOPPED', 'a2')
    world.destination.refuses = () => false
    await world.round()
    expect(world.destination.keys()).toEqual([keyOfBinding(prefixed), keyOfBinding(writing)].sort())
  })

  describe('in the stead of a rule that stays withheld for others, and was refused,', () => {
    const narrow = rule({ operation: 'WRITE', principal: 'User:carol' })
    const refused = async (): Promise<AclWorld> => {
      const world = new AclWorld()
      world.source.set([prefixed])
      await world.topics('MIRRORING', 'a1', 'a2')
      await world.round()
      world.destination.refuses = (api) => api === 'CreateAcls'
      expect(await world.release('a1')).toEqual([expect.stringContaining('the withheld rule ALLOW WRITE on topic a1 for User:carol')])
      await world.topics('STOPPED', 'a1')
      return world
    }
    const optionsOf = ({ destination, store }: AclWorld) =>
      ({ destination: destination.cluster, store, mirror: 'm', topics: ['a1'], now: () => 1, patienceMs: 0 }) as const

    it('is given by a later round', async () => {
      const world = await refused()
      expect((await world.round()).notes).toEqual([expect.stringContaining('the withheld rule ALLOW WRITE on topic a1 for User:carol')])
      world.destination.refuses = () => false
      expect(await world.round()).toMatchObject({ problems: [], notes: [] })
      expect(world.destination.has(narrow)).toBe(true)
    })

    it('is given when the topic is removed again, told of until then, and makes way for the whole rule', async () => {
      const world = await refused()
      world.destination.refusal = Errors.UNKNOWN_SERVER_ERROR
      expect(await releaseLeftovers(optionsOf(world))).toMatchObject({ warnings: [expect.any(String)], withheld: ['a1'] })
      world.destination.refuses = () => false
      expect(await releaseLeftovers(optionsOf(world))).toEqual({ warnings: [], readOnly: [], withheld: [] })
      expect(world.destination.has(narrow)).toBe(true)
      await world.release('a2')
      expect(world.destination.keys()).toEqual([keyOfBinding(prefixed)])
    })

    it('is not given any more once the source has taken the whole rule away', async () => {
      const world = await refused()
      world.source.set([])
      await world.round()
      world.destination.refuses = () => false
      for (let i = 0; i < 2; i++) await world.round()
      expect(world.destination.has(narrow)).toBe(false)
      expect([...world.store.state.mirror('m')!.acls.keys()].filter((key) => key !== formatBinding(CANARY))).toEqual([
        formatBinding(guardOf('a2')),
      ])
    })
  })

  it('is on record as withheld where it was refused, unless somebody else has created it', async () => {
    const world = await left()
    world.destination.refuses = (api) => api === 'CreateAcls'
    await world.release('a2')
    await world.topics('STOPPED', 'a2')
    const options = { destination: world.destination.cluster, store: world.store, mirror: 'm', topics: ['a1', 'a2'], patienceMs: 0 }
    const { warnings, withheld } = await releaseLeftovers(options)
    expect([warnings, withheld]).toEqual([[expect.stringMatching(/a\* \(prefixed\) for User:carol .* with kafka-acls: /)], []])
    world.destination.refusal = Errors.UNKNOWN_SERVER_ERROR
    expect((await releaseLeftovers(options)).withheld).toEqual(['a1', 'a2'])
    world.destination.add(prefixed)
    expect(await releaseLeftovers(options)).toMatchObject({ withheld: [], warnings: [] })
  })
})

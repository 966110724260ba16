import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ConnectionError } from '../../../src/client/errors.js'
import { guardOf } from '../../../src/mirror/acl-bindings.js'
import { releaseAclsOf } from '../../../src/sync/acls/index.js'
import { AclWorld, rule } from '../../support/acl-world.js'

const writing = rule({ operation: 'WRITE' })
const OUT_OF_REACH = {
  'refuses connections': () =>
    Promise.reject(new ConnectionError({ kind: 'closed', address: { host: 'two', port: 2 }, reason: 'refused' })),
  'never answers': () => new Promise<never>(() => {}),
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

  it('a round takes the runner for no super user until that broker is known to know the rule that tells', async () => {
    const world = new AclWorld()
    world.destination.set([rule()])
    await world.topics('MIRRORING', 'a1')
    world.destination.outOfReach = outOfReach
    const rounds = (async () => {
      await world.round()
      expect(world.destination.has(guardOf('a1'))).toBe(false)
      return world.round()
    })()
    rounds.catch(() => {})
    await vi.advanceTimersByTimeAsync(20_000)
    expect((await rounds).problems).toEqual([])
    expect(world.destination.has(guardOf('a1'))).toBe(true)
  })
})

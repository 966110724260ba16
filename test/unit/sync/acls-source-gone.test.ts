import { expect, it, vi } from 'vitest'
import { guardOf } from '../../../src/mirror/acl-bindings.js'
import { MirrorSync, SYNC_LOOPS, type SyncOutcome } from '../../../src/sync/index.js'
import { AclWorld, rule } from '../../support/acl-world.js'

const prefixed = rule({ operation: 'WRITE', patternType: 'PREFIXED', resourceName: 'a' })

/** The loops of a runner that finds the source out of reach: what each came to. */
async function withoutSource(world: AclWorld): Promise<Map<string, SyncOutcome>> {
  const outcomes = new Map<string, SyncOutcome>()
  const connect = () => Promise.reject(new Error('the source is out of reach'))
  const sync = new MirrorSync({ ...world.frame(), connect }, SYNC_LOOPS, async (loop, outcome) => {
    outcomes.set(loop, outcome)
  })
  sync.start()
  await vi.waitFor(() => expect(outcomes.size).toBe(SYNC_LOOPS.length))
  await sync.close()
  return outcomes
}

it('with the source gone, runners finish what removals could not, set guards, and say that the source is out of reach', async () => {
  const world = new AclWorld()
  world.source.set([prefixed])
  await world.topics('MIRRORING', 'a1', 'b1')
  await world.round()
  world.destination.refuses = (api) => api === 'CreateAcls' || api === 'DeleteAcls'
  await world.release('a1')
  await world.topics('STOPPED', 'a1')
  world.destination.refuses = () => false
  world.destination.remove(guardOf('b1'))
  expect([guardOf('a1'), prefixed, guardOf('b1')].map(world.destination.has)).toEqual([true, false, false])
  const outcomes = await withoutSource(world)
  expect([guardOf('a1'), prefixed, guardOf('b1')].map(world.destination.has)).toEqual([false, true, true])
  expect([...outcomes.values()].map(({ ok, error }) => [ok, error])).toEqual(SYNC_LOOPS.map(() => [false, 'the source is out of reach']))
})

it('with the source gone and no topic left, the rules of a mirror lack nothing', async () => {
  const world = new AclWorld()
  await world.topics('STOPPED', 'a1')
  expect((await withoutSource(world)).get('acls')).toMatchObject({ ok: true, problems: [] })
})

import { expect, test, vi } from 'vitest'
import { Errors } from '../../../src/protocol/errors.js'
import type { ServiceContext } from '../../../src/service/context.js'
import { deleteMirror } from '../../../src/service/delete-mirror.js'
import { AclWorld, rule } from '../../support/acl-world.js'

const writing = rule({ operation: 'WRITE' })

function contextOf({ destination, store }: AclWorld): ServiceContext {
  const readable = { update: store.update.bind(store), read: async () => store.state }
  return { destination: destination.cluster, store: readable, now: () => 1 } as unknown as ServiceContext
}

const deleted = (world: AclWorld) => deleteMirror(contextOf(world), 'm', {})

/** Topic a1 has left, without the rule that was withheld: brokers refused it. */
async function lacking(refusal: number): Promise<AclWorld> {
  const world = new AclWorld()
  world.source.set([writing])
  await world.topics('MIRRORING', 'a1')
  await world.round()
  world.destination.refusal = refusal
  world.destination.refuses = (api) => api === 'CreateAcls'
  await world.release('a1')
  await world.topics('STOPPED', 'a1')
  return world
}

test.each([
  ['of an operator who may not change rules', Errors.CLUSTER_AUTHORIZATION_FAILED],
  ['where brokers that change rules have no authorizer', Errors.SECURITY_DISABLED],
  ['whose rule brokers never take', Errors.INVALID_REQUEST],
])('a mirror %s is deleted, and what nobody was given is named', async (_, refusal) => {
  const world = await lacking(refusal)
  expect(await deleted(world)).toEqual({
    mirror: 'm',
    deleted: true,
    topics: [],
    warnings: [
      expect.stringMatching(/^the withheld rule ALLOW WRITE on topic a1 for User:alice could not be created, .* with kafka-acls: /),
    ],
  })
  expect(world.store.state.mirror('m')).toBeUndefined()
})

test('a mirror of an operator who may not see rules either is deleted', async () => {
  const world = await lacking(Errors.CLUSTER_AUTHORIZATION_FAILED)
  world.destination.refuses = (api) => api.endsWith('Acls')
  expect(await deleted(world)).toMatchObject({
    deleted: true,
    warnings: [expect.stringContaining('ALLOW WRITE on topic a1 for User:alice')],
  })
})

test('nothing is told where somebody else has given what was withheld', async () => {
  const world = await lacking(Errors.CLUSTER_AUTHORIZATION_FAILED)
  world.destination.add(writing)
  expect(await deleted(world)).toMatchObject({ deleted: true, warnings: [] })
})

test('a mirror is deleted also where the authorizer is switched off, and names what nobody was given', async () => {
  const world = await lacking(Errors.CLUSTER_AUTHORIZATION_FAILED)
  world.destination.refuses = (api) => api.endsWith('Acls')
  world.destination.refusal = Errors.SECURITY_DISABLED
  expect(await deleted(world)).toMatchObject({
    deleted: true,
    warnings: [
      expect.stringMatching(
        /^the destination has no authorizer now; .* but not those that it withheld: ALLOW WRITE on topic a1 for User:alice$/,
      ),
    ],
  })
})

test('a mirror is kept while brokers fail for a reason that passes, and deleted once they do not', async () => {
  const world = await lacking(Errors.UNKNOWN_SERVER_ERROR)
  const { topics, ...held } = await deleted(world)
  expect(held).toMatchObject({
    deleted: false,
    warnings: [expect.stringMatching(/^the withheld rule ALLOW WRITE on topic a1 .*: refused$/)],
  })
  expect(topics).toMatchObject([{ topic: 'a1', ok: false, error: { message: expect.stringContaining('topic a1 still lacks rules') } }])
  world.destination.refuses = () => false
  expect(await deleted(world)).toEqual({ mirror: 'm', deleted: true, topics: [], warnings: [] })
  expect(world.destination.has(writing)).toBe(true)
})

test('what one topic was refused, of a rule that another mirror withholds, is given before its mirror is deleted', async () => {
  const world = new AclWorld()
  world.source.set([rule({ operation: 'WRITE', patternType: 'PREFIXED', resourceName: 'a' })])
  await world.topics('MIRRORING', 'a1')
  await world.topicsOf('n', 'MIRRORING', 'a2')
  await world.round()
  await world.round({ mirror: 'n' })
  world.destination.refuses = (api) => api === 'CreateAcls'
  world.destination.refusal = Errors.UNKNOWN_SERVER_ERROR
  await world.release('a1')
  await world.topics('STOPPED', 'a1')
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  try {
    // What a runner may be about to do is waited for.
    const soon = async () => {
      let isDone = false
      const deleting = deleted(world).finally(() => {
        isDone = true
      })
      while (!isDone) await vi.advanceTimersByTimeAsync(1_000)
      return deleting
    }
    expect(await soon()).toMatchObject({ deleted: false, topics: [{ topic: 'a1', ok: false }] })
    world.destination.refuses = () => false
    expect(await soon()).toMatchObject({ deleted: true, topics: [], warnings: [] })
  } finally {
    vi.useRealTimers()
  }
  expect(world.destination.has(writing)).toBe(true)
})

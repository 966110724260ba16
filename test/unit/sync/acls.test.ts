import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AclBinding } from '../../../src/client/admin-acls.js'
import { allowsWriting, CANARY, coversTopic, guardOf, standInsFor } from '../../../src/mirror/acl-bindings.js'
import { releaseAcls } from '../../../src/sync/acls/index.js'
import { rule, AclWorld as World } from '../../support/acl-world.js'
import { keyOfBinding } from '../../support/model-authorizer.js'

const TOPICS = ['a1', 'a2', 'b1']
const topicRule = fc
  .record({
    on: fc.constantFrom(['LITERAL', 'a1'], ['LITERAL', 'b1'], ['PREFIXED', 'a'], ['LITERAL', '*'], ['LITERAL', 'elsewhere']),
    principal: fc.constantFrom('User:alice', 'User:bob'),
    operation: fc.constantFrom('READ', 'WRITE', 'ALL', 'DESCRIBE'),
    permission: fc.constantFrom('ALLOW', 'ALLOW', 'DENY'),
  })
  .map(({ on, ...fields }) => rule({ patternType: on[0]!, resourceName: on[1]!, ...fields }))
const groupRule = fc.constantFrom('g', 'h').map((resourceName) => rule({ resourceType: 'GROUP', resourceName }))
const someRules = fc.uniqueArray(fc.oneof({ weight: 4, arbitrary: topicRule }, groupRule), { maxLength: 8, selector: keyOfBinding })

/** Runs until it ends well; what breaks is tried again, as the next round and a repeated command do. */
async function throughBreaks(world: World, breaks: readonly number[], action: () => Promise<unknown>): Promise<void> {
  for (const nth of breaks) {
    world.destination.breakAt(nth)
    await action().catch(() => {})
  }
  world.destination.mend()
  await action()
}

const keys = (bindings: readonly AclBinding[]) => new Set(bindings.map(keyOfBinding))

describe('access rules of any kind, however often a round breaks off', () => {
  const breaks = fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 })

  it('follow the source, touch nothing local, and leave nothing behind', async () => {
    await fc.assert(
      fc.asyncProperty(someRules, someRules, someRules, breaks, async (before, after, local, breaking) => {
        const world = new World()
        world.destination.set(local)
        await world.topics('MIRRORING', ...TOPICS)
        for (const rules of [before, after]) {
          world.source.set(rules)
          await throughBreaks(world, breaking, () => world.round())
          const missing = local.filter((binding) => !world.destination.has(binding))
          expect(missing).toEqual([])
          // Nobody may write by what the mirror made.
          const open = world.created.filter((binding) => allowsWriting(binding) && TOPICS.some((topic) => coversTopic(binding, topic)))
          expect(open).toEqual([])
          expect(TOPICS.every((topic) => world.destination.has(guardOf(topic)))).toBe(true)
          const wanted = rules.filter((binding) => !allowsWriting(binding) && binding.resourceName !== 'elsewhere')
          expect(wanted.filter((binding) => !world.destination.has(binding))).toEqual([])
          // Whatever is there is local or on record.
          const known = keys([...local, ...world.created])
          expect(world.destination.keys().filter((key) => !known.has(key))).toEqual([])
          const { changes } = world.destination
          expect(await world.round()).toMatchObject({ changes: 0, problems: [] })
          expect(world.destination.changes).toBe(changes)
        }
        world.source.set([])
        await throughBreaks(world, breaking, () => world.round())
        expect(world.destination.keys()).toEqual([...keys([...local, CANARY, ...TOPICS.map(guardOf)])].sort())
      }),
      { numRuns: 100 },
    )
  })

  it('are all in force once every topic has left, in any order, and the guard is gone', async () => {
    const order = fc.shuffledSubarray(TOPICS, { minLength: TOPICS.length })
    await fc.assert(
      fc.asyncProperty(someRules, someRules, breaks, order, fc.boolean(), async (rules, local, breaking, leaving, roundsBetween) => {
        const world = new World()
        world.destination.set(local)
        world.source.set(rules)
        await world.topics('MIRRORING', ...TOPICS)
        await world.round()
        const writers = rules.filter(allowsWriting)
        for (const [left, topic] of leaving.entries()) {
          await world.topics('STOPPING', topic)
          if (roundsBetween) await world.round()
          await throughBreaks(world, breaking, () => world.release(topic))
          await world.topics('STOPPED', topic)
          if (roundsBetween) await world.round()
          // Who may write to it on the source may do so now, and to nothing that is still mirrored.
          const may = [...writers, ...local.filter(allowsWriting)]
          for (const principal of ['User:alice', 'User:bob']) {
            const should = may.some((binding) => binding.principal === principal && coversTopic(binding, topic))
            const can = world.destination.keys().some((key) => canWrite(key, principal, topic))
            expect([topic, principal, can]).toEqual([topic, principal, should])
          }
          const mirrored = leaving.slice(left + 1)
          expect(mirrored.every((name) => world.destination.has(guardOf(name)))).toBe(true)
          expect(world.destination.has(guardOf(topic))).toBe(false)
        }
        const meant = rules.filter(({ resourceName }) => resourceName !== 'elsewhere')
        const extra = new Set(world.destination.keys())
        for (const key of keys([...meant, ...local])) {
          expect(extra.delete(key)).toBe(true)
        }
        expect([...extra]).toEqual([])
      }),
      { numRuns: 100 },
    )
  })
})

/** Whether a rule, as the model spells it, lets a principal write to a topic. */
function canWrite(key: string, principal: string, topic: string): boolean {
  const [type, name, pattern, who, , operation, permission] = key.split(' ')
  if (type !== '2' || who !== principal || permission !== '3' || !['2', '4'].includes(operation!)) return false
  return pattern === '4' ? topic.startsWith(name!) : name === topic || name === '*'
}

describe('a rule that was there before', () => {
  it('is never ours, even where the source has it too', async () => {
    const world = new World()
    const local = rule({ operation: 'WRITE' })
    world.source.set([local])
    world.destination.set([local])
    await world.topics('MIRRORING', 'a1')
    await world.round()
    world.source.set([])
    await world.round()
    expect(world.destination.has(local)).toBe(true)
    expect(world.created).toEqual([CANARY, guardOf('a1')])
  })

  it('may be a guard, which then stays', async () => {
    const world = new World()
    world.destination.set([guardOf('a1')])
    await world.topics('MIRRORING', 'a1')
    await world.round()
    expect(await world.release('a1')).toEqual([expect.stringMatching(/^topic a1 stays read-only by DENY WRITE on topic a1 for User:\*,/)])
    expect(world.destination.has(guardOf('a1'))).toBe(true)
  })
})

describe('a rule made by hand while it is withheld', () => {
  it('is left alone, and stays when the topic leaves', async () => {
    const world = new World()
    const writing = rule({ operation: 'WRITE' })
    world.source.set([writing])
    await world.topics('MIRRORING', 'a1')
    await world.round()
    world.destination.add(writing)
    await world.round()
    expect(world.destination.has(writing)).toBe(true)
    await world.release('a1')
    expect(world.created).toEqual([])
    expect(world.destination.keys()).toEqual([keyOfBinding(writing)])
  })
})

describe('two mirrors', () => {
  it('share a rule, which stays until both let go', async () => {
    const world = new World()
    const reading = rule({ patternType: 'PREFIXED', resourceName: 'a' })
    world.source.set([reading])
    await world.topics('MIRRORING', 'a1')
    await world.topicsOf('n', 'MIRRORING', 'a2')
    await world.round()
    await world.round({ mirror: 'n' })
    world.source.set([])
    await world.round()
    expect(world.destination.has(reading)).toBe(true)
    await world.round({ mirror: 'n' })
    expect(world.destination.has(reading)).toBe(false)
  })
})

describe('a topic that has left', () => {
  it('keeps what rules on many topics gave it, when the source takes these away or it is withheld again', async () => {
    const world = new World()
    const all = rule({ patternType: 'PREFIXED', resourceName: 'a', operation: 'ALL' })
    world.source.set([all, rule({ patternType: 'PREFIXED', resourceName: 'a', principal: 'User:bob' })])
    await world.topics('MIRRORING', 'a1', 'a2')
    await world.round()
    await world.release('a1')
    await world.topics('STOPPED', 'a1')
    world.source.set([])
    await world.round()
    const own = world.destination.keys().filter((key) => key.includes(' a1 '))
    expect(own).toContain(keyOfBinding(rule({ operation: 'WRITE' })))
    expect(own).toContain(keyOfBinding(rule({ principal: 'User:bob' })))
    for (const { operation } of standInsFor(all)) expect(own).toContain(keyOfBinding(rule({ operation })))
    expect(world.destination.keys().filter((key) => key.includes(' a 4 '))).toEqual([])
  })

  it('has its guard lifted by the runner where the command could not', async () => {
    const world = new World()
    world.source.set([rule({ operation: 'WRITE' })])
    await world.topics('MIRRORING', 'a1', 'b1')
    await world.round()
    await world.topics('STOPPED', 'a1')
    await world.round()
    expect(world.destination.has(guardOf('a1'))).toBe(false)
    expect(world.destination.has(rule({ operation: 'WRITE' }))).toBe(true)
    expect(world.destination.has(guardOf('b1'))).toBe(true)
  })

  it('costs no request where the mirror made no rules', async () => {
    const world = new World()
    await world.topics('STOPPING', 'a1')
    world.destination.breakAt(1)
    expect(await releaseAcls({ destination: world.destination.cluster, store: world.store, mirror: 'm', topic: 'a1' })).toEqual({
      warnings: [],
      readOnly: [],
      withheld: [],
    })
  })
})

describe('a runner that is no super user any more', () => {
  it('lifts the guards', async () => {
    const world = new World()
    await world.topics('MIRRORING', 'a1')
    await world.round()
    world.destination.superUser = false
    const { notes } = await world.round()
    expect(notes).toEqual(['topics are not read-only, only watched for foreign writes: the runner is not a super user of the destination'])
    expect(world.destination.has(guardOf('a1'))).toBe(false)
    world.destination.superUser = true
    await world.round()
    expect(world.destination.has(guardOf('a1'))).toBe(true)
  })
})

describe('a rule that would bind a runner that is no super user', () => {
  const binding = rule({ principal: 'User:runner', permission: 'DENY', operation: 'READ' })
  const harmless = rule({ principal: 'User:mallory', permission: 'DENY', operation: 'READ' })

  it('does not stay, whenever the runner that tried it breaks off', async () => {
    for (let nth = 1; nth < 40; nth++) {
      const world = new World()
      world.destination.superUser = false
      world.source.set([binding, harmless])
      await world.topics('MIRRORING', 'a1')
      world.destination.breakAt(nth)
      await world.round().catch(() => {})
      world.destination.mend()
      await world.round()
      await world.round()
      expect([binding, harmless].map((one) => world.destination.has(one))).toEqual([false, true])
      const { changes } = world.destination
      await world.round()
      expect(world.destination.changes).toBe(changes)
      expect(await world.release('a1')).toEqual([])
      expect([binding, harmless].map((one) => world.destination.has(one))).toEqual([true, true])
    }
  })
})

describe('a destination where what has no rules is open to all', () => {
  it('has no guard as the only rule of a topic, which would shut readers out', async () => {
    const world = new World()
    world.destination.openByDefault = true
    const reading = rule({ resourceName: 'b1' })
    world.source.set([reading])
    await world.topics('MIRRORING', 'a1', 'b1')
    const { notes } = await world.round()
    expect(notes).toEqual([
      'topics without access rules are only watched for foreign writes, as brokers have allow.everyone.if.no.acl.found: a1',
    ])
    expect(world.destination.keys()).toEqual([...keys([CANARY, guardOf('b1'), reading])].sort())
    world.source.set([])
    await world.round()
    expect(world.destination.keys()).toEqual([keyOfBinding(CANARY)])
  })
})

describe('a source that is out of reach', () => {
  it('leaves topics guarded', async () => {
    const world = new World()
    await world.topics('MIRRORING', 'a1')
    world.source.breakAt(1)
    await expect(world.round()).rejects.toThrow('the model breaks here')
    expect(world.destination.has(guardOf('a1'))).toBe(true)
  })
})

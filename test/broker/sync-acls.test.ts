import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Cluster } from '../../src/client/cluster.js'
import { formatBinding, guardOf } from '../../src/mirror/acl-bindings.js'
import { CreateAcls } from '../../src/protocol/index.js'
import { MirrorAdmin } from '../../src/service/index.js'
import { type AclRounds, type SecuredCluster, startSecuredClusters } from '../support/acl-rounds.js'
import { javaClientProperties } from '../support/secured-broker.js'

let clusters: Awaited<ReturnType<typeof startSecuredClusters>>
let source: SecuredCluster
let destination: SecuredCluster
let rounds: AclRounds

beforeAll(async () => {
  clusters = await startSecuredClusters()
  ;({ source, destination, rounds } = clusters)
  await rounds.store.ensure()
})
afterAll(async () => {
  await clusters?.close()
})

const rulesOn = (prefix: string) => destination.rulesOn(prefix)
const CLEAN = { problems: [], notes: [] }
/** A producer that may write to no topic at all is refused its producer id: CLUSTER_AUTHORIZATION_FAILED. */
const REFUSED = /AuthorizationException/
const guard = (topic: string) => `DENY WRITE TOPIC LITERAL ${topic} User:* *`

describe('a mirrored topic', () => {
  it('refuses an ordinary principal until it is released, and nothing is sent twice', async () => {
    await source.grant('ALLOW ALL TOPIC LITERAL a-orders User:alice *', 'ALLOW WRITE TOPIC LITERAL a-orders User:bob *')
    await destination.admin.createTopic('a-orders')
    // A local rule, which the mirror finds.
    await destination.grant('ALLOW WRITE TOPIC LITERAL a-orders User:bob *')
    await destination.write('bob', 'a-orders')

    await rounds.topics('a', { 'a-orders': 'MIRRORING' })
    expect(await rounds.run('a')).toMatchObject(CLEAN)
    await expect(destination.write('bob', 'a-orders')).rejects.toThrow(REFUSED)
    await expect(destination.write('alice', 'a-orders')).rejects.toThrow(REFUSED)
    await destination.write('admin', 'a-orders')
    const parts = ['ALTER', 'ALTER_CONFIGS', 'CREATE', 'DELETE', 'DESCRIBE', 'DESCRIBE_CONFIGS', 'READ']
    await expect
      .poll(() => rulesOn('a-'))
      .toEqual([
        ...parts.map((operation) => `ALLOW ${operation} TOPIC LITERAL a-orders User:alice *`),
        'ALLOW WRITE TOPIC LITERAL a-orders User:bob *',
        guard('a-orders'),
      ])
    expect(await rounds.run('a')).toEqual({ ...CLEAN, changes: 0 })

    await rounds.topics('a', { 'a-orders': 'STOPPING' })
    expect(await rounds.release('a', 'a-orders')).toEqual([])
    await destination.write('alice', 'a-orders')
    await destination.write('bob', 'a-orders')
    const released = ['ALLOW ALL TOPIC LITERAL a-orders User:alice *', 'ALLOW WRITE TOPIC LITERAL a-orders User:bob *']
    await expect.poll(() => rulesOn('a-')).toEqual(released)
    expect(await rounds.release('a', 'a-orders')).toEqual([])
    await rounds.topics('a', { 'a-orders': 'STOPPED' })
    expect(await rounds.run('a')).toEqual({ ...CLEAN, changes: 0 })
    await expect.poll(() => rulesOn('a-')).toEqual(released)
    // Nobody needs to know any more whether the runner is a super user.
    await expect.poll(() => rulesOn('__kafka_mirrors')).toEqual([])
  })
})

describe('a guard that arrives behind the removal of its topic', () => {
  it('is taken back by the runner that set it, and the topic stays its clients', async () => {
    await destination.admin.createTopic('g-orders')
    await destination.grant('ALLOW WRITE TOPIC LITERAL g-orders User:bob *')
    await rounds.topics('g', { 'g-orders': 'MIRRORING' })
    let wasOvertaken = false
    const overtaken = async () => {
      wasOvertaken = true
      await rounds.topics('g', { 'g-orders': 'STOPPING' })
      expect(await rounds.release('g', 'g-orders', { patienceMs: 0 })).toEqual([])
      await rounds.topics('g', { 'g-orders': 'STOPPED' })
    }
    await rounds.run('g', { to: heldUp(destination.as(), 'g-orders', overtaken) })
    expect(wasOvertaken).toBe(true)
    await destination.write('bob', 'g-orders')
    expect(await rulesOn('g-')).toEqual(['ALLOW WRITE TOPIC LITERAL g-orders User:bob *'])
    expect((await rounds.store.read()).mirror('g')!.acls.get(formatBinding(guardOf('g-orders')))).toBeUndefined()
  })
})

/** The cluster, whose request to create rules on a topic is sent only when something else is done. */
function heldUp(cluster: Cluster, topic: string, meanwhile: () => Promise<void>): Cluster {
  const controller: Cluster['controller'] = async (api, request, options) => {
    if (api.key === CreateAcls.key && JSON.stringify(request).includes(topic)) await meanwhile()
    return cluster.controller(api, request, options)
  }
  return new Proxy(cluster, {
    get: (target, name) => {
      if (name === 'controller') return controller
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

describe('an operator', () => {
  const reach = (cluster: SecuredCluster, user: 'admin' | 'bob' = 'admin') => ({
    'bootstrap.servers': cluster.broker.bootstrap('SASL_PLAINTEXT'),
    ...javaClientProperties(cluster.broker.files, 'SASL_PLAINTEXT', { user }),
  })
  const rights = [
    ...['TOPIC', 'GROUP'].map((type) => `ALLOW ALL ${type} LITERAL * User:bob *`),
    ...['DESCRIBE', 'CLUSTER_ACTION'].map((right) => `ALLOW ${right} CLUSTER LITERAL kafka-cluster User:bob *`),
  ]
  let admin: MirrorAdmin
  /** May do everything but change access rules. */
  let restricted: MirrorAdmin

  beforeAll(async () => {
    await destination.grant(...rights)
    admin = new MirrorAdmin(reach(destination))
    restricted = new MirrorAdmin(reach(destination, 'bob'))
  })
  afterAll(async () => {
    await Promise.all([admin?.close(), restricted?.close()])
    for (const rule of rights) await destination.revoke(rule)
  })

  it('who removes a topic lets clients write, and is not done while the guard is there', async () => {
    await source.admin.createTopic('r-orders')
    await source.grant('ALLOW WRITE TOPIC LITERAL r-orders User:alice *')
    await admin.createMirror('r', reach(source))
    expect((await admin.addTopicsToMirror({ 'r-orders': 'r' })).topics).toMatchObject([{ ok: true }])
    expect(await rounds.run('r')).toMatchObject(CLEAN)
    await expect(destination.write('alice', 'r-orders')).rejects.toThrow(REFUSED)
    const { topics } = await restricted.removeTopicsFromMirror('r', ['r-orders'])
    expect(topics).toMatchObject([{ ok: false, error: { code: 'RIGHTS_MISSING', message: 'topic r-orders is still read-only' } }])
    expect((await admin.removeTopicsFromMirror('r', ['r-orders'])).topics).toMatchObject([{ ok: true, how: 'confirmed' }])
    await destination.write('alice', 'r-orders')
    await expect.poll(() => rulesOn('r-')).toEqual(['ALLOW WRITE TOPIC LITERAL r-orders User:alice *'])
    await admin.deleteMirror('r')
    await expect.poll(() => rulesOn('r-')).toHaveLength(1)
  })

  /** Both topics of the mirror were removed at once: each got a rule of its own in the stead of the one on both. */
  async function removedAtOnce(mirror: string): Promise<{ whole: string; instead: readonly string[] }> {
    const topics = [`${mirror}-1`, `${mirror}-2`] as const
    const desired = (state: 'MIRRORING' | 'STOPPING' | 'STOPPED') => rounds.topics(mirror, { [topics[0]]: state, [topics[1]]: state })
    const whole = `ALLOW WRITE TOPIC PREFIXED ${mirror}- User:alice *`
    await source.grant(whole)
    for (const topic of topics) await destination.admin.createTopic(topic)
    await desired('MIRRORING')
    expect(await rounds.run(mirror)).toMatchObject(CLEAN)
    await desired('STOPPING')
    for (const topic of topics) expect(await rounds.release(mirror, topic)).toEqual([])
    await desired('STOPPED')
    const narrow = topics.map((topic) => `ALLOW WRITE TOPIC LITERAL ${topic} User:alice *`)
    const instead = [`ALLOW DESCRIBE TOPIC PREFIXED ${mirror}- User:alice *`, ...narrow]
    await expect.poll(() => rulesOn(`${mirror}-`)).toEqual(instead)
    await source.revoke(whole)
    return { whole, instead }
  }

  it('who deletes a mirror gives what removals at once have left to each other', async () => {
    const { whole } = await removedAtOnce('h')
    expect(await admin.deleteMirror('h')).toEqual({ mirror: 'h', deleted: true, topics: [], warnings: [] })
    await expect.poll(() => rulesOn('h-')).toEqual([whole])
  })

  it('who may not give it is told to have it created, and the mirror is deleted', async () => {
    const { instead } = await removedAtOnce('k')
    const { deleted, topics, warnings } = await restricted.deleteMirror('k')
    expect([deleted, topics, warnings]).toEqual([
      true,
      [],
      [expect.stringMatching(/^the withheld rule ALLOW WRITE on topic k-\* \(prefixed\) for User:alice could not be .* with kafka-acls: /)],
    ])
    expect(await rulesOn('k-')).toEqual(instead)
  })
})

describe('rules', () => {
  it('follow the source, and nothing but what the mirror created is removed', async () => {
    await source.grant(
      'ALLOW READ TOPIC LITERAL b-orders User:alice *',
      'ALLOW READ TOPIC LITERAL b-orders User:bob *',
      'DENY READ TOPIC LITERAL b-orders User:mallory 10.0.0.1',
      'ALLOW READ TOPIC LITERAL b-elsewhere User:alice *',
      'ALLOW READ GROUP PREFIXED b- User:alice *',
      'ALLOW WRITE TRANSACTIONAL_ID LITERAL b-tx User:alice *',
      'ALLOW IDEMPOTENT_WRITE CLUSTER LITERAL kafka-cluster User:b *',
      'ALLOW ALTER CLUSTER LITERAL kafka-cluster User:b *',
      'ALLOW CLUSTER_ACTION CLUSTER LITERAL kafka-cluster User:b *',
    )
    const local = ['ALLOW READ TOPIC LITERAL b-orders User:bob *', 'ALLOW DESCRIBE TOPIC LITERAL b-orders User:local *']
    await destination.grant(...local)
    await rounds.topics('b', { 'b-orders': 'MIRRORING' })
    expect(await rounds.run('b')).toMatchObject(CLEAN)
    await expect
      .poll(() => rulesOn('b-'))
      .toEqual([
        local[1],
        'ALLOW READ GROUP PREFIXED b- User:alice *',
        'ALLOW READ TOPIC LITERAL b-orders User:alice *',
        local[0],
        'ALLOW WRITE TRANSACTIONAL_ID LITERAL b-tx User:alice *',
        'DENY READ TOPIC LITERAL b-orders User:mallory 10.0.0.1',
        guard('b-orders'),
      ])
    // What makes somebody an administrator of the source makes nobody one of the destination.
    expect((await rulesOn('kafka-cluster')).filter((rule) => rule.includes('User:b '))).toEqual([
      'ALLOW IDEMPOTENT_WRITE CLUSTER LITERAL kafka-cluster User:b *',
    ])

    await source.revoke('ALLOW READ TOPIC LITERAL b-orders User:alice *')
    await source.revoke('ALLOW READ TOPIC LITERAL b-orders User:bob *')
    await source.revoke('DENY READ TOPIC LITERAL b-orders User:mallory 10.0.0.1')
    await source.revoke('ALLOW READ GROUP PREFIXED b- User:alice *')
    expect(await rounds.run('b')).toEqual({ ...CLEAN, changes: 3 })
    await expect
      .poll(() => rulesOn('b-'))
      .toEqual([local[1], local[0], 'ALLOW WRITE TRANSACTIONAL_ID LITERAL b-tx User:alice *', guard('b-orders')])
    // Out of the mirror's care is not removed.
    await source.revoke('ALLOW WRITE TRANSACTIONAL_ID LITERAL b-tx User:alice *')
    expect(await rounds.run('b', { include: 'topic' })).toEqual({ ...CLEAN, changes: 0 })
    expect(await rounds.run('b', { include: '' })).toEqual({ ...CLEAN, changes: 0 })
    await destination.revoke(guard('b-orders'))
    expect(await rounds.run('b')).toEqual({ ...CLEAN, changes: 2 })
    await expect.poll(() => rulesOn('b-')).toEqual([local[1], local[0], guard('b-orders')])
  })

  it('that let many topics be written are given topic by topic as these leave, and whole with the last', async () => {
    const whole = 'ALLOW ALL TOPIC PREFIXED c- User:alice *'
    await source.grant(whole, 'ALLOW WRITE TOPIC LITERAL * User:bob *')
    await destination.admin.createTopic('c-1')
    await destination.admin.createTopic('c-2')
    await rounds.topics('c', { 'c-1': 'MIRRORING', 'c-2': 'PAUSED' })
    expect(await rounds.run('c')).toMatchObject(CLEAN)
    await rounds.topics('c', { 'c-1': 'STOPPING' })
    expect(await rounds.release('c', 'c-1')).toEqual([])
    await rounds.topics('c', { 'c-1': 'STOPPED' })
    await expect
      .poll(() => rulesOn('c-1'))
      .toEqual(['ALLOW WRITE TOPIC LITERAL c-1 User:alice *', 'ALLOW WRITE TOPIC LITERAL c-1 User:bob *'])
    await destination.write('alice', 'c-1')
    await destination.write('bob', 'c-1')
    await expect(destination.write('alice', 'c-2')).rejects.toThrow(REFUSED)
    expect(await rounds.run('c')).toEqual({ ...CLEAN, changes: 0 })

    // The source is gone, and so is the runner; b still has a topic that * bears on.
    await rounds.topics('c', { 'c-2': 'STOPPING' })
    expect(await rounds.release('c', 'c-2')).toEqual([])
    await rounds.topics('c', { 'c-2': 'STOPPED' })
    await expect
      .poll(() => rulesOn('c-'))
      .toEqual([whole, ...['c-1', 'c-2'].map((topic) => `ALLOW WRITE TOPIC LITERAL ${topic} User:bob *`)])
    await destination.write('alice', 'c-2')

    // Added again: withheld again, but not from the topic that has left.
    await rounds.topics('c', { 'c-2': 'MIRRORING' })
    expect(await rounds.run('c')).toMatchObject(CLEAN)
    await destination.write('alice', 'c-1')
    await expect(destination.write('alice', 'c-2')).rejects.toThrow(REFUSED)
    await expect.poll(() => rulesOn('c-')).not.toContain(whole)
    await source.revoke(whole)
    await source.revoke('ALLOW WRITE TOPIC LITERAL * User:bob *')
  })

  it('of a guard are not taken for the destination where the source is itself a copy', async () => {
    await source.grant(guard('d-chain'))
    await rounds.topics('d', { 'd-chain': 'MIRRORING' })
    expect(await rounds.run('d')).toMatchObject({
      notes: ['rules not copied, since they look like guards of a mirror: DENY WRITE on topic d-chain for User:*'],
    })
    await rounds.topics('d', { 'd-chain': 'STOPPING' })
    await rounds.release('d', 'd-chain')
    await expect.poll(() => rulesOn('d-')).toEqual([])
  })
})

describe('a runner that is not a super user', () => {
  const rights = [
    ...['ALTER', 'DESCRIBE'].map((operation) => `ALLOW ${operation} CLUSTER LITERAL kafka-cluster User:alice *`),
    ...['READ', 'WRITE'].map((operation) => `ALLOW ${operation} TOPIC LITERAL __kafka_mirrors User:alice *`),
    'ALLOW ALL TOPIC LITERAL e-orders User:alice *',
    'ALLOW ALL GROUP LITERAL * User:alice *',
  ]

  it('sets no guard and takes over no rule that would lock it out', async () => {
    await destination.grant(...rights)
    await destination.admin.createTopic('e-orders')
    const forAll = 'DENY READ TOPIC LITERAL e-orders User:* *'
    const forTheRunner = 'DENY WRITE TOPIC LITERAL e-orders User:alice *'
    await source.grant(forAll, forTheRunner, 'DENY READ TOPIC LITERAL e-orders User:mallory *')
    await rounds.topics('e', { 'e-orders': 'MIRRORING' })
    const report = await rounds.run('e', { to: destination.as('alice') })
    expect(report.notes).toEqual([
      'rules withheld until their topics leave, since they bind the runner: DENY READ on topic e-orders for User:*',
      'topics are not read-only, only watched for foreign writes: the runner is not a super user of the destination',
    ])
    expect(report.problems.map(({ item }) => item)).toEqual(['DENY WRITE on topic e-orders for User:alice'])
    await expect.poll(() => rulesOn('e-orders')).toContain('DENY READ TOPIC LITERAL e-orders User:mallory *')
    await destination.write('alice', 'e-orders')
    await expect.poll(() => rulesOn('e-orders')).not.toContain(guard('e-orders'))
    await expect.poll(() => rulesOn('e-orders')).not.toContain(forAll)
    expect(await rounds.run('e', { to: destination.as('alice') })).toMatchObject({ changes: 0, problems: [] })
    await rounds.topics('e', { 'e-orders': 'STOPPING' })
    await rounds.release('e', 'e-orders')
    expect((await rulesOn('e-orders')).filter((rule) => rule.startsWith('DENY')).sort()).toEqual([
      forAll,
      'DENY READ TOPIC LITERAL e-orders User:mallory *',
      forTheRunner,
    ])
    await rounds.topics('e', { 'e-orders': 'STOPPED' })
  })

  it('names the right it lacks', async () => {
    await source.grant('ALLOW READ TOPIC LITERAL f-orders User:bob *')
    await rounds.topics('f', { 'f-orders': 'MIRRORING' })
    await destination.revoke(rights[0]!)
    const report = await rounds.run('f', { to: destination.as('alice') })
    expect(report.notes).toEqual([
      'topics are not read-only, only watched for foreign writes: a right is missing: ALTER on the cluster of the destination',
    ])
    expect(report.problems.at(-1)?.message).toBe('a right is missing: ALTER on the cluster of the destination')
    const blind = await rounds.run('f', { from: source.as('alice') })
    expect(blind.problems).toEqual([
      { item: 'the cluster of the source', message: 'a right is missing: DESCRIBE on the cluster of the source' },
    ])
    await destination.revoke(rights[1]!)
    expect((await rounds.run('f', { to: destination.as('alice') })).problems).toEqual([
      { item: 'the cluster of the destination', message: 'a right is missing: DESCRIBE on the cluster of the destination' },
    ])
  })
})

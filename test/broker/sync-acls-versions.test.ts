import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { authorizedOnTopics, isAuthorized } from '../../src/client/authorized-operations.js'
import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import { AclRounds, SecuredCluster } from '../support/acl-rounds.js'
import { startTestBroker } from '../support/brokers.js'
import { KafkaWorker } from '../support/kafka-worker.js'
import { startSecuredBroker } from '../support/secured-broker.js'

// A destination of 3.9.1 with an authorizer, and one other cluster at a time.

let worker: KafkaWorker
let destination: SecuredCluster
let rounds: AclRounds

beforeAll(async () => {
  worker = await KafkaWorker.start()
  destination = new SecuredCluster(await startSecuredBroker({ version: '3.9.1', authorizer: true }), worker)
  rounds = new AclRounds(destination.as(), destination.as())
  await rounds.store.ensure()
})
afterAll(async () => {
  await Promise.all([destination?.close(), worker?.close()])
})

describe('a cluster without an authorizer', () => {
  it.each(['2.8.2', '4.4.0'])('is one note, on either side (%s)', async (version) => {
    const broker = await startTestBroker({ version })
    const other = new Cluster(clientConfigOf(new Map([['bootstrap.servers', broker.bootstrap]])).config)
    try {
      const topic = `none-${version}`
      await rounds.topics(version, { [topic]: 'MIRRORING' })
      expect(await rounds.run(version, { from: other })).toEqual({
        // The guard, and the rule that tells whether it would lock the runner out.
        changes: 2,
        problems: [],
        notes: ['the source has no authorizer: there are no rules to copy'],
      })
      expect(await rounds.run(version, { to: other })).toEqual({
        changes: 0,
        problems: [],
        notes: ['the destination has no authorizer: no rules are copied, and topics are only watched for foreign writes'],
      })
      // Turned off for a while, an authorizer must not make a failover fail.
      await rounds.topics(version, { [topic]: 'STOPPING' })
      expect(await rounds.release(version, topic, { destination: other })).toEqual([
        'the destination has no authorizer now; should it get one again, rules that the mirror made are in force there again',
      ])
      expect(await rounds.release(version, topic)).toEqual([])
      await expect.poll(() => destination.admin.acls()).toEqual([])
    } finally {
      await other.close()
      await broker.close()
    }
  })
})

describe('another cluster', () => {
  let other: SecuredCluster
  beforeAll(async () => {
    const properties = { 'allow.everyone.if.no.acl.found': 'true' }
    other = new SecuredCluster(await startSecuredBroker({ version: '4.4.0', authorizer: true, properties }), worker)
  })
  afterAll(() => other?.close())

  it('has its rules copied, save for those an older destination cannot know', async () => {
    const known = ['ALLOW READ TOPIC PREFIXED h- User:alice *', 'ALLOW WRITE TRANSACTIONAL_ID LITERAL h-tx User:alice *']
    await other.grant(...known, 'ALLOW TWO_PHASE_COMMIT TRANSACTIONAL_ID LITERAL h-tx User:alice *')
    await rounds.topics('h', { 'h-orders': 'MIRRORING' })
    const report = await rounds.run('h', { from: other.as() })
    expect(report.problems).toEqual([
      { item: 'ALLOW TWO_PHASE_COMMIT on transactional id h-tx for User:alice', message: expect.any(String) },
    ])
    expect(await destination.rulesOn('h-')).toEqual([...known, 'DENY WRITE TOPIC LITERAL h-orders User:* *'])
    expect((await rounds.run('h', { from: other.as() })).changes).toBe(0)
  })

  it('has no guard as the only rule of a topic where that would shut readers out', async () => {
    const mayRead = async () => isAuthorized((await authorizedOnTopics(other.as('bob'), ['i-orders'])).get('i-orders') ?? 0, 'READ')
    await other.admin.createTopic('i-orders')
    await rounds.topics('i', { 'i-orders': 'MIRRORING' })
    const to = { from: destination.as(), to: other.as() }
    expect((await rounds.run('i', to)).notes).toEqual([
      'topics without access rules are only watched for foreign writes, as brokers have allow.everyone.if.no.acl.found: i-orders',
    ])
    expect(await mayRead()).toBe(true)
    const guard = 'DENY WRITE TOPIC LITERAL i-orders User:* *'
    await other.grant(guard)
    expect(await mayRead()).toBe(false)
    await other.revoke(guard)
    await other.grant('ALLOW READ TOPIC LITERAL i-orders User:bob *')
    expect((await rounds.run('i', to)).notes).toEqual([])
    expect(await other.rulesOn('i-')).toContain(guard)
    expect(await mayRead()).toBe(true)
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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
      expect(await rounds.release(version, topic, other)).toEqual([
        'the destination has no authorizer now; should it get one again, rules that the mirror made are in force there again',
      ])
      expect(await rounds.release(version, topic)).toEqual([])
      expect(await destination.admin.acls()).toEqual([])
    } finally {
      await other.close()
      await broker.close()
    }
  })
})

describe('a newer source', () => {
  it('has its rules copied, save for those the destination cannot know', async () => {
    const source = new SecuredCluster(await startSecuredBroker({ version: '4.4.0', authorizer: true }), worker)
    try {
      const known = ['ALLOW READ TOPIC PREFIXED h- User:alice *', 'ALLOW WRITE TRANSACTIONAL_ID LITERAL h-tx User:alice *']
      await source.grant(...known, 'ALLOW TWO_PHASE_COMMIT TRANSACTIONAL_ID LITERAL h-tx User:alice *')
      await rounds.topics('h', { 'h-orders': 'MIRRORING' })
      const report = await rounds.run('h', { from: source.as() })
      expect(report.problems).toEqual([
        { item: 'ALLOW TWO_PHASE_COMMIT on transactional id h-tx for User:alice', message: expect.any(String) },
      ])
      expect(await destination.rulesOn('h-')).toEqual([...known, 'DENY WRITE TOPIC LITERAL h-orders User:* *'])
      expect((await rounds.run('h', { from: source.as() })).changes).toBe(0)
    } finally {
      await source.close()
    }
  })
})

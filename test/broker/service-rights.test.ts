import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MirrorAdmin, type MirrorError } from '../../src/service/index.js'
import { KafkaAdmin } from '../support/kafka-admin.js'
import { KafkaWorker } from '../support/kafka-worker.js'
import { javaClientProperties, type SecuredBroker, startSecuredBroker } from '../support/secured-broker.js'
import { eventually } from '../support/wait.js'

// A source and a destination with an authorizer; alice has no right but those that a test grants.

let source: SecuredBroker
let destination: SecuredBroker
let worker: KafkaWorker
let admin: MirrorAdmin

beforeAll(async () => {
  const starting = [
    startSecuredBroker({ version: '3.9.1', authorizer: true }),
    startSecuredBroker({ version: '4.4.0', authorizer: true }),
  ] as const
  await Promise.allSettled(starting)
  source = await starting[0]
  destination = await starting[1]
  worker = await KafkaWorker.start()
  admin = new MirrorAdmin(reach(destination))
})
afterAll(async () => {
  await admin?.close()
  await Promise.all([source?.close(), destination?.close(), worker?.close()])
})

const reach = (broker: SecuredBroker, user: 'alice' | 'admin' = 'alice') => ({
  'bootstrap.servers': broker.bootstrap('SASL_PLAINTEXT'),
  ...javaClientProperties(broker.files, 'SASL_PLAINTEXT', { user }),
})

const tools = (broker: SecuredBroker) => new KafkaAdmin(worker, { bootstrap: broker.bootstrap('PLAINTEXT') })

async function grant(broker: SecuredBroker, resourceType: string, resource: string, ...operations: string[]): Promise<void> {
  for (const operation of operations) await tools(broker).addAcl({ resourceType, resource, operation, principal: 'User:alice' })
}

async function revoke(broker: SecuredBroker, resourceType: string, resource: string, operation: string): Promise<void> {
  await tools(broker).removeAcl({ resourceType, resource, operation, principal: 'User:alice' })
}

async function refusal(promise: Promise<unknown>): Promise<MirrorError> {
  const error = await promise.then(
    () => new Error('it was allowed'),
    (thrown) => thrown,
  )
  expect(error).toMatchObject({ name: 'MirrorError', code: 'RIGHTS_MISSING' })
  return error
}

const missing = (error: MirrorError) =>
  error.message
    .replace(/^.*missing: /, '')
    .split(', ')
    .sort()

describe('createMirror', () => {
  it('lists every right that is missing on both sides, and writes nothing', async () => {
    const error = await refusal(admin.createMirror('m', reach(source)))
    expect(missing(error)).toEqual([
      'ALTER or CLUSTER_ACTION on the cluster or WRITE on transactional ids kafka-mirrors-* of the destination',
      'CREATE on topic __kafka_mirrors of the destination',
      'DESCRIBE on group * of the source',
      'DESCRIBE on the cluster of the destination',
      'DESCRIBE on the cluster of the source',
      'DESCRIBE on topic __kafka_mirrors of the destination',
      'DESCRIBE_CONFIGS on topic __kafka_mirrors of the destination',
      'READ on group __kafka_mirrors of the destination',
      'READ on topic __kafka_mirrors of the destination',
      'WRITE on topic __kafka_mirrors of the destination',
    ])
    expect(Object.keys(await tools(destination).topics())).not.toContain('__kafka_mirrors')
  })

  it('says that the state topic may not be created, in one line', async () => {
    await grant(source, 'CLUSTER', 'kafka-cluster', 'DESCRIBE')
    await grant(source, 'GROUP', '*', 'DESCRIBE')
    await grant(destination, 'CLUSTER', 'kafka-cluster', 'DESCRIBE', 'ALTER', 'IDEMPOTENT_WRITE')
    await grant(destination, 'GROUP', '__kafka_mirrors', 'READ')
    await grant(destination, 'TOPIC', '__kafka_mirrors', 'READ', 'WRITE', 'DESCRIBE', 'DESCRIBE_CONFIGS')
    // Brokers hear of new rules a moment later.
    await eventually(async () => {
      const error = await refusal(admin.createMirror('m', reach(source)))
      expect(error.message).toBe('a right is missing: CREATE on topic __kafka_mirrors of the destination')
      return true
    })
    await grant(destination, 'TOPIC', '__kafka_mirrors', 'CREATE')
    await eventually(() => admin.createMirror('m', reach(source)))
  })

  it('wants the right to change access rules only where somebody lists rules to be taken', async () => {
    await revoke(destination, 'CLUSTER', 'kafka-cluster', 'ALTER')
    await grant(destination, 'CLUSTER', 'kafka-cluster', 'CLUSTER_ACTION')
    await eventually(async () => {
      const listed = { ...reach(source), 'mirror.acl.include': 'topic' }
      const error = await refusal(admin.createMirror('x', listed, { dryRun: true }))
      expect(error.message).toBe('a right is missing: ALTER on the cluster of the destination')
      return true
    })
    await admin.createMirror('x', reach(source), { dryRun: true })
    await admin.createMirror('x', { ...reach(source), 'mirror.acl.include': '' }, { dryRun: true })
    await grant(destination, 'CLUSTER', 'kafka-cluster', 'ALTER')
  })

  it('says the login is refused, not that the source is gone', async () => {
    const wrong = { ...reach(source), ...javaClientProperties(source.files, 'SASL_PLAINTEXT', { user: 'alice', password: 'wrong' }) }
    await expect(admin.createMirror('w', wrong)).rejects.toMatchObject({
      message: expect.stringContaining('the source of mirror w refuses the login'),
    })
    await expect(admin.alterMirror('m', { set: wrong })).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' })
    expect((await admin.describeMirrors(['m'])).mirrors[0]?.configs['sasl.jaas.config']).toBe('[hidden]')
  })
})

describe('addTopicsToMirror', () => {
  it('names the rights each topic lacks, and adds the others', async () => {
    for (const topic of ['good', 'half', 'hidden']) await tools(source).createTopic(topic)
    await grant(source, 'TOPIC', 'good', 'READ', 'DESCRIBE_CONFIGS')
    await grant(source, 'TOPIC', 'half', 'DESCRIBE')
    await grant(destination, 'TOPIC', 'good', 'READ', 'WRITE', 'DELETE', 'ALTER_CONFIGS', 'DESCRIBE_CONFIGS')
    await eventually(async () => {
      const { topics } = await admin.addTopicsToMirror({ good: 'm', half: 'm', hidden: 'm' })
      expect(topics.map((result) => [result.topic, result.ok || result.error.message])).toEqual([
        ['good', 'a right is missing: CREATE on topic good of the destination'],
        [
          'half',
          `rights are missing: ${[
            ...['READ', 'DESCRIBE_CONFIGS'].map((right) => `${right} on topic half of the source`),
            ...['READ', 'WRITE', 'DELETE', 'DESCRIBE', 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS'].map(
              (right) => `${right} on topic half of the destination`,
            ),
          ].join(', ')}`,
        ],
        ['hidden', 'there is no topic hidden on the source of mirror m'],
      ])
      return true
    })
    await grant(destination, 'TOPIC', 'good', 'CREATE')
    await eventually(async () => (await admin.addTopicsToMirror({ good: 'm' })).topics[0]?.ok)
    expect((await admin.describeMirrors(['m'])).partitions).toMatchObject([{ topic: 'good', sourceOffset: 0n, destinationOffset: 0n }])
  })
})

describe('other verbs', () => {
  it('say what is missing when the state may not be read', async () => {
    const bob = new MirrorAdmin({
      'bootstrap.servers': destination.bootstrap('SASL_PLAINTEXT'),
      ...javaClientProperties(destination.files, 'SASL_PLAINTEXT', { user: 'bob' }),
    })
    try {
      const error = await refusal(bob.listMirrors())
      expect(error.message).toContain('rights are missing on topic __kafka_mirrors')
      await refusal(bob.removeTopicsFromMirror('m', ['good']))
      await refusal(bob.setThrottle({ kind: 'broker', broker: 1 }, { rate: 1 }))
    } finally {
      await bob.close()
    }
  })

  it('removes a topic with the rights an operator has', async () => {
    expect((await admin.removeTopicsFromMirror('m', ['good'])).topics).toMatchObject([{ ok: true, how: 'confirmed' }])
  })
})

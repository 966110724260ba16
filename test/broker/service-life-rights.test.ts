import { afterAll, beforeAll, expect, test } from 'vitest'
import { MirrorAdmin } from '../../src/service/index.js'
import { type AclRounds, type SecuredCluster, startSecuredClusters, type User } from '../support/acl-rounds.js'
import { javaClientProperties } from '../support/secured-broker.js'

const admins: MirrorAdmin[] = []
let clusters: Awaited<ReturnType<typeof startSecuredClusters>>
let source: SecuredCluster
let destination: SecuredCluster
let rounds: AclRounds

beforeAll(async () => {
  clusters = await startSecuredClusters()
  ;({ source, destination, rounds } = clusters)
})
afterAll(async () => {
  await Promise.all(admins.map((admin) => admin.close()))
  await clusters?.close()
})

const propertiesOf = ({ broker }: SecuredCluster, user: User) => ({
  'bootstrap.servers': broker.bootstrap('SASL_PLAINTEXT'),
  ...javaClientProperties(broker.files, 'SASL_PLAINTEXT', { user }),
})

/** What an operator has who is this user on the destination. */
function adminAs(user: User): MirrorAdmin {
  const admin = new MirrorAdmin(propertiesOf(destination, user))
  admins.push(admin)
  return admin
}

test('a failover gives clients the rights that were withheld, and is no failover while the guard stays', async () => {
  await source.admin.createTopic('orders')
  await source.grant('ALLOW WRITE TOPIC LITERAL orders User:alice *')
  await adminAs('admin').createMirror('m', propertiesOf(source, 'admin'))
  const [added] = (await adminAs('admin').addTopicsToMirror({ orders: 'm' })).topics
  expect(added).toMatchObject({ ok: true })
  expect((await rounds.run('m')).problems).toEqual([])
  await expect(destination.write('alice', 'orders')).rejects.toThrow(/AuthorizationException/)

  // An operator who may do everything but change rules: nothing is half done behind his back.
  await destination.grant(
    'ALLOW ALL TOPIC LITERAL __kafka_mirrors User:bob *',
    'ALLOW ALL TOPIC LITERAL orders User:bob *',
    'ALLOW ALL GROUP LITERAL __kafka_mirrors User:bob *',
    'ALLOW DESCRIBE CLUSTER LITERAL kafka-cluster User:bob *',
  )
  const refused = await adminAs('bob').removeTopicsFromMirror('m', ['orders'])
  expect(refused.topics).toMatchObject([{ ok: false, error: { code: 'RIGHTS_MISSING', message: 'topic orders is still read-only' } }])
  await expect(destination.write('alice', 'orders')).rejects.toThrow(/AuthorizationException/)
  expect((await adminAs('bob').describeMirrors(['m'])).partitions).toMatchObject([{ topic: 'orders', state: 'STOPPING' }])

  const removed = await adminAs('admin').removeTopicsFromMirror('m', ['orders'])
  expect(removed).toMatchObject({ topics: [{ ok: true, how: 'confirmed' }], warnings: [] })
  await destination.write('alice', 'orders')
  expect((await destination.rulesOn('orders')).filter((rule) => !rule.includes('bob'))).toEqual([
    'ALLOW WRITE TOPIC LITERAL orders User:alice *',
  ])
  expect(await adminAs('admin').deleteMirror('m')).toMatchObject({ deleted: true })
  await destination.write('alice', 'orders')
})

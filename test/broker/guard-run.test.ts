import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatBinding, guardOf } from '../../src/mirror/acl-bindings.js'
import { CreateAcls } from '../../src/protocol/index.js'
import { type SecuredCluster, startSecuredClusters } from '../support/acl-rounds.js'
import { DESTINATION_PROPERTIES, Mirroring } from '../support/mirroring.js'
import { runProgram, startProgram } from '../support/program.js'
import { TcpProxy } from '../support/proxy.js'
import type { RunnerProcess } from '../support/runner-process.js'
import { eventually } from '../support/wait.js'
import { writeLog } from '../support/write-log.js'

/** A runner in a process of its own, with a login of its own on both sides: on the source the rights the README lists. */
const RIGHTS_OF_RUNNER = [
  ...['READ', 'DESCRIBE', 'DESCRIBE_CONFIGS'].map((right) => `ALLOW ${right} TOPIC PREFIXED shop. User:bob *`),
  'ALLOW DESCRIBE GROUP LITERAL * User:bob *',
  'ALLOW DESCRIBE CLUSTER LITERAL kafka-cluster User:bob *',
]
/** A producer that may write to no topic at all is refused its producer id: CLUSTER_AUTHORIZATION_FAILED. */
const REFUSED = /AuthorizationException/

let proxy: TcpProxy
let clusters: Awaited<ReturnType<typeof startSecuredClusters>>
let source: SecuredCluster
let destination: SecuredCluster
let mirroring: Mirroring
let runner: RunnerProcess

beforeAll(async () => {
  proxy = await TcpProxy.listen()
  clusters = await startSecuredClusters({ destination: { proxy, properties: DESTINATION_PROPERTIES } })
  ;({ source, destination } = clusters)
  const open = (cluster: SecuredCluster) => ({
    broker: cluster.broker.broker,
    admin: cluster.admin,
    bootstrap: cluster.broker.bootstrap('PLAINTEXT'),
  })
  mirroring = new Mirroring(
    { source: open(source), destination: open(destination), worker: clusters.worker },
    { sourceBootstrap: () => source.broker.bootstrap('SASL_PLAINTEXT'), config: source.login('bob') },
  )
  await source.grant(...RIGHTS_OF_RUNNER, 'ALLOW WRITE TOPIC PREFIXED shop. User:alice *')
  // What the destination gave its own clients before there was a mirror.
  await destination.grant('ALLOW WRITE TOPIC PREFIXED shop. User:bob *')
  await mirroring.create()
  runner = await mirroring.startRunner({ bootstrap: proxy.address, properties: destination.login('runner') })
})
afterAll(async () => {
  await mirroring?.close()
  await clusters?.close()
  await proxy?.close()
})

async function added(topic: string): Promise<void> {
  await source.admin.createTopic(topic)
  await writeMore(topic)
  await mirroring.add(topic)
}

const writeMore = (topic: string) => writeLog(clusters.worker, { bootstrap: source.broker.bootstrap('PLAINTEXT') }, { topic, records: 10 })

const verb = (name: string, ...words: string[]) => [name, '--bootstrap-server', destination.broker.bootstrap('PLAINTEXT'), ...words]
const remove = (topic: string) => verb('remove', '--mirror', 'm', '--topic', topic)

/** Topics that the destination refuses to have written, as `describe` tells. */
async function guarded(): Promise<string[]> {
  const { stdout } = await runProgram('verbs', verb('describe', '--json'))
  return JSON.parse(stdout).mirrors[0].readOnly.guarded
}

async function refused(topic: string): Promise<void> {
  for (const user of ['alice', 'bob'] as const) await expect(destination.write(user, topic)).rejects.toThrow(REFUSED)
}

/** At once: nothing waits here. */
async function served(topic: string): Promise<void> {
  for (const user of ['alice', 'bob'] as const) await destination.write(user, topic)
  expect((await destination.rulesOn(topic)).filter((rule) => rule.startsWith('DENY'))).toEqual([])
}

test('a topic is read-only for ordinary principals while a runner copies it, and theirs the moment it is removed', async () => {
  await added('shop.orders')
  await added('shop.paid')
  await mirroring.caughtUp('shop.orders')
  await eventually(async () => (await guarded()).length === 2)
  await eventually(async () => (await destination.rulesOn('shop.')).filter((rule) => rule.startsWith('DENY')).length === 2)
  await refused('shop.orders')
  await writeMore('shop.orders')
  await mirroring.caughtUp('shop.orders')
  expect((await runProgram('verbs', remove('shop.orders'))).exitCode).toBe(0)
  await served('shop.orders')
  await refused('shop.paid')
  expect(await guarded()).toEqual(['shop.paid'])
  const rules = await destination.admin.acls()
  expect((await runProgram('verbs', remove('shop.orders'))).exitCode).toBe(0)
  await expect.poll(() => destination.admin.acls()).toEqual(rules)
  await served('shop.orders')
  // Somebody else's rule of that form is left to them, and told of.
  const foreign = 'DENY WRITE TOPIC LITERAL shop.orders User:* *'
  await destination.grant(foreign)
  const { exitCode, stderr } = await runProgram('verbs', remove('shop.orders'))
  const told = 'topic shop.orders stays read-only by DENY WRITE on topic shop.orders for User:*'
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining(told)])
  await destination.revoke(foreign)
})

test('so it is with a runner that was killed in the middle of setting the guard, which brokers hear of only when a removal is under way', async () => {
  proxy.gate = ({ apiKey }) => {
    if (apiKey !== CreateAcls.key) return 'forward'
    void runner.kill()
    return 'hold'
  }
  // Whether a request is to be held back is decided from the beginning of its connection.
  proxy.cut()
  await added('shop.late')
  await eventually(() => proxy.late.length > 0 && !runner.running)
  const guard = formatBinding(guardOf('shop.late'))
  const known = async () => (await mirroring.state()).mirror('m')!
  expect((await known()).acls.get(guard)).toMatchObject({ what: 'guard', pending: true })
  const removal = startProgram('verbs', remove('shop.late'))
  await eventually(async () => (await known()).topics.get('shop.late')!.desired === 'STOPPING')
  for (const late of proxy.late) await late.deliverLate()
  expect((await removal.ended).exitCode).toBe(0)
  await served('shop.late')
  expect((await known()).acls.get(guard)).toBeUndefined()
})

test('and with the runner gone', async () => {
  await refused('shop.paid')
  expect((await runProgram('verbs', remove('shop.paid'))).exitCode).toBe(0)
  await served('shop.paid')
  // The rule that bore on all of them is back as it was, and nobody needs to know any more whether the runner is a super user.
  const copied = ['DESCRIBE', 'DESCRIBE_CONFIGS', 'READ'].map((right) => `ALLOW ${right} TOPIC PREFIXED shop. User:bob *`)
  const writing = ['alice', 'bob'].map((user) => `ALLOW WRITE TOPIC PREFIXED shop. User:${user} *`)
  expect((await destination.admin.acls()).filter((rule) => /shop|super-user-check/.test(rule)).sort()).toEqual([...copied, ...writing])
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  alterClientQuotas,
  createPartitions,
  createTopics,
  deleteRecords,
  deleteTopics,
  describeClientQuotas,
  describeConfigs,
  describeProducers,
  incrementalAlterConfigs,
  initProducerId,
  listOffsets,
  offsetForLeaderEpoch,
  type Result,
  unwrap,
  writeTxnMarkers,
} from '../../src/client/admin.js'
import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import type { KafkaBroker } from '../../src/playground/kafka-broker.js'
import { startTestBroker } from '../support/brokers.js'

const errorsIn = (results: Iterable<Result<unknown>>) =>
  [...results].map((result) => (result.ok ? 'ok' : (result.error as { kafkaName?: string }).kafkaName))

describe.each(['4.4.0', '3.9.1'])('Kafka %s', (version) => {
  let broker: KafkaBroker
  let cluster: Cluster
  beforeAll(async () => {
    broker = await startTestBroker({ version })
    cluster = new Cluster(clientConfigOf(new Map([['bootstrap.servers', broker.bootstrap]])).config)
  })
  afterAll(async () => {
    await cluster?.close()
    await broker?.close()
  })

  test('topics: one item’s failure does not stop the others', async () => {
    const created = await createTopics(cluster, [
      { name: 'a', partitions: 3, configs: new Map([['retention.ms', '12345']]) },
      { name: 'bad name' },
      { name: 'b', replicationFactor: 9 },
    ])
    expect(errorsIn(created.values())).toEqual(['ok', 'INVALID_TOPIC_EXCEPTION', 'INVALID_REPLICATION_FACTOR'])
    expect(unwrap(created.get('a')!)).toMatchObject({ partitions: 3, replicationFactor: 1 })
    // Brokers learn of it a moment after the controller.
    await expect.poll(async () => (await cluster.topics(['a'])).get('a')?.topicId).toBe(unwrap(created.get('a')!).topicId)
    expect(errorsIn((await createTopics(cluster, [{ name: 'a' }, { name: 'c' }], { validateOnly: true })).values())).toEqual([
      'TOPIC_ALREADY_EXISTS',
      'ok',
    ])
    const grown = await createPartitions(
      cluster,
      new Map([
        ['a', 4],
        ['nope', 4],
      ]),
    )
    expect(errorsIn(grown.values())).toEqual(['ok', 'UNKNOWN_TOPIC_OR_PARTITION'])
    const known = (await cluster.topics(['a'])).get('a')!.topicId
    const byId = async (topicId: string) => errorsIn((await deleteTopics(cluster, ['a'], { ids: new Map([['a', topicId]]) })).values())
    expect(await byId('11111111-1111-4111-8111-111111111111')).toEqual(['UNKNOWN_TOPIC_ID'])
    expect(await byId(known)).toEqual(['ok'])
    expect(errorsIn((await createTopics(cluster, [{ name: 'd' }])).values())).toEqual(['ok'])
    expect(errorsIn((await deleteTopics(cluster, ['nope', 'd'])).values())).toEqual(['UNKNOWN_TOPIC_OR_PARTITION', 'ok'])
    await expect.poll(async () => (await cluster.topics()).has('a')).toBe(false)
  })

  test('settings: only what is named changes', async () => {
    await createTopics(cluster, [{ name: 'settings', configs: new Map([['retention.ms', '1000']]) }])
    const overrides = async () => {
      const [topic] = await describeConfigs(cluster, [{ type: 'topic', name: 'settings' }])
      return Object.fromEntries(unwrap(topic!).flatMap(({ name, value, source }) => (source === 'topic' ? [[name, value]] : [])))
    }
    const resource = { type: 'topic', name: 'settings' } as const
    const changed = await incrementalAlterConfigs(cluster, [
      { resource, set: new Map([['cleanup.policy', 'compact']]) },
      { resource: { type: 'topic', name: 'nope' }, set: new Map([['cleanup.policy', 'compact']]) },
    ])
    expect(errorsIn(changed)).toEqual(['ok', 'UNKNOWN_TOPIC_OR_PARTITION'])
    await expect.poll(overrides).toEqual({ 'retention.ms': '1000', 'cleanup.policy': 'compact' })
    expect(errorsIn(await incrementalAlterConfigs(cluster, [{ resource, set: new Map([['cleanup.policy', 'bad']]) }]))).toEqual([
      'INVALID_CONFIG',
    ])
    await incrementalAlterConfigs(cluster, [{ resource, unset: ['retention.ms'] }])
    await expect.poll(overrides).toEqual({ 'cleanup.policy': 'compact' })
    const [ofBroker, ofTopic] = await describeConfigs(cluster, [{ type: 'broker', name: '1' }, resource])
    expect(unwrap(ofBroker!).find(({ name }) => name === 'node.id')).toMatchObject({ value: '1', source: 'static', readOnly: true })
    expect(unwrap(ofTopic!).length).toBeGreaterThan(20)
  })

  test('partitions: bounds, producers, epochs, deletion, in the order of the questions', async () => {
    await createTopics(cluster, [{ name: 'partitions', partitions: 2 }])
    const ends = () =>
      listOffsets(
        cluster,
        [0, 1].map((partition) => ({ topic: 'partitions', partition, at: 'latest' })),
      )
    await expect.poll(async () => errorsIn(await ends())).toEqual(['ok', 'ok'])
    const producer = await initProducerId(cluster)
    await writeTxnMarkers(cluster, { ...producer, topic: 'partitions', partition: 1, coordinatorEpoch: 5, count: 7 })
    const stale = writeTxnMarkers(cluster, { ...producer, topic: 'partitions', partition: 1, coordinatorEpoch: 4, count: 1 })
    await expect(stale).rejects.toMatchObject({ kafkaName: 'TRANSACTION_COORDINATOR_FENCED' })
    const at = (partition: number) => ({ topic: 'partitions', partition })
    const bounds = await listOffsets(cluster, [
      { ...at(1), at: 'latest' },
      { ...at(0), at: 'latest' },
      { ...at(1), at: 'lastStable' },
      { ...at(1), at: 'earliest' },
      { ...at(9), at: 'latest' },
      { topic: 'nope', partition: 0, at: 'latest' },
    ])
    expect(bounds.map((result) => (result.ok ? result.value.offset : (result.error as { kafkaName?: string }).kafkaName))).toEqual([
      7n,
      0n,
      7n,
      0n,
      'UNKNOWN_TOPIC_OR_PARTITION',
      'UNKNOWN_TOPIC_OR_PARTITION',
    ])
    const [empty, producers] = await describeProducers(cluster, [at(0), at(1)])
    expect(unwrap(empty!)).toEqual([])
    expect(unwrap(producers!)).toMatchObject([{ producerId: producer.producerId, lastSequence: -1, coordinatorEpoch: 5 }])
    expect(await deleteRecords(cluster, [{ ...at(1), beforeOffset: 3n }])).toEqual([{ ok: true, value: 3n }])
    expect(errorsIn(await deleteRecords(cluster, [{ ...at(1), beforeOffset: 99n }]))).toEqual(['OFFSET_OUT_OF_RANGE'])
    expect(await offsetForLeaderEpoch(cluster, [{ ...at(1), leaderEpoch: 0 }])).toMatchObject([
      { ok: true, value: { leaderEpoch: 0, endOffset: 7n } },
    ])
  })

  test('transactional producers and quotas', async () => {
    const first = await initProducerId(cluster, { transactionalId: 'mine' })
    const second = await initProducerId(cluster, { transactionalId: 'mine' })
    expect(second).toEqual({ producerId: first.producerId, producerEpoch: first.producerEpoch + 1 })
    const entity = new Map([['client-id', 'broker-1-fetcher-0-mirror-m']])
    await alterClientQuotas(cluster, entity, new Map([['consumer_byte_rate', 1024]]))
    const quotas = async () => (await describeClientQuotas(cluster, entity)).map((entry) => Object.fromEntries(entry.quotas))
    await expect.poll(quotas).toEqual([{ consumer_byte_rate: 1024 }])
    await alterClientQuotas(cluster, entity, new Map([['consumer_byte_rate', undefined]]))
    await expect.poll(quotas).toEqual([])
    await expect(alterClientQuotas(cluster, entity, new Map([['nonsense', 1]]))).rejects.toMatchObject({ kafkaName: 'INVALID_REQUEST' })
  })

  test('a broker that restarts is found again by the same client', { timeout: 90_000 }, async () => {
    const dedicated = await cluster.dedicated(1, { clientId: 'mine' })
    await broker.restart()
    expect(dedicated.open).toBe(false)
    expect(await cluster.clusterId()).toBe(broker.clusterId)
    const again = await cluster.dedicated(1)
    expect(again.open).toBe(true)
    await again.close()
  })
})

import { afterAll, beforeAll, expect, it } from 'vitest'
import { commitOffsets } from '../../src/client/admin.js'
import { Cluster } from '../../src/client/cluster.js'
import { clientConfigOf } from '../../src/client/config.js'
import { syncGroups } from '../../src/sync/groups/sync-groups.js'
import { useBrokers } from '../support/brokers.js'
import { KafkaGroups } from '../support/kafka-groups.js'
import { writeLog } from '../support/kafka-log.js'
import { eventually } from '../support/wait.js'

/** Brokers that ask for one group's offsets at a time, list no types, and whose groups are the old coordinator's. */
const kafka = useBrokers({ source: { version: '2.8.2' }, destination: { version: '3.9.1' } })
let source: KafkaGroups
let destination: KafkaGroups
let clusters: { readonly source: Cluster; readonly destination: Cluster }

beforeAll(() => {
  const connect = (bootstrap: string) => new Cluster(clientConfigOf(new Map([['bootstrap.servers', bootstrap]])).config)
  source = new KafkaGroups(kafka.worker, kafka.source)
  destination = new KafkaGroups(kafka.worker, kafka.destination)
  clusters = { source: connect(kafka.source.bootstrap), destination: connect(kafka.destination.bootstrap) }
})
afterAll(() => Promise.all([clusters?.source.close(), clusters?.destination.close()]))

const round = () => syncGroups({ ...clusters, topics: new Set(['t']), include: ['.*'], exclude: [] })

it('positions are kept from 2.8 to 3.9: of idle, hand-made and living groups, and not while a group lives on the destination', async () => {
  for (const side of [kafka.source, kafka.destination]) {
    await side.admin.createTopic('t', { partitions: 2 })
    // KRaft's preview in 2.8 has no producer ids.
    await writeLog(
      kafka.worker,
      { bootstrap: side.bootstrap, properties: { 'enable.idempotence': 'false' } },
      { topic: 't', records: 20, partitions: 2, style: 'plain' },
    )
  }
  await source.commit({
    made: [
      { topic: 't', partition: 0, offset: 3n, metadata: 'note' },
      { topic: 't', partition: 1, offset: 0n },
    ],
    alive: [{ topic: 't', partition: 0, offset: 4n }],
  })
  const reading = await source.join('reading', 't')
  await eventually(async () => Object.values((await source.positions('reading')).reading!).every(({ offset }) => offset === 10n))
  const living = await destination.join('alive', 't')
  await eventually(async () => Object.values((await destination.positions('alive')).alive!).every(({ offset }) => offset === 10n))
  const note = 'left alone, since they have members on the destination: alive'
  expect(await round()).toEqual({ changes: 4, problems: [], notes: [note] })
  expect(await destination.positions('made', 'reading', 'alive')).toMatchObject({
    made: { 't-0': { offset: 3n, metadata: 'note', leaderEpoch: -1 }, 't-1': { offset: 0n } },
    reading: { 't-0': { offset: 10n }, 't-1': { offset: 10n } },
    alive: { 't-0': { offset: 10n } },
  })
  expect(await round()).toEqual({ changes: 0, problems: [], notes: [note] })
  const position = { topic: 't', partition: 0, offset: 1n, metadata: '' }
  expect(await commitOffsets(clusters.destination, [{ groupId: 'alive', positions: [position] }])).toMatchObject([
    { ok: true, value: [{ ok: false, error: { kafkaName: 'UNKNOWN_MEMBER_ID' } }] },
  ])
  await living.leave()
  await reading.leave()
  await eventually(async () => (await destination.list()).alive?.state === 'Empty')
  expect(await round()).toEqual({ changes: 1, problems: [], notes: [] })
  expect((await destination.positions('alive')).alive).toMatchObject({ 't-0': { offset: 4n }, 't-1': { offset: 10n } })
})

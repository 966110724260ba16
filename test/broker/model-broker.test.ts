import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Cluster } from '../../src/client/cluster.js'
import { arbitraryRounds, sourceEvents } from '../support/arbitrary-source.js'
import { writeBatch } from '../support/batch-writer.js'
import { type TestBroker, useBrokers } from '../support/brokers.js'
import { readLog } from '../support/kafka-log.js'
import { consumedText, readText } from '../support/log-text.js'
import { DESTINATION_PROPERTIES, useMirroring } from '../support/mirroring.js'
import { type LogEntry, ModelBroker } from '../support/model-broker.js'
import { RequestMaker, requestPlans } from '../support/model-requests.js'
import { propertyRuns, seedOf } from '../support/random.js'
import { type RealPartition, realPartitions } from '../support/real-partition.js'
import { plantLog } from '../support/segments.js'
import { type SourceEvent, SourceLog } from '../support/source-log.js'
import { copyTranslated } from '../support/translated-copy.js'
import { eventually } from '../support/wait.js'

const brokers = useBrokers({ destination: { properties: DESTINATION_PROPERTIES } })
const mirroring = useMirroring(brokers)
const both = () => [brokers.source, brokers.destination]

const HOUR = 3_600_000n
const KEPT = { 'retention.ms': '-1', 'message.timestamp.after.max.ms': String(2n ** 63n - 1n) }
const STRICT = {
  ...KEPT,
  'cleanup.policy': 'compact',
  // Nothing is cleaned before it is read: the times of the records are old, and roll segments.
  'min.compaction.lag.ms': String(2n ** 63n - 1n),
  'max.message.bytes': '1000',
  'message.timestamp.after.max.ms': String(HOUR),
}
const RUNS = propertyRuns(20)
/** Also for the runs that find the smallest counterexample. */
const PARTITIONS = RUNS.numRuns + 25
const LOGS = 20

const clusters: Cluster[] = []
afterAll(async () => {
  await Promise.all(clusters.map((cluster) => cluster.close()))
})

/** A new topic's partitions, each one's on both brokers. */
async function pairs(topic: string, partitions: number, configs: Record<string, string>): Promise<RealPartition[][]> {
  const sides = await Promise.all(both().map((broker) => realPartitions(broker, topic, { partitions, configs })))
  clusters.push(...sides.map(({ cluster }) => cluster))
  return Array.from({ length: partitions }, (_, i) => sides.map((side) => side.partitions[i]!))
}

interface Expected {
  readonly entries: readonly LogEntry[]
  readonly start: bigint
}

/** What Kafka's own consumer sees in the first partitions of a topic. */
async function expectLogs(cluster: TestBroker, topic: string, logs: readonly Expected[], isolations = ISOLATIONS): Promise<void> {
  for (const isolation of isolations) {
    const found = await readLog(brokers.worker, cluster, { topic, isolation, content: 'hash' })
    for (const [i, { entries, start }] of logs.entries())
      expect(readText(found[i]!.records), `${topic}-${i}, ${isolation}, ${cluster.broker.version}`).toEqual(consumedText(start, entries))
  }
}
const ISOLATIONS: readonly ('read_committed' | 'read_uncommitted')[] = ['read_committed', 'read_uncommitted']

test.each([
  ['any', KEPT, {}],
  ['strict', STRICT, { compacted: true, maxMessageBytes: 1_000, latestTimestamp: BigInt(Date.now()) + HOUR }],
] as const)('brokers answer and keep what the model does: a topic for %s records', async (topic, configs, options) => {
  const partitions = await pairs(topic, PARTITIONS, configs)
  const models: ModelBroker[] = []
  await fc.assert(
    fc.asyncProperty(requestPlans, async (plans) => {
      const model = new ModelBroker(options)
      const real = partitions[models.push(model) - 1]
      if (real === undefined) throw new Error(`the ${PARTITIONS} partitions are used up`)
      const maker = new RequestMaker()
      for (const plan of plans) {
        const made = maker.next(plan)
        if (made === undefined) continue
        const { request } = made
        if (request.kind === 'append') {
          const answer = model.append(request.bytes)
          expect(await Promise.all(real.map((one) => one.append(request.bytes))), JSON.stringify(plan)).toEqual([answer, answer])
          if (answer.errorCode === 0) made.landed()
        } else {
          const [code] = Array.from({ length: request.count }, () => model.mark(request.marker))
          const answers = await Promise.all(real.map((one) => one.mark(request.marker, request.count)))
          expect(answers, JSON.stringify(plan)).toEqual([code, code])
          if (code === 0) made.landed()
        }
      }
      const producers = model.describeProducers()
      expect(await Promise.all(real.map((one) => one.describeProducers()))).toEqual([producers, producers])
    }),
    RUNS,
  )
  const logs = models.map(({ entries }) => ({ entries, start: 0n }))
  await Promise.all(both().map((broker) => expectLogs(broker, topic, logs)))
})

test('brokers do not look at the offsets of single records that are not compressed, as the model does', async () => {
  const [real] = await pairs('unlooked', 1, KEPT)
  const record = { timestamp: 1n, key: null, value: null, headers: [] }
  const bytes = writeBatch({
    baseOffset: 0n,
    records: [
      [0, record],
      [0, record],
    ],
    lastOffsetDelta: 1,
  })
  expect(new ModelBroker().append(bytes).errorCode).not.toBe(0)
  expect((await Promise.all(real!.map((one) => one.append(bytes)))).map(({ errorCode }) => errorCode)).toEqual([0, 0])
})

/** Logs of all kinds, the first a long one. None ends in a hole: there consumers would wait for ever. */
function sampleLogs(starts: fc.Arbitrary<bigint>, seed: number): SourceLog[] {
  const long = fc.array(sourceEvents, { minLength: 10, maxLength: 10 }).map((many) => [...many.flat(), ...ENDED])
  const [first] = fc.sample(long, { numRuns: 1, seed })
  const logs = fc
    .sample(fc.tuple(starts, sourceEvents), { numRuns: LOGS * 3, seed })
    .map(([start, events]) => new SourceLog(start, events))
    .filter((log) => log.stableEnd === log.lastStableOffset)
  return [new SourceLog(0n, first!), ...logs].slice(0, LOGS)
}

/** No transaction stays open. */
const ENDED: SourceEvent[] = [
  ...[1, 2, 3].map((producer) => ({ kind: 'end' as const, producer, commit: true })),
  { kind: 'batch', records: [{ timestamp: 1n, key: 'last', value: 'last' }] },
]

const wholeLog = (log: SourceLog): Expected => ({ entries: log.entries(log.start), start: log.start })

test('generated source logs are the same on real brokers once they are translated', async () => {
  const seed = seedOf('translated logs')
  const logs = sampleLogs(fc.constant(0n), seed)
  const partitions = await pairs('translated', LOGS, KEPT)
  const rounds = fc.sample(arbitraryRounds, { numRuns: LOGS, seed })
  const copy = (log: SourceLog, real: RealPartition, i: number) => {
    let end = 0n
    const target = {
      logEndOffset: () => end,
      append: async (bytes: Buffer) => {
        const answer = await real.append(bytes)
        end = answer.baseOffset + BigInt(bytes.readInt32BE(57))
        return answer
      },
      mark: async (count: number) => {
        expect(await real.mark({ producerId: 77n, producerEpoch: 0, coordinatorEpoch: 3 }, count)).toBe(0)
        end += BigInt(count)
      },
    }
    return copyTranslated(log, target, { producerId: 77n, maxMessageBytes: 1_000_000, rounds: rounds[i]! })
  }
  await Promise.all(logs.flatMap((log, i) => partitions[i]!.map((real) => copy(log, real, i))))
  await Promise.all(both().map((broker) => expectLogs(broker, 'translated', logs.map(wholeLog))))
})

test('Kafka’s consumer reads generated source logs as the generator says, and the mirror’s copies of them', async () => {
  const logs = sampleLogs(fc.constantFrom(0n, 5n), seedOf('planted logs'))
  await Promise.all(
    both().map(async (cluster, side) => {
      const topic = TOPICS[side]!
      await cluster.admin.createTopic(topic, { partitions: LOGS, configs: { 'retention.ms': '-1' } })
      await cluster.broker.stop()
      for (const [partition, { start, batches }] of logs.entries())
        await plantLog(cluster.broker, topic, partition, start, Buffer.concat(batches.map(({ bytes }) => ofFirstEpoch(bytes))))
      await cluster.broker.start()
      await expectLogs(cluster, topic, logs.map(wholeLog), ['read_committed'])
    }),
  )
  await mirroring.create()
  await mirroring.startRunner()
  await mirroring.add(TOPICS[0])
  const caughtUp = async () => {
    const ends = (await brokers.destination.admin.offsets(TOPICS[0])).map(({ endOffset }) => endOffset)
    expect(ends).toEqual(logs.map(({ stableEnd }) => stableEnd))
    return true
  }
  await eventually(caughtUp, { within: 60_000 })
  await expectLogs(brokers.destination, TOPICS[0], logs.map(wholeLog))
})
const TOPICS = ['planted', 'planted-newer'] as const

/** Leader epochs of a broker that has seen only one: consumers refuse logs from the future. */
function ofFirstEpoch(batch: Buffer): Buffer {
  const bytes = Buffer.from(batch)
  if (bytes[16] === 2) bytes.writeInt32BE(0, 12)
  return bytes
}

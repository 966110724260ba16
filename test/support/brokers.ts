import { afterAll, beforeAll } from 'vitest'
import { type BrokerOptions, type KafkaBroker, startBroker } from '../../src/playground/kafka-broker.js'
import { KafkaAdmin } from './kafka-admin.js'
import { KafkaWorker, TEST_ENV } from './kafka-worker.js'

/** A single-node cluster of a test file with Kafka's own admin client for it. */
export interface TestBroker {
  readonly broker: KafkaBroker
  readonly admin: KafkaAdmin
  /** How Kafka's own clients and our tool reach it. */
  readonly bootstrap: string
}

export interface TestBrokers {
  /** The cluster to read. */
  readonly source: TestBroker
  /** The cluster to write. */
  readonly destination: TestBroker
  /** Kafka's own clients. */
  readonly worker: KafkaWorker
}

/** Retention is looked at often, so that records which would be deleted are deleted while a test runs. */
const PROPERTIES = { 'log.retention.check.interval.ms': '5000', 'log.initial.task.delay.ms': '1000' }

/**
 * Starts two clusters (3.9.1 and 4.4.0 unless told) and a Java worker before the tests of a file, and always stops them
 * after. The result is filled once the tests run.
 */
export function useBrokers(options: { source?: Partial<BrokerOptions>; destination?: Partial<BrokerOptions> } = {}): TestBrokers {
  const started: { source?: TestBroker; destination?: TestBroker; worker?: KafkaWorker } = {}
  const closing: { close(): Promise<void> }[] = []
  beforeAll(async () => {
    const source = start({ version: '3.9.1', ...options.source }, closing)
    const destination = start({ version: '4.4.0', ...options.destination }, closing)
    const worker = KafkaWorker.start().then((it) => keep(it, closing))
    await settled([source, destination, worker])
    started.worker = await worker
    started.source = testBroker(await source, started.worker)
    started.destination = testBroker(await destination, started.worker)
  })
  afterAll(() => closeAll(closing))
  return lazily(started) as TestBrokers
}

/** As useBrokers, with one cluster. */
export function useBroker(options: Partial<BrokerOptions> = {}): TestBroker & { readonly worker: KafkaWorker } {
  const started: Partial<TestBroker> & { worker?: KafkaWorker } = {}
  const closing: { close(): Promise<void> }[] = []
  beforeAll(async () => {
    const broker = start({ version: '4.4.0', ...options }, closing)
    const worker = KafkaWorker.start().then((it) => keep(it, closing))
    await settled([broker, worker])
    Object.assign(started, testBroker(await broker, await worker), { worker: await worker })
  })
  afterAll(() => closeAll(closing))
  return lazily(started) as TestBroker & { readonly worker: KafkaWorker }
}

/** Starts a broker with the settings of tests; the caller closes it. */
export function startTestBroker(options: Partial<BrokerOptions> = {}): Promise<KafkaBroker> {
  return startBroker({ version: '4.4.0', env: TEST_ENV, ...options, properties: { ...PROPERTIES, ...options.properties } })
}

function testBroker(broker: KafkaBroker, worker: KafkaWorker): TestBroker {
  return { broker, bootstrap: broker.bootstrap, admin: new KafkaAdmin(worker, { bootstrap: broker.bootstrap }) }
}

async function start(options: Partial<BrokerOptions>, closing: { close(): Promise<void> }[]): Promise<KafkaBroker> {
  return keep(await startTestBroker(options), closing)
}

function keep<T extends { close(): Promise<void> }>(item: T, closing: { close(): Promise<void> }[]): T {
  closing.push(item)
  return item
}

/** Waits for all, also when one fails: what started late is closed too. */
async function settled(promises: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(promises)
  await Promise.all(promises)
}

async function closeAll(closing: { close(): Promise<void> }[]): Promise<void> {
  await Promise.all(closing.splice(0).map((item) => item.close()))
}

/** Reading a property before the brokers run is a mistake of the test and says so. */
function lazily<T extends object>(target: T): T {
  return new Proxy(target, {
    get(object, key) {
      if (!(key in object)) throw new Error(`${String(key)} is there once the tests run, not while they are declared`)
      return Reflect.get(object, key)
    },
  })
}

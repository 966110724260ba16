import { describe, expect, test } from 'vitest'
import { type ThrottleFlags, type ThrottleRequest, throttleRequest } from '../../../src/cli/throttle-request.js'

const broker = { kind: 'broker', broker: 4 } as const
const topic = { kind: 'topic', topic: 't' } as const
const source = { kind: 'source', mirror: 'm', client: 'c' } as const
const client = { kind: 'client', client: 'c' } as const
const RATE = 'mirror.replication.throttled.rate'
const REPLICAS = 'mirror.replication.throttled.replicas'

const GOOD: [name: string, flags: ThrottleFlags, request: ThrottleRequest][] = [
  ['a broker', { broker: '4', rate: '50MB' }, { action: 'set', target: broker, value: { rate: '50MB' } }],
  ['a topic', { topic: 't', replicas: '[0:4]' }, { action: 'set', target: topic, value: { replicas: '[0:4]' } }],
  ['the source', { source: true, mirror: 'm', client: 'c', rate: '1024' }, { action: 'set', target: source, value: { rate: '1024' } }],
  ['lifted', { broker: '4', clear: true }, { action: 'set', target: broker, value: null }],
  ['everything shown', {}, { action: 'describe' }],
  ['one shown', { broker: '4' }, { action: 'describe', target: broker }],
  ['the source shown', { source: true, mirror: 'm' }, { action: 'describe', mirror: 'm' }],
  [
    'the KIP: broker',
    { 'entity-type': 'brokers', 'entity-name': '4', alter: true, 'add-config': [`${RATE}=100000000`] },
    { action: 'set', target: broker, value: { rate: '100000000' } },
  ],
  [
    'the KIP: topic',
    { 'entity-type': 'topics', 'entity-name': 't', alter: true, 'add-config': [`${REPLICAS}=[0:4,1:5]`] },
    { action: 'set', target: topic, value: { replicas: '0:4,1:5' } },
  ],
  [
    'the KIP: client',
    { 'entity-type': 'clients', 'entity-name': 'c', alter: true, 'add-config': ['consumer_byte_rate=1024'] },
    { action: 'set', target: client, value: { rate: '1024' } },
  ],
  [
    'kafka-configs: lifted',
    { 'entity-type': 'brokers', 'entity-name': '4', alter: true, 'delete-config': [RATE] },
    { action: 'set', target: broker, value: null },
  ],
  ['kafka-configs: shown', { 'entity-type': 'clients', describe: true }, { action: 'describe', kind: 'client' }],
]

const BAD: [flags: ThrottleFlags, message: string][] = [
  [{ broker: '4', 'entity-type': 'brokers' }, '--broker and --entity-type cannot be given together'],
  [{ broker: 'four', rate: '1' }, "'four' is not a broker id"],
  [{ broker: '99999999999', rate: '1' }, "'99999999999' is not a broker id"],
  [{ broker: '4', topic: 't', rate: '1' }, '--broker and --topic cannot be given together'],
  [{ rate: '1' }, '--rate goes with --broker'],
  [{ topic: 't', rate: '1' }, '--rate goes with --broker'],
  [{ broker: '4', replicas: '0:4' }, '--replicas goes with --topic'],
  [{ broker: '4', rate: '1', clear: true }, '--rate and --clear cannot be given together'],
  [{ clear: true }, '--clear needs to know what'],
  [{ source: true, client: 'c' }, '--source needs --mirror'],
  [{ client: 'c', rate: '1' }, '--mirror and --client go with --source'],
  [{ alter: true, 'add-config': [`${RATE}=1`] }, '--entity-type is missing'],
  [{ 'entity-type': 'brokers', alter: true, 'add-config': [`${RATE}=1`] }, '--entity-name is missing'],
  [{ 'entity-type': 'brokers', 'entity-name': '4', alter: true, 'add-config': ['a=1'] }, 'a is not a throttle of brokers'],
  [{ 'entity-type': 'brokers', 'entity-name': '4', alter: true }, '--alter needs --add-config or --delete-config'],
  [{ 'entity-type': 'brokers', 'entity-name': '4', 'add-config': [`${RATE}=1`] }, '--add-config and --delete-config go with --alter'],
]

describe('throttle flags', () => {
  test.each(GOOD)('%s', (_, flags, request) => expect(throttleRequest(flags)).toEqual(request))
  test.each(BAD)('%j: %s', (flags, message) => {
    expect(() => throttleRequest(flags)).toThrow(expect.objectContaining({ kind: 'usage', message: expect.stringContaining(message) }))
  })
})

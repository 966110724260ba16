import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KafkaAdmin } from '../support/kafka-admin.js'
import { writeRecords } from '../support/kafka-log.js'
import { KafkaWorker } from '../support/kafka-worker.js'
import { runProgram } from '../support/program.js'
import { javaClientProperties, type SecuredBroker, startSecuredBroker } from '../support/secured-broker.js'

// One clear line, the right exit code, and nothing half done.

let source: SecuredBroker
let destination: SecuredBroker
let worker: KafkaWorker
let web: Server
const folder = mkdtempSync(join(tmpdir(), 'kafka-mirrors-bad-input-'))

beforeAll(async () => {
  const starting = [startSecuredBroker({ version: '3.9.1' }), startSecuredBroker({ version: '4.4.0', authorizer: true })] as const
  await Promise.allSettled(starting)
  ;[source, destination] = await Promise.all(starting)
  worker = await KafkaWorker.start()
  web = createHttpServer((_, response) => response.end('hello')).listen(0, '127.0.0.1')
  await admin(source).createTopic('my-topic')
  await admin(source).createTopic('other')
  await admin(source).createTopic('differs')
  await admin(destination).createTopic('differs')
  await writeRecords(worker, access(source), { topic: 'differs', list: [{ key: '61', value: '62', timestamp: Date.now() }] })
  await writeRecords(worker, access(destination), { topic: 'differs', list: [{ key: '78', value: '79', timestamp: Date.now() }] })
  file('good', properties())
})
afterAll(async () => {
  await Promise.all([source?.close(), destination?.close(), worker?.close()])
  web?.close()
  rmSync(folder, { recursive: true, force: true })
})

const access = (broker: SecuredBroker) => ({ bootstrap: broker.bootstrap('PLAINTEXT') })
const admin = (broker: SecuredBroker) => new KafkaAdmin(worker, access(broker))

function file(name: string, content: string | Record<string, string>): string {
  const path = join(folder, name)
  // A backslash is an escape in a properties file.
  const escaped = (value: string) => value.replaceAll('\\', '\\\\')
  writeFileSync(
    path,
    typeof content === 'string'
      ? content
      : Object.entries(content)
          .map(([key, value]) => `${key}=${escaped(value)}\n`)
          .join(''),
  )
  return path
}

const properties = (more: Record<string, string> = {}) => ({ 'bootstrap.servers': source.bootstrap('PLAINTEXT'), ...more })
const call = (...words: string[]) =>
  runProgram('verbs', [words[0]!, '--bootstrap-server', destination.bootstrap('PLAINTEXT'), ...words.slice(1)])
const create = (mirror: string, config: string) => call('create', '--mirror', mirror, '--mirror-config', config)
const add = (...words: string[]) => call('add', '--mirror', 'my-mirror', ...words)

/** One line on stderr that holds these words, nothing on stdout. */
async function expectRefusal(outcome: ReturnType<typeof call>, exitCode: number, ...words: (string | RegExp)[]) {
  const { stdout, stderr, exitCode: code } = await outcome
  expect(stderr).toMatch(/^kafka-mirrors: [^\n]+\n$/)
  for (const word of words) expect(stderr).toMatch(word)
  expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' })
}

describe('create', () => {
  const cases: [name: string, mirror: string, config: () => string, exitCode: number, ...words: (string | RegExp)[]][] = [
    ['a name that is not allowed', 'my/mirror', () => join(folder, 'good'), 2, 'my/mirror'],
    ['no file', 'm', () => join(folder, 'none'), 2, 'no such file'],
    ['a folder', 'm', () => folder, 2, 'directory'],
    ['a bad line', 'm', () => file('line', 'bootstrap.servers=a:1\n\nnonsense\n'), 2, /line, line 3/],
    ['no source', 'm', () => file('empty', '# nothing\n'), 2, 'bootstrap.servers'],
    ['an unknown mirror setting', 'm', () => file('key', properties({ 'mirror.nmu': '1' })), 2, 'mirror.nmu'],
    ['a wrong value', 'm', () => file('value', properties({ 'mirror.num.replica.fetchers': '0' })), 2, 'mirror.num.replica.fetchers', '32'],
    ['a wrong protocol', 'm', () => file('protocol', properties({ 'security.protocol': 'TSL' })), 2, 'security.protocol'],
    [
      'a host that does not resolve',
      'm',
      () => file('host', { 'bootstrap.servers': 'no-such-host.invalid:9092' }),
      1,
      'no-such-host.invalid',
    ],
    ['nobody there', 'm', () => file('refused', { 'bootstrap.servers': 'localhost:1' }), 1, 'localhost:1', /refused/],
    ['a web server', 'm', () => file('web', { 'bootstrap.servers': `127.0.0.1:${(web.address() as AddressInfo).port}` }), 1, /HTTP/],
    ['TLS not asked for', 'm', () => file('tls', { 'bootstrap.servers': source.bootstrap('SSL') }), 1, /SSL|TLS/],
    [
      'a wrong password',
      'm',
      () =>
        file(
          'password',
          properties({
            ...javaClientProperties(source.files, 'SASL_PLAINTEXT', { user: 'bob', password: 'wrong' }),
            'bootstrap.servers': source.bootstrap('SASL_PLAINTEXT'),
          }),
        ),
      1,
      /[Aa]uthenticat/,
    ],
    ['itself as the source', 'm', () => file('self', { 'bootstrap.servers': destination.bootstrap('PLAINTEXT') }), 1, /same cluster/],
  ]
  test.concurrent.each(cases)('%s', async (_, mirror, config, exitCode, ...words) => {
    await expectRefusal(create(mirror, config()), exitCode, ...words)
  })

  test('no right to create the state topic', async () => {
    const login = javaClientProperties(destination.files, 'SASL_PLAINTEXT', { user: 'bob' })
    const words = ['--command-config', file('bob', login), '--mirror', 'm', '--mirror-config', join(folder, 'good')]
    await expectRefusal(
      runProgram('verbs', ['create', '--bootstrap-server', destination.bootstrap('SASL_PLAINTEXT'), ...words]),
      1,
      '__kafka_mirrors',
    )
  })

  test('nothing was left behind', async () => {
    expect(Object.keys(await admin(destination).topics())).toEqual(['differs'])
  })

  test('two at once: one wins, the other is told', async () => {
    const outcomes = await Promise.all([1, 2].map(() => create('my-mirror', join(folder, 'good'))))
    expect(outcomes.map(({ exitCode }) => exitCode).sort()).toEqual([0, 1])
    expect(outcomes.find(({ exitCode }) => exitCode === 1)!.stderr).toMatch(/my-mirror .*exist/)
  })

  test('a mirror that exists', () => expectRefusal(create('my-mirror', join(folder, 'good')), 1, /my-mirror .*exist/))
})

describe('topics', () => {
  test.concurrent.each<[name: string, words: string[], exitCode: number, word: string | RegExp]>([
    ['a topic that is not there', ['--topic', 'nothing'], 1, 'nothing'],
    ['a regular expression that matches nothing', ['--topic', 'nothing.*'], 1, 'nothing.*'],
    ['a regular expression that is none', ['--topic', '(a'], 2, /\(a/],
    ['a name that is not allowed', ['--topic', 'a'.repeat(250)], 2, /249/],
    ['another id', ['--topic', 'my-topic', '--topic-id', 'gWrR6uDrSNSSfu_ubGndCg'], 1, 'my-topic'],
    ['no id at all', ['--topic', 'my-topic', '--topic-id', 'nonsense'], 2, 'nonsense'],
    ['too many replicas', ['--topic', 'my-topic', '--replication-factor', '2'], 1, /[Rr]eplication factor/],
    ['no replicas', ['--topic', 'my-topic', '--replication-factor', '0'], 2, 'replication-factor'],
    ['data that is not the source’s', ['--topic', 'differs'], 1, 'differs'],
  ])('%s', (_, words, exitCode, word) => expectRefusal(add(...words), exitCode, word))

  test('another mirror has it', async () => {
    expect((await create('another', join(folder, 'good'))).exitCode).toBe(0)
    expect((await call('add', '--mirror', 'another', '--topic', 'other')).exitCode).toBe(0)
    await expectRefusal(add('--topic', 'other'), 1, /other.*another/)
  })

  test('nothing was left behind', async () => {
    expect(Object.keys(await admin(destination).topics()).sort()).toEqual(['__consumer_offsets', '__kafka_mirrors', 'differs', 'other'])
    const { mirrors } = JSON.parse((await call('list', '--json')).stdout)
    expect(mirrors.map(({ mirror, topics }: { mirror: string; topics: number }) => [mirror, topics])).toEqual([
      ['another', 1],
      ['my-mirror', 0],
    ])
  })
})

describe('a mirror that is not there', () => {
  test.concurrent.each([
    ['add', '--topic', 'my-topic'],
    ['remove', '--topic', 'my-topic'],
    ['describe'],
    ['alter', '--add-config', 'mirror.on.gap=fail'],
    ['delete'],
    ['throttle', '--source', '--client', 'c', '--rate', '1'],
  ])('%s', (verb, ...words) => expectRefusal(call(verb, '--mirror', 'nobody', ...words), 1, 'nobody'))

  test('a topic the mirror has not', () => expectRefusal(call('remove', '--mirror', 'my-mirror', '--topic', 'my-topic'), 1, 'my-topic'))
})

describe('alter and throttle', () => {
  test.concurrent.each<[words: string[], exitCode: number, word: string | RegExp]>([
    [['alter', '--mirror', 'my-mirror', '--add-config', 'mirror.nmu=1'], 2, 'mirror.nmu'],
    [['alter', '--mirror', 'my-mirror', '--add-config', 'mirror.on.gap=maybe'], 2, 'mirror.on.gap'],
    [['throttle', '--broker', '4', '--rate', 'fast'], 2, 'fast'],
    [['throttle', '--topic', 'my-topic', '--replicas', 'all'], 2, 'all'],
    [['throttle', '--topic', 'nothing', '--replicas', '0:1'], 1, 'nothing'],
  ])('%j', (words, exitCode, word) => expectRefusal(call(...words), exitCode, word))

  test('a source that is out of reach is a warning: just then settings must be changeable', async () => {
    const outcome = await call('alter', '--mirror', 'another', '--add-config', 'bootstrap.servers=localhost:1')
    expect(outcome).toMatchObject({ exitCode: 0, stdout: 'Completed updating config for mirror another.\n' })
    expect(outcome.stderr).toMatch(/^kafka-mirrors: warning: [^\n]*localhost:1[^\n]*\n$/)
  })

  test('two alters of different keys both hold', async () => {
    const alter = (config: string) => call('alter', '--mirror', 'my-mirror', '--add-config', config)
    const outcomes = await Promise.all([alter('mirror.on.gap=record'), alter('mirror.fetch.backoff.ms=2000')])
    expect(outcomes.map(({ exitCode }) => exitCode)).toEqual([0, 0])
    const { mirrors } = JSON.parse((await call('describe', '--mirror', 'my-mirror', '--json')).stdout)
    expect(mirrors[0].configs).toMatchObject({ 'mirror.on.gap': 'record', 'mirror.fetch.backoff.ms': '2000' })
  })
})

describe('the destination', () => {
  test.concurrent.each<[name: string, server: () => string, word: string | RegExp]>([
    ['a host that does not resolve', () => 'no-such-host.invalid:9092', 'no-such-host.invalid'],
    ['nobody there', () => 'localhost:1', /refused/],
    ['a web server', () => `127.0.0.1:${(web.address() as AddressInfo).port}`, /HTTP/],
    ['TLS not asked for', () => destination.bootstrap('SSL'), /SSL|TLS/],
  ])('%s', (_, server, word) => expectRefusal(runProgram('verbs', ['list', '--bootstrap-server', server()]), 1, word))
})

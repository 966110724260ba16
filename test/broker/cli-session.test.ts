import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { useBrokers } from '../support/brokers.js'
import { runKafkaTool } from '../support/java-tools.js'
import { logDifferences, writeLog } from '../support/kafka-log.js'
import { type RunningProgram, runProgram, type Spelling, startProgram } from '../support/program.js'
import { eventually } from '../support/wait.js'

// The examples of the KIP, in its order, with its words.

const brokers = useBrokers()
const folder = mkdtempSync(join(tmpdir(), 'kafka-mirrors-session-'))
const file = join(folder, 'mirror.properties')
const running: RunningProgram[] = []
afterAll(() => {
  for (const { child } of running) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

const said = (stdout: string) => ({ exitCode: 0, stdout, stderr: '' })
const rows = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ +/))
const LIST = ['MIRROR', 'TOPICS', 'SOURCE-BOOTSTRAP']
const DESCRIBE = ['MIRROR', 'TOPIC', 'PARTITION', 'SOURCE-OFFSET', 'DESTINATION-OFFSET', 'LAG', 'STATE']
const CLIENT = 'broker-4-fetcher-0-mirror-my-mirror'

describe.each<[Spelling]>([['kip'], ['verbs']])("the KIP's session, spelled as %s", (spelling) => {
  /** `create` is `--create` in the KIP's spelling. */
  const call = (verb: string, ...words: string[]) => {
    const server = ['--bootstrap-server', brokers.destination.bootstrap]
    return spelling === 'kip' ? runProgram('kip', [...server, `--${verb}`, ...words]) : runProgram('verbs', [verb, ...server, ...words])
  }

  test('create', async () => {
    await brokers.source.admin.createTopic('my-topic', { partitions: 2 })
    await writeLog(brokers.worker, brokers.source, { topic: 'my-topic', records: 1000, partitions: 2 })
    writeFileSync(file, `bootstrap.servers=${brokers.source.bootstrap}\n`)
    expect(await call('create', '--mirror', 'my-mirror', '--mirror-config', file)).toEqual(said('Created mirror my-mirror\n'))
  })

  test('add', async () => {
    const id = (await brokers.source.admin.topics())['my-topic']!
    const remote = ['--replication-factor', '1', '--remote-bootstrap-server', brokers.source.bootstrap, '--topic-id', id]
    const outcome = await call('add', '--topic', 'my-topic', '--mirror', 'my-mirror', ...remote)
    expect(outcome).toEqual(said('Added 1 topic(s) to mirror my-mirror: [my-topic]\n'))
  })

  test('list', async () => {
    const { exitCode, stdout } = await call('list')
    expect(exitCode).toBe(0)
    expect(rows(stdout)).toEqual([LIST, ['my-mirror', '1', brokers.source.bootstrap]])
  })

  test('run, and describe', async () => {
    const before = await call('describe')
    expect(before.exitCode).toBe(0)
    expect(rows(before.stdout).map((row) => row.slice(0, 3))).toEqual([
      DESCRIBE.slice(0, 3),
      ['my-mirror', 'my-topic', '0'],
      ['my-mirror', 'my-topic', '1'],
    ])
    const server = ['--bootstrap-server', brokers.destination.bootstrap]
    running.push(startProgram(spelling, spelling === 'kip' ? ['--run', ...server] : ['run', ...server]))
    await eventually(
      async () => {
        const expected = [
          DESCRIBE,
          ['my-mirror', 'my-topic', '0', '500', '500', '0', 'MIRRORING'],
          ['my-mirror', 'my-topic', '1', '500', '500', '0', 'MIRRORING'],
        ]
        expect(rows((await call('describe', '--mirror', 'my-mirror', '--topic', 'my-topic')).stdout)).toEqual(expected)
        return true
      },
      { within: 30_000, every: 500 },
    )
    expect(await logDifferences(brokers.worker, brokers.source, brokers.destination, { topic: 'my-topic' })).toEqual([])
    expect((await call('describe', '--failed')).stdout).toBe('MIRROR TOPIC PARTITION RETRY ERROR\n')
  })

  test('describe --watch goes on until Ctrl-C, which is 130', async () => {
    const server = ['--bootstrap-server', brokers.destination.bootstrap, '--watch=200ms']
    const watching = startProgram(spelling, spelling === 'kip' ? ['--describe', ...server] : ['describe', ...server])
    running.push(watching)
    await eventually(() => watching.output.stdout.match(/^MIRROR /gm)?.length === 3)
    watching.child.kill('SIGINT')
    expect(await watching.ended).toMatchObject({ exitCode: 130, stderr: '' })
  })

  test('alter', async () => {
    const done = said('Completed updating config for mirror my-mirror.\n')
    expect(await call('alter', '--mirror', 'my-mirror', '--mirror-config', file)).toEqual(done)
    expect(await call('alter', '--mirror', 'my-mirror', '--add-config', 'mirror.num.replica.fetchers=2')).toEqual(done)
    expect(await call('alter', '--mirror', 'my-mirror', '--delete-config', 'mirror.num.replica.fetchers')).toEqual(done)
  })

  test('throttle', async () => {
    expect(await call('throttle', '--broker', '4', '--rate', '100000000')).toEqual(said('Completed updating config for broker 4.\n'))
    expect(await call('throttle', '--topic', 'my-topic', '--replicas', '0:4')).toEqual(
      said('Completed updating config for topic my-topic.\n'),
    )
    const source = await call('throttle', '--source', '--mirror', 'my-mirror', '--client', CLIENT, '--rate', '1024')
    expect(source).toEqual(said(`Completed updating config for client ${CLIENT}.\n`))
    const shown = await call('throttle')
    expect(rows(shown.stdout).slice(1)).toEqual([
      ['broker', '4', 'mirror.replication.throttled.rate', '100000000'],
      ['topic', 'my-topic', 'mirror.replication.throttled.replicas', '0:4'],
    ])
    expect((await call('throttle', '--broker', '4', '--clear')).exitCode).toBe(0)
    expect((await call('throttle', '--topic', 'my-topic', '--clear')).exitCode).toBe(0)
    expect((await call('throttle')).stdout).toBe('ENTITY NAME CONFIG VALUE\n')
  })

  test('remove', async () => {
    const dry = await call('remove', '--topic', 'my-topic', '--mirror', 'my-mirror', '--dry-run')
    expect(rows(dry.stdout)[1]).toEqual(['my-mirror', 'my-topic', '0', '500', '500', '0'])
    const outcome = await call('remove', '--topic', 'my-topic', '--mirror', 'my-mirror')
    expect(outcome).toEqual(said('Removed 1 topic(s) from mirror my-mirror: [my-topic]\n'))
    expect(rows((await call('list')).stdout)).toEqual([LIST, ['my-mirror', '0', brokers.source.bootstrap]])
    expect(rows((await call('describe')).stdout)).toEqual([DESCRIBE])
  })

  test('delete', async () => {
    expect(await call('delete', '--mirror', 'my-mirror')).toEqual(said('Deleted mirror my-mirror\n'))
    expect((await call('list')).stdout).toBe('MIRROR TOPICS SOURCE-BOOTSTRAP\n')
  })

  test('the runner leaves on SIGTERM', async () => {
    const runner = running.find(({ child }) => child.spawnargs.some((word) => /^(--)?run$/.test(word)) && child.exitCode === null)!
    runner.child.kill('SIGTERM')
    const { exitCode, stdout, stderr } = await runner.ended
    expect({ exitCode, stdout }, stderr).toEqual({ exitCode: 0, stdout: '' })
    const logged = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(logged.at(-1)).toMatchObject({ level: 'info', msg: 'drained and left' })
    expect(logged.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([])
    for (const { admin } of [brokers.source, brokers.destination]) await admin.deleteTopic('my-topic')
  })
})

describe("the KIP's throttling lines, word for word behind kafka-configs.sh", () => {
  const lines = (): [server: string, words: string[], stdout: string][] => [
    [
      brokers.destination.bootstrap,
      ['--entity-type', 'brokers', '--entity-name', '4', '--alter', '--add-config', 'mirror.replication.throttled.rate=100000000'],
      'Completed updating config for broker 4.\n',
    ],
    [
      brokers.destination.bootstrap,
      ['--entity-type', 'topics', '--entity-name', 'my-topic', '--alter', '--add-config', 'mirror.replication.throttled.replicas=[0:4]'],
      'Completed updating config for topic my-topic.\n',
    ],
    [
      brokers.source.bootstrap,
      ['--alter', '--add-config', 'consumer_byte_rate=1024', '--entity-type', 'clients', '--entity-name', CLIENT],
      `Completed updating config for client ${CLIENT}.\n`,
    ],
  ]

  test('on the destination and on the source', async () => {
    await brokers.destination.admin.createTopic('my-topic')
    for (const [server, words, stdout] of lines()) {
      expect(await runProgram('kip', ['--bootstrap-server', server, ...words])).toEqual(said(stdout))
    }
    const describe = ['--bootstrap-server', brokers.source.bootstrap, '--describe', '--entity-type', 'clients']
    const seen = await runKafkaTool('3.9.1', 'kafka-configs', [...describe, '--entity-name', CLIENT])
    expect(seen.stdout).toContain('consumer_byte_rate=1024')
    const ours = await runProgram('kip', describe)
    expect(rows(ours.stdout)).toContainEqual(['client', CLIENT, 'consumer_byte_rate', '1024'])
  })
})

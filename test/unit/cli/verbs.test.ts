import { readdirSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import Add from '../../../commands/add.js'
import Alter from '../../../commands/alter.js'
import Create from '../../../commands/create.js'
import Delete from '../../../commands/delete.js'
import List from '../../../commands/list.js'
import Remove from '../../../commands/remove.js'
import Throttle from '../../../commands/throttle.js'
import { VERBS } from '../../../src/cli/verbs.js'
import { failure } from '../../../src/mirror/errors.js'
import type { AddedTopic, RemovedTopic, TopicResult } from '../../../src/service/types.js'
import { root, runVerb } from '../../support/cli.js'

const added = (topic: string): TopicResult<AddedTopic> => ({
  topic,
  mirror: 'my-mirror',
  ok: true,
  partitions: 2,
  sourceTopicId: 'gWrR6uDrSNSSfu_ubGndCg',
  destinationTopicId: undefined,
  how: 'created',
  fastForward: topic === 'deep' ? { offsets: 5_000_000_000n, seconds: 12.2, bytes: 7_000n } : undefined,
})
const removed = (topic: string): TopicResult<RemovedTopic> => ({
  topic,
  mirror: 'my-mirror',
  ok: true,
  how: 'confirmed',
  partitions: [{ partition: 0, destinationOffset: 66n, sourceOffset: 69n, lost: 3n, sourceSeenAt: undefined }],
})
const bad = {
  topic: 'bad',
  mirror: 'my-mirror',
  ok: false,
  error: failure('UNKNOWN_TOPIC', 'topic bad is not on the source', 'Check it.'),
} as const

test('the table of verbs is the folder of commands, aliases included', async () => {
  const files = readdirSync(`${root}/commands`).map((name) => name.replace('.ts', ''))
  expect(files.sort()).toEqual(VERBS.map((verb) => verb.name).sort())
  for (const verb of VERBS) {
    const { default: Verb } = await import(`../../../commands/${verb.name}.ts`)
    expect(Verb.aliases, verb.name).toEqual(verb.aliases)
    expect(Verb.summary, verb.name).toMatch(/\.$/)
    expect(Verb.examples.length, verb.name).toBeGreaterThanOrEqual(2)
  }
})

describe('create', () => {
  const file = `${root}/test/unit/cli/mirror.properties`
  const createMirror = vi.fn(async (mirror: string) => ({ mirror, sourceClusterId: 'abc', warnings: ['a password in clear'] }))
  const words = ['--mirror', 'my-mirror', '--mirror-config', file]

  test("says the KIP's words, warns on stderr and closes", async () => {
    const outcome = await runVerb(Create, words, { admin: { createMirror } })
    expect(outcome).toMatchObject({
      stdout: 'Created mirror my-mirror\n',
      stderr: 'kafka-mirrors: warning: a password in clear\n',
      exitCode: 0,
      closed: 1,
    })
    expect(createMirror).toHaveBeenLastCalledWith('my-mirror', new Map([['bootstrap.servers', 'localhost:9092']]), {
      offline: false,
      dryRun: false,
    })
    expect(outcome.connections).toEqual([new Map([['bootstrap.servers', ':9094']])])
  })

  test('--dry-run and --offline go down', async () => {
    const outcome = await runVerb(Create, [...words, '--dry-run', '--offline'], { admin: { createMirror } })
    expect(outcome.stdout).toBe('Would create mirror my-mirror\n')
    expect(createMirror).toHaveBeenLastCalledWith('my-mirror', expect.anything(), { offline: true, dryRun: true })
  })

  test('a missing file ends before any connection', async () => {
    const outcome = await runVerb(Create, ['--mirror', 'm', '--mirror-config', '/nowhere'], { admin: { createMirror } })
    expect(outcome).toMatchObject({ stdout: '', exitCode: 2, connections: [] })
    expect(outcome.stderr).toBe('kafka-mirrors: cannot read /nowhere: there is no such file — check --mirror-config\n')
  })

  test('a failure is one line and 1, and the admin is closed', async () => {
    const refuse = async () => Promise.reject(failure('MIRROR_EXISTS', 'mirror my-mirror exists'))
    const outcome = await runVerb(Create, words, { admin: { createMirror: refuse } })
    expect(outcome).toMatchObject({ stdout: '', stderr: 'kafka-mirrors: mirror my-mirror exists\n', exitCode: 1, closed: 1 })
  })
})

describe('add', () => {
  const addTopicsToMirror = vi.fn(async (topics: unknown) => ({
    topics: [...(topics as Map<string, string>).keys()].map((name) => (name === 'bad' ? bad : added(name))),
    warnings: [],
  }))
  const waitForMirroring = vi.fn(async () => {})
  const admin = { addTopicsToMirror, waitForMirroring }

  test('takes repeated flags and lists, and prints them in brackets', async () => {
    const outcome = await runVerb(
      Add,
      ['--mirror', 'my-mirror', '--topic', 'a,b', '--topic', 'c', '--replication-factor', '2', '--remote-bootstrap-server', ':9092'],
      { admin },
    )
    expect(outcome).toMatchObject({ stdout: 'Added 3 topic(s) to mirror my-mirror: [a, b, c]\n', stderr: '', exitCode: 0 })
    const topics = new Map([
      ['a', 'my-mirror'],
      ['b', 'my-mirror'],
      ['c', 'my-mirror'],
    ])
    expect(addTopicsToMirror).toHaveBeenLastCalledWith(
      topics,
      expect.objectContaining({ replicationFactor: 2, remoteBootstrapServer: ':9092' }),
    )
    expect(waitForMirroring).not.toHaveBeenCalled()
  })

  test('takes patterns to be kept, which need not match anything yet', async () => {
    const outcome = await runVerb(Add, ['--mirror', 'my-mirror', '--topics', 'shop\\..*,a{1,2}', '--exclude', '.*log'], { admin })
    expect(outcome).toMatchObject({ stdout: 'Added 0 topic(s) to mirror my-mirror: []\n', stderr: '', exitCode: 0 })
    const discover = new Map([
      ['shop\\..*', 'my-mirror'],
      ['a{1,2}', 'my-mirror'],
    ])
    expect(addTopicsToMirror).toHaveBeenLastCalledWith(new Map(), expect.objectContaining({ discover, exclude: ['.*log'] }))
    expect(await runVerb(Add, ['--mirror', 'my-mirror'], { admin })).toMatchObject({
      exitCode: 2,
      stderr: 'kafka-mirrors: no topic is named — give --topic or --topics\n',
    })
  })

  test("one topic's failure is told, the others are done, the exit code is 1", async () => {
    const outcome = await runVerb(Add, ['--mirror', 'my-mirror', '--topic', 'a,bad'], { admin })
    expect(outcome).toMatchObject({
      stdout: 'Added 1 topic(s) to mirror my-mirror: [a]\n',
      stderr: 'kafka-mirrors: topic bad is not on the source — check it\n',
      exitCode: 1,
    })
  })

  test('nothing done prints nothing', async () => {
    expect(await runVerb(Add, ['--mirror', 'my-mirror', '--topic', 'bad'], { admin })).toMatchObject({ stdout: '', exitCode: 1 })
  })

  test.each([
    [['--wait'], 30_000],
    [['--wait=5s'], 5_000],
    [['--wait', '1m'], 60_000],
  ])('%j waits', async (flag, milliseconds) => {
    expect(await runVerb(Add, ['--topic', 'a', ...flag, '--mirror', 'my-mirror'], { admin })).toMatchObject({ exitCode: 0 })
    expect(waitForMirroring).toHaveBeenLastCalledWith('my-mirror', ['a'], milliseconds)
  })

  test('--topic-id is of one topic', async () => {
    const id = ['--topic-id', 'gWrR6uDrSNSSfu_ubGndCg', '--mirror', 'my-mirror']
    await runVerb(Add, ['--topic', 'a', ...id], { admin })
    expect(addTopicsToMirror).toHaveBeenLastCalledWith(
      expect.anything(),
      expect.objectContaining({ topicIds: { a: 'gWrR6uDrSNSSfu_ubGndCg' } }),
    )
    expect(await runVerb(Add, ['--topic', 'a,b', ...id], { admin })).toMatchObject({
      exitCode: 2,
      stderr: 'kafka-mirrors: --topic with --topic-id takes one value here, not 2\n',
    })
  })

  test('--dry-run shows what it would do', async () => {
    const outcome = await runVerb(Add, ['--topic', 'deep,a', '--mirror', 'my-mirror', '--dry-run', '--wait'], { admin })
    expect(outcome.stdout.split('\n').map((line) => line.split(/ +/))).toEqual([
      ['TOPIC', 'PARTITIONS', 'ACTION', 'FAST-FORWARD', 'SECONDS', 'DISK-BYTES'],
      ['deep', '2', 'created', '5000000000', '13', '7000'],
      ['a', '2', 'created', '-', '-', '-'],
      [''],
    ])
  })
})

describe('remove', () => {
  const removeTopicsFromMirror = vi.fn(async (_mirror: string, topics: Iterable<string>, _options?: object) => ({
    topics: [...topics].map((name) => (name === 'bad' ? bad : removed(name))),
    warnings: [],
  }))
  const admin = { removeTopicsFromMirror }
  const words = ['--mirror', 'my-mirror', '--topic', 'my-topic']

  test("says the KIP's words; without a terminal it acts without asking", async () => {
    expect(await runVerb(Remove, words, { admin })).toMatchObject({
      stdout: 'Removed 1 topic(s) from mirror my-mirror: [my-topic]\n',
      stderr: '',
      exitCode: 0,
    })
  })

  test.each(['y\n', 'Yes\n'])('on a terminal it shows the loss and asks; %j is yes', async (typed) => {
    const outcome = await runVerb(Remove, words, { admin, typed })
    expect(outcome).toMatchObject({ stdout: 'Removed 1 topic(s) from mirror my-mirror: [my-topic]\n', exitCode: 0 })
    expect(outcome.stderr).toMatch(/LOST\nmy-mirror +my-topic +0 +69 +66 +3\n/)
    expect(outcome.stderr).toContain('Stop mirroring and make writable 1 topic(s) of mirror my-mirror: [my-topic]? [y/N] ')
  })

  test.each(['n\n', '\n', ''])('%j is no, and nothing is done', async (typed) => {
    removeTopicsFromMirror.mockClear()
    const outcome = await runVerb(Remove, words, { admin, typed })
    expect(outcome).toMatchObject({ stdout: '', exitCode: 1 })
    expect(outcome.stderr).toContain('kafka-mirrors: not confirmed, nothing was changed')
    expect(removeTopicsFromMirror.mock.calls.map(([, , options]) => options)).toEqual([{ dryRun: true }])
  })

  test('--yes answers', async () => {
    expect(await runVerb(Remove, [...words, '--yes'], { admin, typed: '' })).toMatchObject({ stderr: '', exitCode: 0 })
  })

  test('--wait bounds the wait for the runner', async () => {
    await runVerb(Remove, [...words, '--wait=3s'], { admin })
    expect(removeTopicsFromMirror).toHaveBeenLastCalledWith('my-mirror', ['my-topic'], { dryRun: false, confirmationTimeoutMs: 3000 })
  })
})

describe('delete', () => {
  const deleteMirror = async (mirror: string, options?: { dryRun?: boolean }) => ({
    mirror,
    deleted: !options?.dryRun,
    topics: [removed('a')],
    warnings: [],
  })

  test("says the KIP's words", async () => {
    const words = ['--mirror', 'my-mirror']
    expect(await runVerb(Delete, words, { admin: { deleteMirror } })).toMatchObject({ stdout: 'Deleted mirror my-mirror\n', exitCode: 0 })
    expect((await runVerb(Delete, [...words, '--dry-run'], { admin: { deleteMirror } })).stdout).toMatch(
      /^MIRROR .*LOST\nmy-mirror a .* 3\n$/,
    )
  })

  test('a topic that cannot be removed keeps the mirror', async () => {
    const half = async (mirror: string) => ({ mirror, deleted: false, topics: [removed('a'), bad], warnings: [] })
    expect(await runVerb(Delete, ['--mirror', 'm'], { admin: { deleteMirror: half } })).toMatchObject({ stdout: '', exitCode: 1 })
  })

  test('asks on a terminal', async () => {
    const outcome = await runVerb(Delete, ['--mirror', 'm'], { admin: { deleteMirror }, typed: 'no\n' })
    expect(outcome).toMatchObject({ stdout: '', exitCode: 1 })
    expect(outcome.stderr).toContain('Delete mirror m and make its 1 topic(s) writable? [y/N] ')
  })
})

describe('alter', () => {
  const alterMirror = vi.fn(async (mirror: string) => ({ mirror, changed: ['a'], warnings: [] }))
  const file = `${root}/test/unit/cli/mirror.properties`

  test("sets what the file and --add-config say, and says the KIP's words", async () => {
    const outcome = await runVerb(
      Alter,
      ['--mirror', 'm', '--mirror-config', file, '--add-config', 'a=1,b=[x,y]', '--delete-config', 'c,d'],
      { admin: { alterMirror } },
    )
    expect(outcome).toMatchObject({ stdout: 'Completed updating config for mirror m.\n', exitCode: 0 })
    const set = new Map([
      ['bootstrap.servers', 'localhost:9092'],
      ['a', '1'],
      ['b', 'x,y'],
    ])
    expect(alterMirror).toHaveBeenLastCalledWith('m', { set, delete: ['c', 'd'] }, { offline: false, dryRun: false })
  })

  test.each([
    [['--mirror', 'm'], 'nothing to alter'],
    [['--mirror', 'm', '--add-config', 'a=1', '--delete-config', 'a'], 'a is to be set and deleted'],
  ])('%j is wrong use', async (words, message) => {
    expect(await runVerb(Alter, words, { admin: { alterMirror } })).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(message) })
  })
})

describe('throttle', () => {
  const setThrottle = vi.fn(async () => {})
  const describeThrottles = async () => ({
    throttles: [
      { target: { kind: 'broker', broker: 4 }, rate: 100_000_000, replicas: undefined },
      {
        target: { kind: 'topic', topic: 't' },
        rate: undefined,
        replicas: [
          { partition: 0, broker: 4 },
          { partition: 1, broker: 4 },
        ],
      },
      { target: { kind: 'client', client: 'c' }, rate: 1024, replicas: undefined },
    ] as const,
    warnings: [],
  })
  const admin = { setThrottle, describeThrottles }

  test.each([
    ['--broker 4 --rate 100000000', 'broker 4'],
    ['--topic my-topic --replicas 0:4', 'topic my-topic'],
    ['--source --mirror my-mirror --client broker-4-fetcher-0-mirror-my-mirror --rate 1024', 'client broker-4-fetcher-0-mirror-my-mirror'],
    ['--entity-type brokers --entity-name 4 --alter --add-config mirror.replication.throttled.rate=100000000', 'broker 4'],
    ['--entity-type topics --entity-name my-topic --alter --add-config mirror.replication.throttled.replicas=[0:4]', 'topic my-topic'],
    ['--alter --add-config consumer_byte_rate=1024 --entity-type clients --entity-name c', 'client c'],
  ])('%s', async (words, entity) => {
    expect(await runVerb(Throttle, words.split(' '), { admin })).toMatchObject({
      stdout: `Completed updating config for ${entity}.\n`,
      stderr: '',
      exitCode: 0,
    })
  })

  test('shows what is set', async () => {
    const { stdout } = await runVerb(Throttle, [], { admin })
    expect(stdout.split('\n').map((line) => line.split(/ +/))).toEqual([
      ['ENTITY', 'NAME', 'CONFIG', 'VALUE'],
      ['broker', '4', 'mirror.replication.throttled.rate', '100000000'],
      ['topic', 't', 'mirror.replication.throttled.replicas', '0:4,1:4'],
      ['client', 'c', 'consumer_byte_rate', '1024'],
      [''],
    ])
    expect((await runVerb(Throttle, ['--entity-type', 'brokers', '--describe', '--no-headers'], { admin })).stdout).toMatch(
      /^broker 4 .*\n$/,
    )
  })
})

describe('list', () => {
  const listMirrors = async () => ({
    mirrors: [
      { mirror: 'my-mirror', topics: 2, sourceBootstrap: 'localhost:9091', sourceClusterId: 'abc' },
      { mirror: 'new-mirror', topics: 1, sourceBootstrap: 'a:1, b:2', sourceClusterId: undefined },
    ],
    warnings: [],
  })

  test('has the columns of the KIP', async () => {
    const { stdout } = await runVerb(List, [], { admin: { listMirrors } })
    expect(stdout).toBe('MIRROR     TOPICS SOURCE-BOOTSTRAP\nmy-mirror  2      localhost:9091\nnew-mirror 1      a:1,b:2\n')
    expect((await runVerb(List, ['-o', 'wide', '--no-headers'], { admin: { listMirrors } })).stdout).toMatch(/ abc\n.* -\n$/)
  })

  test('no mirrors is just the headers', async () => {
    const none = async () => ({ mirrors: [], warnings: [] })
    expect(await runVerb(List, [], { admin: { listMirrors: none } })).toMatchObject({
      stdout: 'MIRROR TOPICS SOURCE-BOOTSTRAP\n',
      exitCode: 0,
    })
    expect((await runVerb(List, ['--no-headers'], { admin: { listMirrors: none } })).stdout).toBe('')
  })

  test('Ctrl-C leaves at once with 130, whatever is being waited for', async () => {
    const controller = new AbortController()
    const never = () => {
      setImmediate(() => controller.abort('SIGINT'))
      return new Promise<never>(() => {})
    }
    expect(await runVerb(List, [], { admin: { listMirrors: never }, signal: controller.signal })).toMatchObject({
      stdout: '',
      stderr: '',
      exitCode: 130,
    })
  })

  test.each([
    [['--wat'], 'unknown flag --wat — see --help'],
    [['--no-header'], 'unknown flag --no-header — did you mean --no-headers?'],
    [['extra'], 'unexpected argument: extra — see --help'],
    [['-o', 'yaml'], 'expected --output=yaml to be one of: table, wide, json — see --help'],
    [['--bootstrap-server'], 'flag --bootstrap-server expects a value — see --help'],
  ])('wrong flags are wrong use: %j', async (words, line) => {
    expect(await runVerb(List, words, { admin: { listMirrors } })).toMatchObject({
      stdout: '',
      stderr: `kafka-mirrors: ${line}\n`,
      exitCode: 2,
    })
  })
})

import { describe, expect, test } from 'vitest'
import Describe from '../../../commands/describe.js'
import type { MirrorDescription, MirrorPartition, SyncState } from '../../../src/service/types.js'
import { runVerb } from '../../support/cli.js'

const partition = (topic: string, number: number, offsets: Partial<MirrorPartition> = {}): MirrorPartition => ({
  mirror: 'my-mirror',
  topic,
  partition: number,
  sourceOffset: 94n,
  destinationOffset: 84n,
  lag: 10n,
  state: 'MIRRORING',
  since: 0,
  lastStableOffset: 90n,
  owner: 'runner-1',
  error: undefined,
  retries: 0,
  errorSince: undefined,
  fillMode: 'markers',
  held: { 'retention.ms': '604800000', 'cleanup.policy': null },
  lostRanges: [],
  lostOffsets: 0n,
  openTransaction: undefined,
  ...offsets,
})

const answer = (partitions: MirrorPartition[], warnings: string[] = []) => ({ mirrors: [], partitions, warnings })
const admin = (...partitions: MirrorPartition[]) => ({ describeMirrors: async () => answer(partitions) })
const cells = (text: string) => text.split('\n').map((line) => line.split(/ +/))

describe('describe', () => {
  test('has the columns of the KIP', async () => {
    const { stdout } = await runVerb(Describe, [], { admin: admin(partition('bar', 0), partition('foo', 10)) })
    expect(cells(stdout)).toEqual([
      'MIRROR TOPIC PARTITION SOURCE-OFFSET DESTINATION-OFFSET LAG STATE'.split(' '),
      'my-mirror bar 0 94 84 10 MIRRORING'.split(' '),
      'my-mirror foo 10 94 84 10 MIRRORING'.split(' '),
      [''],
    ])
  })

  test('wide shows last stable offset, owner, fill and what is held', async () => {
    const { stdout } = await runVerb(Describe, ['-o', 'wide'], {
      admin: admin(partition('bar', 0, { error: 'source is away', errorSince: 1000 })),
    })
    const [headers, row] = cells(stdout)
    expect(headers!.slice(7)).toEqual(['LAST-STABLE', 'OWNER', 'FILL', 'HELD', 'LOST', 'LOST-RANGES', 'OPEN-PRODUCER', 'SINCE', 'ERROR'])
    expect(row!.slice(7).join(' ')).toBe('90 runner-1 markers retention.ms=604800000 - - - 1970-01-01T00:00:01.000Z source is away')
  })

  test('a partition that waits for a transaction names its producer, and lost offsets are counted', async () => {
    const openTransaction = { producerId: 4001n, firstOffset: 90n, lastWriteAt: Date.now() - 35_000 }
    const lost = { lostOffsets: 30n, lostRanges: [{ from: 1n, to: 30n }] }
    const rows = admin(partition('a', 0, { openTransaction }), partition('a', 1, { openTransaction }), partition('b', 0, lost))
    const wide = cells((await runVerb(Describe, ['-o', 'wide', '--no-headers'], { admin: rows })).stdout)
    expect(wide[0]!.slice(11, 14)).toEqual(['-', '-', '4001'])
    expect(wide[0]!.slice(15).join(' ')).toMatch(
      /^waits at offset 90 for the open transaction of producer 4001 on the source, last written to at \d/,
    )
    expect(wide[2]!.slice(11, 14)).toEqual(['30', '1-30', '-'])
    expect((await runVerb(Describe, [], { admin: rows })).stderr.split('\n')).toEqual([
      'kafka-mirrors: mirror my-mirror: a-0 at offset 90 and 1 more wait for the open transaction of producer 4001 on the source, last written to 35 s ago',
      'kafka-mirrors: mirror my-mirror: 1 partition(s) lack 30 offset(s) the source no longer had (-o wide, --json)',
      '',
    ])
  })

  test('many reasons do not hide the table: those of most partitions are told, and how many have others', async () => {
    const rows = Array.from({ length: 30 }, (_, at) => partition('a', at, { error: at < 15 ? 'the same' : `reason ${at}` }))
    const { stderr } = await runVerb(Describe, [], { admin: admin(...rows) })
    const lines = stderr.trimEnd().split('\n')
    expect(lines).toHaveLength(11)
    expect(lines[0]).toBe('kafka-mirrors: mirror my-mirror: 15 partition(s): the same')
    expect(lines[10]).toBe('kafka-mirrors: 6 more partition(s) have other reasons (-o wide, --json)')
  })

  test('what nobody knows is a dash, and what keeps partitions waiting is told on stderr, once per reason', async () => {
    const away = { sourceOffset: undefined, lag: undefined, error: 'source is away', errorSince: 1000 }
    const { stdout, stderr } = await runVerb(Describe, ['--no-headers'], { admin: admin(partition('a', 0, away), partition('a', 1, away)) })
    expect(stdout).toMatch(/^my-mirror a 0 - 84 - MIRRORING\n/)
    expect(stderr).toBe('kafka-mirrors: mirror my-mirror: 2 partition(s) since 1970-01-01T00:00:01.000Z: source is away\n')
  })

  test('--failed shows why', async () => {
    const failed = partition('a', 0, { state: 'FAILED', retries: 7, error: 'offsets differ at 5' })
    const { stdout, stderr } = await runVerb(Describe, ['--failed'], { admin: admin(failed) })
    expect(stdout).toBe('MIRROR    TOPIC PARTITION RETRY ERROR\nmy-mirror a     0         7     offsets differ at 5\n')
    expect(stderr).toBe('')
  })

  test('nothing is just the headers', async () => {
    expect((await runVerb(Describe, [], { admin: admin() })).stdout).toBe(
      'MIRROR TOPIC PARTITION SOURCE-OFFSET DESTINATION-OFFSET LAG STATE\n',
    )
    expect((await runVerb(Describe, ['--failed'], { admin: admin() })).stdout).toBe('MIRROR TOPIC PARTITION RETRY ERROR\n')
  })

  test('filters go down', async () => {
    const calls: unknown[] = []
    const describeMirrors = async (...words: unknown[]) => {
      calls.push(words)
      return answer([])
    }
    await runVerb(Describe, ['--mirror', 'a,b', '--topic', 'x.*', '--topic', 'y', '--all'], { admin: { describeMirrors } })
    expect(calls).toEqual([[['a', 'b'], { topics: ['x.*', 'y'], failed: false, all: true }]])
  })

  test('colours states on a terminal, unless told not to', async () => {
    const rows = admin(partition('a', 0))
    const green = '\x1b[32mMIRRORING'
    expect((await runVerb(Describe, [], { admin: rows, screen: true })).stdout).toContain(green)
    expect((await runVerb(Describe, ['--no-color'], { admin: rows, screen: true })).stdout).not.toContain(green)
    expect((await runVerb(Describe, [], { admin: rows, screen: true, env: { NO_COLOR: '1' } })).stdout).not.toContain(green)
  })
})

describe('the metadata of a mirror', () => {
  const sync = (loop: SyncState['loop'], fields: Partial<SyncState> = {}): SyncState => ({
    loop,
    ok: true,
    at: 2_000,
    lastSuccess: 2_000,
    error: undefined,
    changes: 0,
    problems: [],
    moreProblems: 0,
    notes: [],
    owner: 'runner-1',
    ...fields,
  })
  const mirror: MirrorDescription = {
    mirror: 'my-mirror',
    topics: 3,
    sourceBootstrap: ':9092',
    sourceClusterId: 'x',
    configs: {},
    syncs: [
      sync('discovery', { ok: false, lastSuccess: undefined, error: 'the source is away' }),
      sync('configs', { changes: 2, problems: [{ item: 'bar', message: 'retention.ms is refused' }], moreProblems: 4 }),
      sync('acls', { notes: ['the source has no authorizer'] }),
    ],
    readOnly: { guarded: ['bar', 'foo'], watched: ['baz'] },
    withheldRights: ['ALLOW WRITE on topic bar for User:alice'],
  }
  const described = { describeMirrors: async () => ({ mirrors: [mirror], partitions: [partition('bar', 0)], warnings: ['w'] }) }

  test('leaves the columns of the KIP as they are; what could not be synced is told on stderr', async () => {
    const { stdout, stderr } = await runVerb(Describe, [], { admin: described })
    expect(cells(stdout)).toHaveLength(3)
    expect(stderr).toBe(
      'kafka-mirrors: warning: w\nkafka-mirrors: mirror my-mirror: configs: bar: retention.ms is refused (and 4 more: -o wide, --json)\n',
    )
  })

  test('is shown below the partitions by -o wide', async () => {
    const { stdout, stderr } = await runVerb(Describe, ['-o', 'wide'], { admin: described })
    const [partitions, syncs, remarks, ...more] = stdout.split('\n\n')
    expect(more).toEqual([])
    expect(cells(partitions!)).toHaveLength(2)
    expect(syncs!.split('\n').map((line) => line.replace(/ +/g, ' '))).toEqual([
      'MIRROR SYNC RESULT LAST-SUCCESS LAST-ROUND CHANGES PROBLEMS OWNER ERROR',
      'my-mirror discovery failed - 1970-01-01T00:00:02.000Z 0 0 runner-1 the source is away',
      'my-mirror configs problems 1970-01-01T00:00:02.000Z 1970-01-01T00:00:02.000Z 2 5 runner-1 -',
      'my-mirror acls ok 1970-01-01T00:00:02.000Z 1970-01-01T00:00:02.000Z 0 0 runner-1 -',
    ])
    expect(remarks!.split('\n').map((line) => line.replace(/ +/g, ' '))).toEqual([
      'MIRROR ABOUT WHAT TEXT',
      'my-mirror configs problem bar: retention.ms is refused',
      'my-mirror configs problem and 4 more',
      'my-mirror acls note the source has no authorizer',
      'my-mirror read-only guarded [bar, foo]',
      'my-mirror read-only watched [baz]',
      'my-mirror rights withheld ALLOW WRITE on topic bar for User:alice',
      '',
    ])
    expect(stderr).toBe('kafka-mirrors: warning: w\n')
  })

  test('is not in the way of --failed, and is in the JSON', async () => {
    expect((await runVerb(Describe, ['--failed', '-o', 'wide'], { admin: described })).stdout.split('\n')).toHaveLength(3)
    const { stdout } = await runVerb(Describe, ['--json'], { admin: described })
    const [shown] = JSON.parse(stdout).mirrors
    expect(shown.syncs[0]).toMatchObject({ loop: 'discovery', ok: false, lastSuccess: null, at: '1970-01-01T00:00:02.000Z' })
    expect(shown.readOnly).toEqual(mirror.readOnly)
  })
})

describe('describe --watch', () => {
  /** Answers look after look; Ctrl-C comes while the last one is shown. */
  function looks(...answers: (() => Promise<ReturnType<typeof answer>>)[]) {
    const controller = new AbortController()
    let look = 0
    const describeMirrors = () => {
      if (look === answers.length - 1) setImmediate(() => controller.abort('SIGINT'))
      return answers[look++]!()
    }
    return { admin: { describeMirrors }, signal: controller.signal }
  }
  const fine = async () => answer([partition('a', 0)])
  const broken = async () => Promise.reject(new Error('destination is away'))

  test('shows it again and again, goes on after an error, and leaves with 130', async () => {
    const outcome = await runVerb(Describe, ['--watch=1ms', '--no-headers'], looks(fine, broken, fine))
    const row = 'my-mirror a 0 94 84 10 MIRRORING\n'
    expect(outcome).toMatchObject({ stdout: `${row}\n${row}`, stderr: 'kafka-mirrors: destination is away\n', exitCode: 130 })
  })

  test('redraws on a terminal', async () => {
    const { stdout } = await runVerb(Describe, ['--watch', '1ms', '--no-color'], { ...looks(fine, fine), screen: true })
    expect(stdout.split('\x1b[H\x1b[J')).toHaveLength(3)
  })

  test('as JSON it is an object a line', async () => {
    const { stdout } = await runVerb(Describe, ['--watch=1ms', '--json'], looks(fine, fine))
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).partitions[0].lag),
    ).toEqual(['10', '10'])
  })

  test('a first look that fails is a failure', async () => {
    expect(await runVerb(Describe, ['--watch'], { admin: { describeMirrors: broken } })).toMatchObject({ stdout: '', exitCode: 1 })
  })

  test('a wrong duration is wrong use', async () => {
    expect(await runVerb(Describe, ['--watch=2x'], { admin: { describeMirrors: fine } })).toMatchObject({ exitCode: 2, connections: [] })
  })
})

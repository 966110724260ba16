import { describe, expect, test, vi } from 'vitest'
import Verify from '../../../commands/verify.js'
import { rewriteKipArguments } from '../../../src/cli/kip-arguments.js'
import { failure } from '../../../src/mirror/errors.js'
import type { LogDifference, VerifiedPartition, VerifyMirrorOptions, VerifyMirrorResult } from '../../../src/service/types.js'
import { runVerb } from '../../support/cli.js'

const partition = (change: Partial<VerifiedPartition> = {}): VerifiedPartition => ({
  topic: 'my-topic',
  partition: 0,
  result: 'equal',
  from: 5n,
  to: 100n,
  offsets: 95n,
  records: 90n,
  bytes: 2_000_000n,
  sourceStart: 5n,
  destinationStart: 0n,
  sourceEnd: 103n,
  destinationEnd: 100n,
  lag: 3n,
  superseded: 0n,
  lost: [],
  differenceCount: 0n,
  differences: [],
  error: undefined,
  ...change,
})
const difference: LogDifference = {
  topic: 'my-topic',
  partition: 1,
  offset: 17n,
  kind: 'record',
  fields: ['value'],
  message: 'value "a" on the source, "b" on the destination',
}
const different = partition({
  partition: 1,
  result: 'different',
  differenceCount: 4n,
  differences: [difference],
  lost: [{ from: 2n, to: 4n }],
})
const failed = partition({
  partition: 2,
  result: 'failed',
  from: undefined,
  to: undefined,
  error: failure('KAFKA', 'my-topic-2 is gone', 'Look for it.'),
})

const answering = (partitions: VerifiedPartition[], change: Partial<VerifyMirrorResult> = {}) =>
  vi.fn(
    async (mirror: string, _options?: VerifyMirrorOptions): Promise<VerifyMirrorResult> => ({
      mirror,
      equal: partitions.every(({ result }) => result === 'equal'),
      seed: undefined,
      partitions,
      warnings: [],
      ...change,
    }),
  )
const words = ['--mirror', 'my-mirror']
const HEADERS = ['MIRROR', 'TOPIC', 'PARTITION', 'FROM', 'TO', 'RECORDS', 'DIFFERENCES', 'LAG', 'RESULT']
const rows = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ +/))

describe('verify', () => {
  test('shows every partition, and how much was compared; equal is 0', async () => {
    const { stdout, stderr, exitCode } = await runVerb(Verify, words, { admin: { verifyMirror: answering([partition()]) } })
    expect(rows(stdout)).toEqual([HEADERS, ['my-mirror', 'my-topic', '0', '5', '100', '90', '0', '3', 'equal']])
    expect(stderr).toMatch(
      /^kafka-mirrors: mirror my-mirror: 1 of 1 partition\(s\) equal; 90 record\(s\), 2\.0 MB read in \d+\.\d s \(.* MB\/s\)\n$/,
    )
    expect(exitCode).toBe(0)
  })

  test('different, or not compared, is 1, and stderr says what and where', async () => {
    const { stdout, stderr, exitCode } = await runVerb(Verify, words, {
      admin: { verifyMirror: answering([partition(), different, failed], { warnings: ['careful'] }) },
    })
    expect(rows(stdout).map((row) => row.slice(2))).toEqual([
      HEADERS.slice(2),
      ['0', '5', '100', '90', '0', '3', 'equal'],
      ['1', '5', '100', '90', '4', '3', 'different'],
      ['2', '-', '-', '90', '0', '3', 'failed'],
    ])
    expect(stderr.trimEnd().split('\n').slice(0, -1)).toEqual([
      'kafka-mirrors: warning: careful',
      'kafka-mirrors: my-topic-1 at offset 17: differs: value "a" on the source, "b" on the destination',
      'kafka-mirrors: 3 more difference(s) are not shown; -o wide shows the first of each partition',
      'kafka-mirrors: my-topic-1: offsets 2 to 4 were lost on the source before they were copied, as recorded',
      'kafka-mirrors: my-topic-2 is gone — look for it',
    ])
    expect(stderr).toContain('1 of 3 partition(s) equal, 1 different, 1 not compared to the end; ')
    expect(exitCode).toBe(1)
  })

  test('tells differences as they are found, each once, and none beside JSON', async () => {
    const verifyMirror = async (mirror: string, options?: VerifyMirrorOptions) => {
      options?.onDifference?.(difference)
      return answering([different])(mirror)
    }
    const { stderr } = await runVerb(Verify, words, { admin: { verifyMirror } })
    expect(stderr.match(/at offset 17/g)).toHaveLength(1)
    expect(await runVerb(Verify, [...words, '--json'], { admin: { verifyMirror } })).toMatchObject({ stderr: '', exitCode: 1 })
  })

  test('-o wide shows the first finding in the table', async () => {
    const { stdout } = await runVerb(Verify, [...words, '-o', 'wide'], { admin: { verifyMirror: answering([different, failed]) } })
    expect(stdout).toMatch(/ 2-4 +2000000 +offset 17: differs: value "a" on the source, "b" on the destination\n/)
    expect(stdout).toMatch(/ my-topic-2 is gone\n/)
  })

  test('takes topics, a range and a sample, and says how to take the same sample again', async () => {
    const verifyMirror = answering([partition()], { seed: 7 })
    const all = [...words, '--topic', 'a,b', '--topic', 'c', '--from', '9223372036854775806', '--to', '9223372036854775807']
    const { stderr } = await runVerb(Verify, [...all, '--sample', '3', '--seed', '7'], { admin: { verifyMirror } })
    expect(verifyMirror.mock.calls[0]![1]).toMatchObject({
      topics: ['a', 'b', 'c'],
      from: 9223372036854775806n,
      to: 9223372036854775807n,
      sample: 3,
      seed: 7,
    })
    expect(stderr).toContain('90 record(s) in 95 of 95 offsets (--seed 7 chooses the same)')
  })

  test.each([
    [['--from', '-1']],
    [['--from', '1.5']],
    [['--to', 'end']],
    [['--from', '9223372036854775808']],
    [['--to', '9999999999999999999']],
    [['--sample', '0']],
    [['--seed', '3']],
    [['--topic']],
  ])('%j is wrong use', async (flags) => {
    const outcome = await runVerb(Verify, [...words, ...flags], { admin: { verifyMirror: answering([]) } })
    expect(outcome).toMatchObject({ exitCode: 2, stdout: '', connections: [] })
  })

  test('a terminal shows how far it is, nothing else does', async () => {
    const verifyMirror = async (mirror: string, options?: VerifyMirrorOptions) => {
      options?.onProgress?.({ partitions: 4, partitionsDone: 1, offsets: 1000, offsetsDone: 250, bytes: 1, differences: 2 })
      return answering([partition()])(mirror)
    }
    const { stderr } = await runVerb(Verify, words, { admin: { verifyMirror }, typed: '' })
    const [before, line, after] = stderr.split('\r\x1b[K')
    expect(before).toBe('')
    expect(line).toMatch(/^25 % of 1000 offsets, 1 of 4 partition\(s\) done, .* MB\/s, 2 difference\(s\)$/)
    expect(after).toMatch(/^kafka-mirrors: mirror/)
    expect((await runVerb(Verify, words, { admin: { verifyMirror } })).stderr).not.toContain('%')
  })

  test('Ctrl-C ends it at once', async () => {
    const interrupt = new AbortController()
    const verifyMirror = async (_: string, options?: VerifyMirrorOptions): Promise<VerifyMirrorResult> => {
      interrupt.abort('SIGINT')
      expect(options?.signal?.aborted).toBe(true)
      return new Promise(() => {})
    }
    const outcome = await runVerb(Verify, words, { admin: { verifyMirror }, signal: interrupt.signal })
    expect(outcome).toMatchObject({ exitCode: 130, stdout: '', stderr: '' })
  })

  test("is spelled in the KIP's way too", () => {
    expect(rewriteKipArguments(['--bootstrap-server', ':9094', '--verify', '--mirror', 'm'])).toEqual([
      'verify',
      '--bootstrap-server',
      ':9094',
      '--mirror',
      'm',
    ])
  })
})

import { describe, expect, test } from 'vitest'
import Recover from '../../../commands/recover.js'
import { failure } from '../../../src/mirror/errors.js'
import type { RecoveredPartition, RecoveredTopic, RecoverMirrorOptions, TopicResult } from '../../../src/service/types.js'
import { runVerb } from '../../support/cli.js'

const row = (partition: number, more: Partial<RecoveredPartition> = {}): RecoveredPartition => ({
  mirror: 'my-mirror',
  topic: 'orders',
  partition,
  state: 'FAILED',
  error: 'e',
  problem: 'gap',
  wanted: 20n,
  available: 50n,
  sourceOffset: 60n,
  lost: { from: 20n, to: 49n },
  differsFrom: undefined,
  divergedOffsets: undefined,
  divergedRecords: undefined,
  divergedRecordsComplete: true,
  action: 'none',
  needs: 'on-gap',
  explanation: 'offsets 20 to 49 are gone',
  ...more,
})

const different = row(1, {
  problem: 'divergence',
  lost: undefined,
  differsFrom: 7n,
  divergedOffsets: 13n,
  divergedRecords: 12,
  divergedRecordsComplete: false,
  action: 'reseed',
  needs: undefined,
  explanation: 'copied again',
})

const topic = (...partitions: RecoveredPartition[]): TopicResult<RecoveredTopic> => ({
  topic: 'orders',
  mirror: 'my-mirror',
  ok: true,
  partitions,
  kept: undefined,
})

/** An admin that answers with these topics, and what it was asked. */
function adminOf(...topics: TopicResult<RecoveredTopic>[]) {
  const calls: [string, RecoverMirrorOptions][] = []
  const waits: unknown[] = []
  const recoverMirror = async (mirror: string, options: RecoverMirrorOptions = {}) => {
    calls.push([mirror, options])
    return { topics, warnings: ['careful'] }
  }
  const waitForMirroring = async (_mirror: string, expected: Iterable<unknown>) => void waits.push([...expected])
  return { calls, waits, admin: { recoverMirror, waitForMirroring } }
}

const words = (...more: string[]) => ['--mirror', 'my-mirror', ...more]
const RESEED = ['--on-divergence', 'reseed']

describe('recover', () => {
  test('--dry-run shows what is wrong and what would be done, and is no failure', async () => {
    const { admin, calls } = adminOf(topic(row(0), different))
    const { stdout, stderr, exitCode } = await runVerb(Recover, words('--dry-run', '--topic', 'a,b', '--topic', 'c.*'), { admin })
    expect(stdout.split('\n').map((line) => line.split(/ +/).slice(2))).toEqual([
      'PARTITION PROBLEM WANTED AVAILABLE LOST DIFFERS-FROM OFFSETS RECORDS ACTION NEEDS EXPLANATION'.split(' '),
      '0 gap 20 50 20-49 - - - none --on-gap=record offsets 20 to 49 are gone'.split(' '),
      '1 divergence 20 50 - 7 13 12+ reseed - copied again'.split(' '),
      [],
    ])
    expect([stderr, exitCode]).toEqual(['kafka-mirrors: warning: careful\n', 0])
    expect(calls).toEqual([['my-mirror', expect.objectContaining({ topics: ['a', 'b', 'c.*'], dryRun: true, onGap: undefined })]])
  })

  test('what needs an option is named, and is a failure', async () => {
    const { admin } = adminOf(topic(row(0), row(3), row(4, { action: 'retry', needs: undefined })))
    const { stderr, exitCode } = await runVerb(Recover, words(), { admin })
    expect(stderr).toContain('kafka-mirrors: 2 partition(s) stay as they are without --on-gap=record\n')
    expect(exitCode).toBe(1)
  })

  test.each(['unknown', 'other'] as const)('what was asked for and only tried again is a failure: %s', async (problem) => {
    const tried = topic(row(0, { problem, action: 'retry', needs: undefined }))
    const run = (admin: object, ...more: string[]) => runVerb(Recover, words(...more), { admin: admin as never })
    const { stderr, exitCode } = await run(adminOf(tried).admin, ...RESEED, '--yes')
    expect(stderr).toContain('nothing was copied again: 1 partition(s) are only tried again; see what comes of it with --wait\n')
    expect(exitCode).toBe(1)
    expect((await run(adminOf(tried).admin, '--on-gap', 'record')).stderr).toContain('nothing was recorded: 1 partition(s)')
    for (const fine of [[], ['--on-gap', 'record', '--wait'], [...RESEED, '--dry-run']])
      expect((await run(adminOf(tried).admin, ...fine)).exitCode).toBe(0)
    // Something else came of it, or the mirror records gaps by itself.
    for (const more of [different, row(1, { action: 'retry', needs: undefined })])
      expect((await run(adminOf(tried, topic(more)).admin, ...RESEED, '--yes')).exitCode).toBe(0)
  })

  test('one topic’s error is told, the others go on', async () => {
    const bad = { topic: 'bad', mirror: 'my-mirror', ok: false, error: failure('KAFKA', 'topic bad could not be recovered') } as const
    const { admin } = adminOf(bad, topic(row(0, { action: 'record-gap', needs: undefined })))
    const { stdout, stderr, exitCode } = await runVerb(Recover, words('--on-gap', 'record', '--partition', '0', '--partition', '4'), {
      admin,
    })
    expect(stdout).toContain('record-gap')
    expect(stderr).toContain('kafka-mirrors: topic bad could not be recovered\n')
    expect(exitCode).toBe(1)
  })

  test('nothing to recover is said', async () => {
    const { stdout, exitCode } = await runVerb(Recover, words(), { admin: adminOf().admin })
    expect([stdout, exitCode]).toEqual(['Nothing to recover in mirror my-mirror\n', 0])
  })

  test('--wait waits for what can come back', async () => {
    const { admin, waits } = adminOf(topic(row(0), row(1, { action: 'retry' })))
    await runVerb(Recover, words('--wait'), { admin })
    expect(waits).toEqual([[['orders', [1]]]])
  })

  test('a reseed wants --yes where nobody can be asked', async () => {
    const { admin, calls } = adminOf(topic(different))
    const refused = await runVerb(Recover, words(...RESEED), { admin })
    expect([refused.exitCode, refused.stderr, calls]).toEqual([
      2,
      'kafka-mirrors: --on-divergence reseed replaces topics and needs --yes — see what it would do with --dry-run\n',
      [],
    ])
    const done = { ...topic(different), kept: { topic: 'orders.diverged-1', records: 12 } } as TopicResult<RecoveredTopic>
    const { stderr, exitCode } = await runVerb(Recover, words(...RESEED, '--yes'), { admin: adminOf(done).admin })
    expect(stderr).toContain('kafka-mirrors: topic orders: 12 record(s) that differed are kept in topic orders.diverged-1\n')
    expect(exitCode).toBe(0)
  })

  test('on a terminal the plan is shown and asked about', async () => {
    const no = adminOf(topic(different))
    const refused = await runVerb(Recover, words(...RESEED), { admin: no.admin, typed: 'n\n' })
    expect(refused.stderr).toMatch(
      /warning: careful\n[\s\S]*divergence[\s\S]*Copy 1 topic\(s\) of mirror my-mirror again from the start, keeping what differs.*: \[orders\]\? \[y\/N\]/,
    )
    expect([refused.exitCode, no.calls.map(([, { dryRun }]) => dryRun)]).toEqual([1, [true]])
    const yes = adminOf(topic(different))
    expect((await runVerb(Recover, words(...RESEED), { admin: yes.admin, typed: 'y\n' })).exitCode).toBe(0)
    expect(yes.calls.map(([, { dryRun }]) => dryRun)).toEqual([true, false])
    // Nothing would be replaced: nothing to ask.
    const gap = adminOf(topic(row(0, { action: 'record-gap', needs: undefined })))
    expect((await runVerb(Recover, words(...RESEED, '--on-gap', 'record'), { admin: gap.admin, typed: '' })).stderr).not.toContain('[y/N]')
  })

  test('other words for the options are wrong use', async () => {
    for (const wrong of [
      ['--on-gap', 'fail'],
      ['--on-divergence', 'skip'],
      ['--partition', 'x'],
    ])
      expect((await runVerb(Recover, words(...wrong), { admin: adminOf().admin })).exitCode).toBe(2)
  })
})

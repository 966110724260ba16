import { expect, test } from 'vitest'
import Reverse from '../../../commands/reverse.js'
import type { Admin } from '../../../src/cli/base-command.js'
import { failure } from '../../../src/mirror/errors.js'
import { runVerb } from '../../support/cli.js'

const WORDS = ['--mirror', 'm', '--remote-bootstrap-server', 'b:9094']
const diverged = {
  partition: 0,
  lastMirrored: 10n,
  destinationOffset: 15n,
  sourceOffset: 20n,
  lost: undefined,
  differsFrom: 10n,
  divergedOffsets: 5n,
  divergedRecords: 4,
  divergedRecordsComplete: true,
}

/** An admin that finds this topic, and the calls it got. */
function reversing(how: 'none' | 'reseeded' | 'continued') {
  const calls: unknown[] = []
  const admin = {
    reverseMirror: async (mirror: string, remote: ReadonlyMap<string, string>, options: unknown) => {
      calls.push([mirror, Object.fromEntries(remote), options])
      const kept = how === 'reseeded' ? { topic: 't.diverged-1', records: 4 } : undefined
      const needs = how === 'none' ? 'on-divergence' : undefined
      const topics = [{ topic: 't', mirror, ok: true, how, needs, partitions: [diverged], kept }]
      return { mirror, sourceClusterId: 'c', created: true, topics, warnings: ['w'] }
    },
  } as unknown as Partial<Admin>
  return { admin, calls }
}

test('the mirror is set up with the client properties that were given', async () => {
  const { admin, calls } = reversing('continued')
  const outcome = await runVerb(Reverse, [...WORDS, '--topic', 'a,b'], { admin })
  expect(outcome).toMatchObject({ exitCode: 0, stdout: 'Reversed mirror m for 1 topic(s): [t]\n', stderr: 'kafka-mirrors: warning: w\n' })
  expect(calls).toEqual([['m', { 'bootstrap.servers': 'b:9094' }, { topics: ['a', 'b'], onDivergence: undefined, dryRun: false }]])
})

test('a plan shows what only this cluster has, and fails', async () => {
  const { stdout, stderr, exitCode } = await runVerb(Reverse, [...WORDS, '--dry-run'], { admin: reversing('none').admin })
  expect(exitCode).toBe(1)
  expect(stdout).toMatch(/^TOPIC +PARTITION +LAST-MIRRORED .*\nt +0 +10 +15 +20 +10 +5 +4 +none +--on-divergence=reseed\n$/)
  expect(stderr).toContain('1 topic(s) went on alone here and would be refused without --on-divergence reseed')
})

test('topics are replaced only after a question, or with --yes', async () => {
  const reseed = [...WORDS, '--on-divergence', 'reseed']
  expect(await runVerb(Reverse, reseed, { admin: reversing('reseeded').admin })).toMatchObject({ exitCode: 2, stdout: '' })
  const asked = reversing('reseeded')
  const outcome = await runVerb(Reverse, reseed, { admin: asked.admin, typed: 'n\n' })
  expect(outcome.exitCode).toBe(1)
  // What is to be known comes before the question.
  expect(outcome.stderr).toMatch(
    /^kafka-mirrors: warning: w\nTOPIC .*\n.*\n\n?Make 1 topic\(s\) anew and copy them from the start: \[t\]\?/,
  )
  expect(asked.calls).toHaveLength(1)
  const done = await runVerb(Reverse, [...reseed, '--yes'], { admin: reversing('reseeded').admin })
  expect(done).toMatchObject({ exitCode: 0 })
  expect(done.stderr).toContain('topic t: 4 record(s) only this cluster had are kept in topic t.diverged-1')
})

test('what was refused is told before the others are waited for, and also if that takes too long', async () => {
  const told: string[] = []
  const topics = [
    { topic: 'refused', mirror: 'm', ok: false, error: failure('CONFLICT', 'topic refused is written to') },
    { topic: 't', mirror: 'm', ok: true, how: 'continued', partitions: [] },
  ]
  const admin = {
    reverseMirror: async () => ({ mirror: 'm', sourceClusterId: 'c', created: false, topics, warnings: [] }),
    waitForMirroring: async (_: string, names: Iterable<string>) => {
      told.push(...names)
      throw failure('TIMEOUT', 't-0 of mirror m is not taken up after 30 s')
    },
  } as unknown as Partial<Admin>
  const outcome = await runVerb(Reverse, [...WORDS, '--wait'], { admin })
  expect(outcome).toMatchObject({ exitCode: 1, stdout: 'Reversed mirror m for 1 topic(s): [t]\n' })
  expect(outcome.stderr).toBe('kafka-mirrors: topic refused is written to\nkafka-mirrors: t-0 of mirror m is not taken up after 30 s\n')
  expect(told).toEqual(['t'])
})

test('the other cluster must be named, by its own properties alone', async () => {
  expect((await runVerb(Reverse, ['--mirror', 'm'], {})).stderr).toMatch(/the cluster that took over is not named/)
})

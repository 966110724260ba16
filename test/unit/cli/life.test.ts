import { describe, expect, test, vi } from 'vitest'
import Delete from '../../../commands/delete.js'
import Pause from '../../../commands/pause.js'
import Remove from '../../../commands/remove.js'
import Resume from '../../../commands/resume.js'
import { failure } from '../../../src/mirror/errors.js'
import type { PauseOptions, RemoveTopicsFromMirrorOptions } from '../../../src/service/types.js'
import { runVerb } from '../../support/cli.js'

const topic = (name: string, how: 'changed' | 'unchanged' = 'changed') =>
  ({ topic: name, mirror: 'm', ok: true, partitions: 2, how }) as const
const bad = { topic: 'bad', mirror: 'm', ok: false, error: failure('CONFLICT', 'topic bad is being removed') } as const
const removed = { topic: 'a', mirror: 'm', ok: true, how: 'confirmed', partitions: [] } as const

describe.each([
  ['pause', Pause, 'pauseMirror', 'Paused', 'waitForPaused'],
  ['resume', Resume, 'resumeMirror', 'Resumed', 'waitForMirroring'],
] as const)('%s', (verb, Verb, method, done, waiter) => {
  const change = vi.fn(async (mirror: string, _options?: PauseOptions) => ({
    mirror,
    topics: [topic('a'), topic('b', 'unchanged')],
    warnings: ['w'],
  }))
  const wait = vi.fn(async () => {})
  const admin = { [method]: change, [waiter]: wait }

  test('is about the whole mirror, or the topics named', async () => {
    expect(await runVerb(Verb, ['--mirror', 'm'], { admin })).toMatchObject({
      stdout: `${done} 2 topic(s) of mirror m: [a, b]\n`,
      stderr: 'kafka-mirrors: warning: w\n',
      exitCode: 0,
    })
    expect(change).toHaveBeenLastCalledWith('m', { topics: undefined, dryRun: false })
    await runVerb(Verb, ['--mirror', 'm', '--topic', 'a,b', '--topic', 'x.*'], { admin })
    expect(change).toHaveBeenLastCalledWith('m', { topics: ['a', 'b', 'x.*'], dryRun: false })
    expect(wait).not.toHaveBeenCalled()
  })

  test('waits for what it has changed, and not behind --dry-run', async () => {
    await runVerb(Verb, ['--mirror', 'm', '--wait'], { admin })
    expect(wait).toHaveBeenLastCalledWith('m', ['a', 'b'], 30_000)
    wait.mockClear()
    const outcome = await runVerb(Verb, ['--mirror', 'm', '--wait=5s', '--dry-run'], { admin })
    expect(outcome.stdout).toBe(`Would ${verb} 1 topic(s) of mirror m: [a]\n`)
    expect(wait).not.toHaveBeenCalled()
  })

  test('fails when one topic fails, and says so of a mirror without topics', async () => {
    const half = async (mirror: string) => ({ mirror, topics: [topic('a'), bad], warnings: [] })
    expect(await runVerb(Verb, ['--mirror', 'm'], { admin: { [method]: half } })).toMatchObject({
      stdout: `${done} 1 topic(s) of mirror m: [a]\n`,
      stderr: 'kafka-mirrors: topic bad is being removed\n',
      exitCode: 1,
    })
    const none = async (mirror: string) => ({ mirror, topics: [], warnings: [] })
    expect((await runVerb(Verb, ['--mirror', 'm'], { admin: { [method]: none } })).stdout).toBe(`Mirror m has no topics to ${verb}\n`)
  })
})

describe('remove', () => {
  const removeTopicsFromMirror = vi.fn(
    async (_mirror: string, _topics: Iterable<string> | undefined, options: RemoveTopicsFromMirrorOptions = {}) => {
      options.onProgress?.({ partitions: 3, drained: 1, lag: 7n })
      return { topics: [removed], warnings: [] }
    },
  )
  const admin = { removeTopicsFromMirror }

  test('all topics want --yes where nobody can be asked', async () => {
    const outcome = await runVerb(Remove, ['--mirror', 'm'], { admin })
    expect(outcome).toMatchObject({ stdout: '', exitCode: 2, connections: [] })
    expect(outcome.stderr).toContain('all topics of mirror m are removed without --topic, which needs --yes')
    expect((await runVerb(Remove, ['--mirror', 'm', '--yes'], { admin })).exitCode).toBe(0)
    expect(removeTopicsFromMirror).toHaveBeenLastCalledWith('m', undefined, { dryRun: false })
    expect((await runVerb(Remove, ['--mirror', 'm', '--dry-run'], { admin })).exitCode).toBe(0)
  })

  test('a mirror without topics says so', async () => {
    const none = async () => ({ topics: [], warnings: [] })
    const outcome = await runVerb(Remove, ['--mirror', 'm', '--yes'], { admin: { removeTopicsFromMirror: none } })
    expect(outcome).toMatchObject({ stdout: 'Mirror m has no topics\n', exitCode: 0 })
  })

  test('--drain is five minutes unless told, and shows on a terminal how far it has come', async () => {
    await runVerb(Remove, ['--mirror', 'm', '--topic', 'a', '--drain'], { admin })
    expect(removeTopicsFromMirror).toHaveBeenLastCalledWith('m', ['a'], expect.objectContaining({ drainMs: 300_000 }))
    const outcome = await runVerb(Remove, ['--mirror', 'm', '--topic', 'a', '--drain=1m', '--yes'], { admin, typed: '' })
    expect(outcome.stderr).toContain('draining: 1 of 3 partition(s)')
    expect(outcome.stdout).toBe('Removed 1 topic(s) from mirror m: [a]\n')
    expect((await runVerb(Remove, ['--mirror', 'm', '--topic', 'a', '--drain=soon'], { admin })).exitCode).toBe(2)
  })
})

test('delete --wait bounds the wait for the runner', async () => {
  const deleteMirror = vi.fn(async (mirror: string) => ({ mirror, deleted: true, topics: [removed], warnings: [] }))
  await runVerb(Delete, ['--mirror', 'm', '--wait=2s'], { admin: { deleteMirror } })
  expect(deleteMirror).toHaveBeenLastCalledWith('m', { dryRun: false, confirmationTimeoutMs: 2000 })
})

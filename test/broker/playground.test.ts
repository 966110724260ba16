import { afterEach, beforeEach, expect, test } from 'vitest'
import { TemporaryPlace } from '../support/left-behind.js'
import { runProgram, startProgram } from '../support/program.js'
import { eventually } from '../support/wait.js'

// The built program, as a user types it.

let place: TemporaryPlace
beforeEach(async () => {
  place = await TemporaryPlace.make()
})
afterEach(() => place.expectEmpty())

const started = { within: 100_000, what: 'The start of the playground' }

test('Ctrl-C ends it, also its neighbours, and leaves nothing', async () => {
  const { child, output, ended } = startProgram('verbs', ['playground'], { env: { TMPDIR: place.folder, KAFKA_HOME: '' } })
  await eventually(() => output.stdout.includes('MIRRORING'), started)
  // The commands it prints are true.
  const list = /run\.js (list .*)\n/.exec(output.stdout)![1]!.split(' ')
  expect((await runProgram('verbs', list)).stdout).toMatch(/^playground +2 /m)
  child.kill('SIGINT')
  expect((await ended).exitCode).toBe(130)
})

test('even killed, it leaves neither brokers nor a runner', async () => {
  const { child, output, ended } = startProgram('verbs', ['playground'], { env: { TMPDIR: place.folder, KAFKA_HOME: '' } })
  await eventually(() => output.stderr.includes('Starting a runner'), started)
  child.kill('SIGKILL')
  expect((await ended).exitCode).toBeNull()
})

test('without Java it says what to install, on one line', async () => {
  const outcome = await runProgram('verbs', ['playground'], { env: { PATH: '/nonexistent', JAVA_HOME: '', KAFKA_HOME: '' } })
  expect(outcome).toMatchObject({ exitCode: 1, stdout: '' })
  expect(outcome.stderr).toMatch(/^kafka-mirrors: No Java was found \(java\)\. — install a Java runtime, release 11 or newer[^\n]*\n$/)
})

import { expect, test } from 'vitest'
import Run from '../../../commands/run.js'
import { publish } from '../../../src/engine/events.js'
import type { Runner } from '../../../src/engine/runner.js'
import type { RunMirrorsOptions } from '../../../src/service/run-mirrors.js'
import { runVerb } from '../../support/cli.js'

const snapshot = { alive: true, memberId: 'm', ownedShards: 50, bufferedBytes: 0, partitions: [] }

/** `run` with a runner that does nothing but note what happens to it. */
function fakeRun(started: (options: RunMirrorsOptions) => Promise<void> | void) {
  const events: string[] = []
  class FakeRun extends Run {
    protected override async startRunner(options: RunMirrorsOptions): Promise<Runner> {
      events.push('start')
      await started(options)
      return { snapshot, drain: async () => void events.push('drain') } as unknown as Runner
    }
  }
  return { FakeRun, events }
}

const linesOf = (stderr: string) =>
  stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

test('copies until it is told to stop, then drains; logs are JSON when nobody looks', async () => {
  const controller = new AbortController()
  const seen: RunMirrorsOptions[] = []
  const { FakeRun, events } = fakeRun((options) => {
    seen.push(options)
    publish({ level: 'warn', event: 'x', message: 'from the engine', mirror: 'a' })
    setImmediate(() => controller.abort('SIGTERM'))
  })
  const outcome = await runVerb(FakeRun, ['--mirror', 'a,b', '--allow-config', 'env:A_*,file:/etc/mirrors/'], { signal: controller.signal })
  expect(outcome).toMatchObject({ stdout: '', exitCode: 0 })
  expect(events).toEqual(['start', 'drain'])
  const allowedConfig = { env: ['A_*'], file: ['/etc/mirrors'], directory: [] }
  expect(seen).toEqual([{ properties: new Map([['bootstrap.servers', ':9094']]), mirrors: ['a', 'b'], allowedConfig }])
  expect(linesOf(outcome.stderr).map(({ level, msg }) => [level, msg])).toEqual([
    ['warn', 'from the engine'],
    ['info', 'runner started, serving mirrors a, b'],
    ['info', 'SIGTERM: draining; a second signal quits at once'],
    ['info', 'drained and left'],
  ])
  publish({ level: 'error', event: 'x', message: 'nobody listens any more' })
})

test('--http answers while it runs', async () => {
  const controller = new AbortController()
  const { FakeRun } = fakeRun(() => void setTimeout(look, 10))
  const answers: string[] = []
  let stderr = ''
  async function look() {
    for (const path of ['livez', 'readyz']) answers.push(await (await fetch(`http://${address()}/${path}`)).text())
    controller.abort('SIGTERM')
  }
  const address = () => /http:\/\/([^"]*)"/.exec(stderr)![1]
  await runVerb(FakeRun, ['--http', '127.0.0.1:0'], { signal: controller.signal, onStderr: (text) => (stderr += text) })
  expect(answers).toEqual(['ok\n', 'ready: member of the group, 0 partitions\n'])
})

test('Ctrl-C while it is still starting leaves at once', async () => {
  const controller = new AbortController()
  const { FakeRun, events } = fakeRun(() => {
    setImmediate(() => controller.abort('SIGINT'))
    return new Promise(() => {})
  })
  expect(await runVerb(FakeRun, [], { signal: controller.signal })).toMatchObject({ stderr: '', exitCode: 130 })
  expect(events).toEqual(['start'])
})

test.each([
  [['--mirror', 'a/b'], "mirror name 'a/b' is not allowed"],
  [['--http', '9640'], "'9640' is not an address to listen on"],
  [['--allow-config', 'vault:x'], "--allow-config: 'vault:x' is not provider:what"],
  [['--allow-config', 'file:secrets'], "--allow-config: 'secrets' is not an absolute path"],
  [['--allow-config', 'env:*_PASSWORD'], "--allow-config: '*_PASSWORD' is not a name with at most a * at its end"],
  [['--log-level', 'all'], 'expected --log-level=all to be one of: debug, info, warn, error'],
])('%j is wrong use and starts nothing', async (words, message) => {
  const { FakeRun, events } = fakeRun(() => {})
  expect(await runVerb(FakeRun, words)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(message) })
  expect(events).toEqual([])
})

test('a property no Kafka client knows is told once', async () => {
  const { FakeRun } = fakeRun(() => Promise.reject(new Error('destination is away')))
  const { stderr, exitCode } = await runVerb(FakeRun, ['-X', 'sasl.mechanisms=PLAIN'])
  expect(stderr).toBe(
    'kafka-mirrors: warning: sasl.mechanisms is not a property of Kafka clients; it has no effect\nkafka-mirrors: destination is away\n',
  )
  expect(exitCode).toBe(1)
})

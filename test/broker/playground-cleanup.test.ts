import { afterEach, beforeEach, expect, test } from 'vitest'
import { type PlaygroundAdmin, type PlaygroundIo, runPlayground } from '../../src/playground/index.js'
import { TEST_ENV } from '../support/kafka-worker.js'
import { TemporaryPlace } from '../support/left-behind.js'
import { eventually } from '../support/wait.js'

const SLEEPING_RUNNER = [process.execPath, '-e', 'setInterval(() => {}, 1000)', '--']
const systemTmp = process.env.TMPDIR
let place: TemporaryPlace

// Everything the playground makes is below a folder of our own, so that what stays behind is seen.
beforeEach(async () => {
  place = await TemporaryPlace.make()
  process.env.TMPDIR = place.folder
})

afterEach(async () => {
  if (systemTmp === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = systemTmp
  await place.expectEmpty()
})

function world(admin: Partial<PlaygroundAdmin<string>> = {}, program = SLEEPING_RUNNER) {
  const controller = new AbortController()
  const output: string[] = []
  const told: string[] = []
  const io: PlaygroundIo<string> = {
    print: (text) => output.push(text),
    tell: (line) => told.push(line),
    live: false,
    env: TEST_ENV,
    signal: controller.signal,
    program,
    programName: 'kafka-mirrors',
    createAdmin: () => ({
      createMirror: async () => {},
      addTopicsToMirror: async (topics) => ({ topics: Object.keys(topics).map(() => ({ ok: true as const })) }),
      waitForMirroring: async () => {},
      describeMirrors: async () => 'described\n',
      close: async () => {},
      ...admin,
    }),
    render: (text) => text,
  }
  return { io, output, told, abort: () => controller.abort() }
}

test('after its time it ends by itself, having shown where everything is', async () => {
  const { io, output } = world()
  await runPlayground({ durationMs: 1_000 }, io)
  const text = output.join('')
  expect(text).toMatch(/Source {7}127\.0\.0\.1:\d+ {3}Kafka 3\.9\.1/)
  expect(text).toMatch(/kafka-mirrors list --bootstrap-server 127\.0\.0\.1:\d+\n/)
  // At the start and at the end, and between if the machine takes its time.
  expect(text.match(/described/g)!.length).toBeGreaterThanOrEqual(2)
})

test('interrupted while its clusters start, it cleans up and is quiet', async () => {
  const { io, told, abort } = world()
  const playing = runPlayground({}, io)
  await eventually(() => told.includes('Starting two clusters …'))
  abort()
  await playing
})

test('a runner that dies is the error, with its last words', async () => {
  const program = [process.execPath, '-e', 'console.error("bad day"); process.exit(1)', '--']
  const { io } = world({ waitForMirroring: () => new Promise(() => {}) }, program)
  await expect(runPlayground({}, io)).rejects.toThrow('The runner ended by itself:\nbad day')
})

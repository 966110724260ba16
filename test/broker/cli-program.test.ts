import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { VERBS } from '../../src/cli/verbs.js'
import { projectRoot, runProgram } from '../support/program.js'

// The built program as a process of its own: what npm installs.

const folder = mkdtempSync(join(tmpdir(), 'kafka-mirrors-program-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const verbs = (...words: string[]) => runProgram('verbs', words)
const kip = (...words: string[]) => runProgram('kip', words)
const FINE = { exitCode: 0, stderr: '' }
const ONE_LINE = /^kafka-mirrors: [^\n]*\n$/

describe('help and version', () => {
  test('the root lists every verb once', async () => {
    const [help, ...others] = await Promise.all([verbs('--help'), verbs(), verbs('-h'), verbs('help')])
    expect(help).toMatchObject(FINE)
    for (const verb of VERBS) expect(help.stdout.match(new RegExp(`^  ${verb.name} `, 'gm')), verb.name).toHaveLength(1)
    for (const other of others) expect(other).toEqual(help)
  })

  test.concurrent.each(['start', 'create'])('%s --help shows examples', async (word) => {
    const help = await verbs(word, '--help')
    expect(help).toMatchObject(FINE)
    expect(help.stdout.slice(help.stdout.indexOf('EXAMPLES')).match(/\$ kafka-mirrors /g)?.length).toBeGreaterThanOrEqual(2)
  })

  test('both spellings know help and version', async () => {
    expect((await verbs('--version')).stdout).toMatch(/^kafka-mirrors \d+\.\d+\.\d+\n$/)
    expect(await kip('--version')).toEqual(await verbs('--version'))
    expect(await kip('--help')).toEqual(await verbs('--help'))
    expect(await kip('--describe', '--help')).toEqual(await verbs('describe', '--help'))
  })
})

describe('wrong use is one line on stderr and 2', () => {
  test.concurrent.each([
    [['lst'], 'unknown verb lst — did you mean list?'],
    [['--list'], 'the first word has to be a verb, not --list — did you mean list?'],
    [['help', 'foo'], 'unknown verb foo'],
    [['list', '--wat'], 'unknown flag --wat'],
    [['add'], '--mirror is missing'],
    [['add', '--mirror', 'm', '--bootstrap-server', ':1'], 'no topic is named — give --topic or --topics'],
    [['list'], 'no Kafka cluster named'],
    [['list', '--bootstrap-server', 'nonsense:port:here'], 'bootstrap.servers'],
    [['create', '--mirror', 'm', '--mirror-config', '/nowhere/at/all'], 'cannot read /nowhere/at/all: there is no such file'],
  ])('%j', async (words, line) => {
    const outcome = await verbs(...words)
    expect(outcome).toEqual({ exitCode: 2, stdout: '', stderr: expect.stringMatching(ONE_LINE) })
    expect(outcome.stderr).toContain(line)
  })

  test.concurrent.each([[[]], [['list']], [['--create', '--list']]])('in the spelling of the KIP: %j', async (words: string[]) => {
    const line = expect.stringMatching(/^kafka-mirrors: [^\n]*--create --add[^\n]*\n$/)
    expect(await kip(...words)).toEqual({ exitCode: 2, stdout: '', stderr: line })
  })
})

test('a failure is one line and 1; its stack is shown with --debug only', async () => {
  const words = ['list', '--bootstrap-server', 'localhost:1', '-X', 'default.api.timeout.ms=500']
  const plain = await verbs(...words)
  expect(plain).toEqual({ exitCode: 1, stdout: '', stderr: expect.stringMatching(ONE_LINE) })
  expect(plain.stderr).toContain('localhost:1')
  expect((await verbs(...words, '--debug')).stderr).toMatch(/\n {4}at /)
})

describe('installed', () => {
  test.concurrent.each(['run.js', 'kafka-mirrors.sh', 'kafka-mirror.sh'])('%s runs through a link, as npm makes one', async (name) => {
    const link = join(folder, name)
    symlinkSync(join(projectRoot, 'bin', name), link)
    expect(execFileSync(link, ['--version'], { encoding: 'utf8' })).toMatch(/^kafka-mirrors /)
  })

  test('unbuilt, or on an old Node, it says what to do', async () => {
    cpSync(join(projectRoot, 'bin'), join(folder, 'bin'), { recursive: true })
    const listWith = (node: string) => {
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ engines: { node } }))
      return runProgram('verbs', ['list'], { program: join(folder, 'bin/run.js') })
    }
    const unbuilt = `kafka-mirrors: not built yet — run npm install (or npm run build) in ${folder}\n`
    expect(await listWith('>=20.20.0')).toEqual({ exitCode: 1, stdout: '', stderr: unbuilt })
    const old = `kafka-mirrors: needs Node 99.1.0 or newer, this is ${process.versions.node} — install a newer Node and try again\n`
    expect(await listWith('>=99.1.0')).toEqual({ exitCode: 1, stdout: '', stderr: old })
  })
})

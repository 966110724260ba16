import { cp, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand } from '../../src/playground/process.js'
import { root } from '../support/cli.js'

// What a user gets from npm: the packed package in an empty folder, with production dependencies only.

let work: string
let user: string

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'kafka-mirrors-package-'))
  const source = join(work, 'source')
  user = join(work, 'user')
  // A copy, since packing builds anew and others may be using what is built here.
  const copied = ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'tsconfig.json', 'src', 'commands', 'bin', 'docs']
  for (const name of copied) await cp(join(root, name), join(source, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(source, 'node_modules'))
  await run('npm', ['pack', '--pack-destination', work], source)
  const tarball = (await readdir(work)).find((name) => name.endsWith('.tgz'))!
  await cp(join(work, tarball), join(user, tarball))
  await writeFile(join(user, 'package.json'), JSON.stringify({ name: 'user', private: true, type: 'module' }))
  await run('npm', ['install', '--omit=dev', '--no-audit', '--no-fund', `./${tarball}`], user)
})

afterAll(() => rm(work, { recursive: true, force: true }))

test('programs import MirrorAdmin, with types', async () => {
  await writeFile(
    join(user, 'program.ts'),
    `import { MirrorAdmin, MirrorError, type ListMirrorsResult } from 'kafka-mirrors'
     const admin = new MirrorAdmin({ 'bootstrap.servers': '127.0.0.1:1' })
     const failed: MirrorError | ListMirrorsResult = await admin.listMirrors().catch((error: MirrorError) => error)
     console.log(failed instanceof MirrorError ? failed.code : 'listed')
     await admin.close()`,
  )
  const options = [
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--strict',
    '--types',
    'node',
    '--typeRoots',
    join(root, 'node_modules/@types'),
  ]
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...options, 'program.ts'], user)
  expect(await run(process.execPath, ['program.js'], user)).toBe('DESTINATION_UNREACHABLE\n')
})

test('npx runs the playground', async () => {
  const output = await run('npx', ['kafka-mirrors', 'playground', '--no-producer', '--duration', '20s'], user)
  expect(output).toMatch(/Source {7}127\.0\.0\.1:\d+ {3}Kafka 3\.9\.1\nDestination {2}127\.0\.0\.1:\d+ {3}Kafka 4\.4\.0\n/)
  const last = output.slice(output.lastIndexOf('MIRROR '))
  expect(last).toMatch(/^MIRROR +TOPIC +PARTITION +SOURCE-OFFSET +DESTINATION-OFFSET +LAG +STATE *\n/)
  expect(last.match(/ 1000 +1000 +0 +MIRRORING/g), last).toHaveLength(4)
})

test('both spellings are on the path', async () => {
  for (const name of ['kafka-mirrors', 'kafka-mirrors.sh', 'kafka-mirror.sh']) {
    expect(await run('npx', [name, '--version'], user)).toMatch(/^kafka-mirrors \d+\.\d+\.\d+\n$/)
  }
})

async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand(command, args, { cwd, env: { ...process.env, KAFKA_HOME: '' } })
  expect(code, `${command} ${args.join(' ')}\n${stderr}`).toBe(0)
  return stdout
}

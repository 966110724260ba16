import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freePorts } from '../../../src/playground/ports.js'
import { runCommand } from '../../../src/playground/process.js'
import { eventually } from '../../support/wait.js'

test('a command that takes too long is killed', async () => {
  await expect(runCommand('sleep', ['30'], { timeoutMs: 50 })).rejects.toThrow('sleep did not end within 50 ms')
})

test('output, input and exit status of a command come through', async () => {
  const result = await runCommand('sh', ['-c', 'cat; echo bad >&2; exit 3'], { input: 'good' })
  expect(result).toEqual({ code: 3, stdout: 'good', stderr: 'bad\n' })
})

test('free ports are different ones', async () => {
  const ports = await freePorts(20)
  expect(new Set(ports).size).toBe(20)
})

test('what is watched dies with us, however we die, and its folder goes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kafka-mirrors-watchdog-'))
  const module = new URL('../../../src/playground/process.ts', import.meta.url).href
  const program = `
    const { Watchdog } = await import(${JSON.stringify(module)})
    const { spawn } = await import('node:child_process')
    const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' })
    new Watchdog(${JSON.stringify(folder)}).watch(child)
    console.log(child.pid)
    setInterval(() => {}, 1000)`
  const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(parent.stdout, 'data')) as [Buffer]
  const pid = Number(line.toString())
  expect(() => process.kill(pid, 0)).not.toThrow()
  parent.kill('SIGKILL')
  await eventually(() => !isAlive(pid), { within: 5_000 })
  await eventually(
    () =>
      access(folder).then(
        () => false,
        () => true,
      ),
    { within: 5_000 },
  )
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

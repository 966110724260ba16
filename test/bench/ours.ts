import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Child, run } from './child.js'
import type { CopyJob, RunningPeer } from './peers.js'
import type { Tools } from './tools.js'

export const PROGRAM = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

export const kafkaMirrors = (...args: string[]): Promise<string> => programAt(PROGRAM)(...args)

const programAt =
  (program: string) =>
  (...args: string[]): Promise<string> =>
    run(`kafka-mirrors ${args[0]}`, process.execPath, [program, ...args])

/**
 * The real program: a mirror made through the command line, and a runner as a process of its own.
 *
 * @param program entry point of the build to measure; the default is this one
 */
export async function startOurs(job: CopyJob, tools: Tools, program = PROGRAM): Promise<RunningPeer> {
  const kafkaMirrors = programAt(program)
  const mirror = `bench-${job.label}`
  const file = join(tools.workDir, `${mirror}.properties`)
  await writeFile(file, `bootstrap.servers=${job.source}\n`)
  const destination = ['--bootstrap-server', job.destination]
  await kafkaMirrors('create', ...destination, '--mirror', mirror, '--mirror-config', file)
  await kafkaMirrors('add', ...destination, '--mirror', mirror, '--topic', job.topic)
  const profile = job.profileDir === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', job.profileDir]
  const child = Child.start('kafka-mirrors run', process.execPath, [...profile, program, 'run', ...destination])
  return {
    child,
    async stop() {
      // While the runner is there to confirm it, which takes no time; without one the fence would have to wait.
      if (child.running) await kafkaMirrors('remove', ...destination, '--mirror', mirror, '--topic', job.topic, '--yes')
      await child.stop()
      await kafkaMirrors('delete', ...destination, '--mirror', mirror, '--yes')
    },
  }
}

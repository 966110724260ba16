import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../../src/playground/process.js'
import { eventually } from './wait.js'

/** A folder for everything temporary, so that what stays behind after it should all be gone is seen. */
export class TemporaryPlace {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  static async make(): Promise<TemporaryPlace> {
    return new TemporaryPlace(await mkdtemp(join(tmpdir(), 'kafka-mirrors-test-')))
  }

  /**
   * Files in the folder, and processes that have it on their command lines, are to be gone soon; then the folder goes.
   *
   * @throws Error naming what is left
   */
  async expectEmpty(): Promise<void> {
    const left = async () => {
      const { stdout } = await runCommand('ps', ['-eo', 'pid,args'])
      const processes = stdout.split('\n').filter((line) => line.includes(this.folder))
      const all = [...(await readdir(this.folder)), ...processes.map((line) => line.trim().slice(0, 200))]
      if (all.length > 0) throw new Error(all.join('\n'))
      return true
    }
    try {
      await eventually(left, { within: 10_000, what: 'The end of everything begun' })
    } finally {
      await rm(this.folder, { recursive: true, force: true })
    }
  }
}

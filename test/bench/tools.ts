import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findJava } from '../../src/playground/java.js'
import { kafkaJars } from '../../src/playground/kafka-jars.js'
import { run } from './child.js'
import type { BenchOptions } from './options.js'

/** The programs that are measured against, and a folder for what they need. */
export interface Tools {
  readonly franzGo: string
  readonly java: string
  readonly mirrorMakerClasspath: string
  readonly workDir: string
  /** Entry point of an earlier build to compare with; undefined where none was given. */
  readonly before: string | undefined
}

const MIRROR_MAKER_VERSION = '3.9.1'

/** Builds the Go program and, unless MirrorMaker is not asked for, fetches its jars. */
export async function prepareTools(
  workDir: string,
  { peers, before }: Pick<BenchOptions, 'peers' | 'before'>,
  say: (line: string) => void,
): Promise<Tools> {
  const withMirrorMaker = peers.includes('mm2')
  const franzGo = join(workDir, 'franz-go')
  await run('go build (the benchmark needs Go)', 'go', ['build', '-o', franzGo, '.'], {
    cwd: fileURLToPath(new URL('./franz-go', import.meta.url)),
  })
  const [java, classpath] = withMirrorMaker
    ? [
        (await findJava(MIRROR_MAKER_VERSION)).command,
        (await kafkaJars({ version: MIRROR_MAKER_VERSION, extraArtifacts: ['connect-mirror'], onProgress: say })).classpath,
      ]
    : ['java', '']
  return { franzGo, java, mirrorMakerClasspath: classpath, workDir, before: before && join(before, 'bin', 'run.js') }
}

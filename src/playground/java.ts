import { join } from 'node:path'
import { runCommand, SetupError } from './process.js'

export interface Java {
  /** The `java` program: that of JAVA_HOME when set, else the one on the path. */
  readonly command: string
  /** Feature release: 8, 11, 17 … */
  readonly release: number
}

/** Feature release from the first line of `java -version`: `"1.8.0_392"` is 8, `"17.0.15"` is 17. */
export function javaRelease(versionText: string): number | undefined {
  const match = /version "(?:1\.)?(\d+)/.exec(versionText)
  return match ? Number(match[1]) : undefined
}

/** The Java release that a Kafka version's brokers and tools need (KIP-1013: 17 since 4.0). */
export function javaNeededBy(kafkaVersion: string): number {
  return Number.parseInt(kafkaVersion, 10) >= 4 ? 17 : 11
}

/**
 * Finds a Java that can run this Kafka version.
 *
 * @throws SetupError when there is none, or it is too old.
 */
export async function findJava(kafkaVersion: string, env: NodeJS.ProcessEnv = process.env): Promise<Java> {
  const needed = javaNeededBy(kafkaVersion)
  const advice = `Install a Java runtime, release ${needed} or newer, and put it on PATH or point JAVA_HOME at it.`
  const command = env.JAVA_HOME ? join(env.JAVA_HOME, 'bin', 'java') : 'java'
  const result = await runCommand(command, ['-version'], { env, timeoutMs: 30_000 }).catch((error: NodeJS.ErrnoException) => {
    throw new SetupError(error.code === 'ENOENT' ? `No Java was found (${command}).` : `Java can't be run: ${error.message}`, advice)
  })
  const release = javaRelease(result.stderr + result.stdout)
  if (result.code !== 0 || release === undefined) {
    throw new SetupError(`${command} -version failed: ${(result.stderr || result.stdout).trim().split('\n')[0]}`, advice)
  }
  if (release < needed) throw new SetupError(`Kafka ${kafkaVersion} needs Java ${needed}, ${command} is ${release}.`, advice)
  return { command, release }
}

import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { runCommand, SetupError } from './process.js'

export interface KafkaJars {
  readonly version: string
  readonly folder: string
  /** Every jar by its full path, in a fixed order, ready for `java -cp`. */
  readonly classpath: string
}

export interface JarsOptions {
  /** Kafka version to fetch. Not used when KAFKA_HOME is set: then the version is the one found there. */
  readonly version: string
  /** More artifacts of the same version, for example `connect-mirror`. */
  readonly extraArtifacts?: readonly string[]
  /** Default: `process.env`. KAFKA_HOME, XDG_CACHE_HOME, HOME and PATH are looked at. */
  readonly env?: NodeJS.ProcessEnv
  readonly onProgress?: (line: string) => void
  readonly signal?: AbortSignal
}

// Fixed: the plugin that old Maven releases use by default behaves alike, but prints differently.
const COPY_DEPENDENCIES = 'dependency:copy-dependencies'

/**
 * The jars of a Kafka version: those of KAFKA_HOME, else from Maven Central through Maven, kept in the user's cache.
 * Two processes may fetch at once, and an interrupted one leaves nothing that looks like a filled cache.
 *
 * @throws SetupError when KAFKA_HOME holds no Kafka, Maven is missing, or the artifacts can't be had.
 */
export async function kafkaJars(options: JarsOptions): Promise<KafkaJars> {
  const env = options.env ?? process.env
  if (env.KAFKA_HOME) return jarsOfHome(env.KAFKA_HOME)
  if (!/^\d+\.\d+\.\d+$/.test(options.version)) {
    throw new SetupError(`"${options.version}" is not a Kafka version.`, 'Give a released version, for example 4.4.0.')
  }
  const name = [options.version, ...(options.extraArtifacts ?? [])].join('+')
  const folder = join(cacheFolder(env), 'jars', name)
  const cached = await jarsIn(folder)
  if (cached.length === 0) await fetchJars(folder, options, env)
  return describe(options.version, folder, cached.length > 0 ? cached : await jarsIn(folder))
}

/** `$XDG_CACHE_HOME/kafka-mirrors`, else `~/.cache/kafka-mirrors`. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'kafka-mirrors')
}

/** The project file whose dependencies Maven copies. slf4j-simple lets a broker that can't start say why. */
export function pomFor(version: string, extraArtifacts: readonly string[] = []): string {
  const dependency = (group: string, artifact: string, wanted: string) =>
    `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${wanted}</version></dependency>`
  const kafka = ['kafka_2.13', 'kafka-tools', ...extraArtifacts].map((artifact) => dependency('org.apache.kafka', artifact, version))
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>kafka-mirrors</groupId><artifactId>jars</artifactId><version>${version}</version><packaging>pom</packaging>
<dependencies>
${kafka.join('\n')}
${dependency('org.slf4j', 'slf4j-simple', '1.7.36')}
</dependencies>
</project>
`
}

/** The Kafka version that a folder of jars belongs to, from the name of its clients jar. */
export function versionOfJars(files: readonly string[]): string | undefined {
  for (const file of files) {
    const match = /^kafka-clients-(\d+\.\d+\.\d+.*)\.jar$/.exec(file)
    if (match) return match[1]
  }
  return undefined
}

async function jarsOfHome(home: string): Promise<KafkaJars> {
  const folder = join(home, 'libs')
  const files = await jarsIn(folder)
  const version = versionOfJars(files)
  if (version === undefined) {
    throw new SetupError(
      `KAFKA_HOME is ${home}, but there is no Kafka in ${folder}.`,
      'Point KAFKA_HOME at an unpacked Kafka, or unset it.',
    )
  }
  return describe(version, folder, files)
}

function describe(version: string, folder: string, files: readonly string[]): KafkaJars {
  return { version, folder, classpath: files.map((file) => join(folder, file)).join(':') }
}

async function jarsIn(folder: string): Promise<string[]> {
  const files = await readdir(folder).catch(() => [])
  // The binding that we brought must be the only one: a second would win by chance, and warn.
  const unwanted = files.some((file) => file.startsWith('slf4j-simple-')) ? /^slf4j-(log4j12|reload4j)-/ : /^$/
  return files.filter((file) => file.endsWith('.jar') && !unwanted.test(file)).sort()
}

async function fetchJars(folder: string, options: JarsOptions, env: NodeJS.ProcessEnv): Promise<void> {
  options.onProgress?.(`Fetching Kafka ${options.version} from Maven Central (once, about 100 MB) …`)
  const work = `${folder}.${process.pid}-${randomBytes(4).toString('hex')}`
  await mkdir(work, { recursive: true })
  try {
    const pom = join(work, 'pom.xml')
    const jars = join(work, 'jars')
    await writeFile(pom, pomFor(options.version, options.extraArtifacts))
    const args = ['-B', '-q', '-f', pom, COPY_DEPENDENCIES, `-DoutputDirectory=${jars}`, '-DincludeScope=runtime']
    const result = await runCommand('mvn', args, { env, signal: options.signal, timeoutMs: 900_000 }).catch(mavenMissing)
    if (result.code !== 0) throw mavenFailed(options.version, result.stdout + result.stderr)
    await rename(jars, folder).catch(async (error: NodeJS.ErrnoException) => {
      // Another process was quicker: its jars are the same.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

function mavenMissing(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ENOENT') throw error
  throw new SetupError(
    'Maven (mvn) was not found: Kafka is fetched with it from Maven Central.',
    'Install Maven, or set KAFKA_HOME to an unpacked Kafka.',
  )
}

function mavenFailed(version: string, output: string): SetupError {
  const lines = output.split('\n').filter((line) => line.includes('ERROR'))
  const reason = lines[0]?.replace(/.*ERROR\S*\s*/, '').slice(0, 400) || 'it gave no reason'
  return new SetupError(
    `Maven could not fetch Kafka ${version}: ${reason}`,
    'Check the version and the connection to Maven Central, or set KAFKA_HOME to an unpacked Kafka.',
  )
}

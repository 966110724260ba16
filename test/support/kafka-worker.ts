import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { findJava } from '../../src/playground/java.js'
import { cacheFolder, kafkaJars } from '../../src/playground/kafka-jars.js'
import { exitOf, runCommand } from '../../src/playground/process.js'
import { inTime } from './wait.js'

const SOURCES = fileURLToPath(new URL('./java/', import.meta.url))

/** Brokers of tests come from Maven Central in the version asked for, whatever KAFKA_HOME says. */
export const TEST_ENV: NodeJS.ProcessEnv = { ...process.env, KAFKA_HOME: undefined }

/** Far more than any of them needs, and less than a test has. */
const ANSWERS_WITHIN_MS = 90_000

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined }

interface Call {
  readonly onRecord: (line: string) => void
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/** A JVM with Kafka's own clients that does one request after the other, or many at once (`test/support/java/Worker.java`). */
export class KafkaWorker {
  readonly #child: ChildProcess
  readonly #calls = new Map<number, Call>()
  #nextId = 1
  #stderr = ''
  readonly #threads: string[] = []

  private constructor(child: ChildProcess) {
    this.#child = child
    createInterface({ input: child.stdout! }).on('line', (line) => this.#answer(line))
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-10_000)
    })
    child.stdin!.on('error', () => {})
    child.on('close', () => this.#fail(new Error(`The Java worker has ended\n${this.#stderr}`)))
    child.on('error', (error) => this.#fail(error))
  }

  /** @param version of Kafka's clients; one is enough for all brokers from 2.1 on. */
  static async start(version = '4.4.0'): Promise<KafkaWorker> {
    const [java, jars] = await Promise.all([findJava('4.0.0', TEST_ENV), kafkaJars({ version, env: TEST_ENV })])
    const classes = await compiled(java.command, version, jars.classpath)
    const flags = ['-Xmx512m', '-XX:+UseSerialGC', '-Dorg.slf4j.simpleLogger.defaultLogLevel=error']
    // The end of its input ends the worker, so it can't outlive us.
    return new KafkaWorker(spawn(java.command, [...flags, '-cp', `${classes}:${jars.classpath}`, 'Worker']))
  }

  /**
   * @param onRecord called with every record or event line before the result
   * @throws Error with the class and message of the Java exception; also when it takes too long, with what the JVM's threads do
   */
  async request<T>(command: string, request: { readonly [key: string]: Json | undefined }, onRecord = (_line: string) => {}): Promise<T> {
    const { result } = this.start(command, request, onRecord)
    const late = setTimeout(() => this.#child.kill('SIGQUIT'), ANSWERS_WITHIN_MS)
    try {
      return (await inTime(result, ANSWERS_WITHIN_MS + 1_000, `'${command}' of the Java worker`)) as T
    } catch (error) {
      if (this.#threads.length > 0) throw new Error(`${(error as Error).message}\n${this.#threads.join('\n')}`)
      throw error
    } finally {
      clearTimeout(late)
    }
  }

  /** As `request`, for commands that go on until another one (`stop`) names their id. */
  start(command: string, request: { readonly [key: string]: Json | undefined }, onRecord = (_line: string) => {}) {
    const id = this.#nextId++
    const result = new Promise<unknown>((resolve, reject) => {
      this.#calls.set(id, { onRecord, resolve, reject })
      this.#child.stdin!.write(`${JSON.stringify({ ...request, id, command })}\n`)
    })
    return { id, result }
  }

  async close(): Promise<void> {
    this.#child.kill('SIGKILL')
    await exitOf(this.#child)
  }

  #answer(line: string): void {
    const first = line.indexOf('\t')
    const id = Number(line.slice(0, first))
    const call = this.#calls.get(id)
    if (!call) {
      // A thread dump, asked for.
      if (Number.isNaN(id) || first <= 0) this.#threads.push(line)
      return
    }
    const text = line.slice(first + 3)
    const kind = line[first + 1]
    if (kind === 'R') {
      call.onRecord(text)
      return
    }
    this.#calls.delete(id)
    if (kind === 'E') call.resolve(JSON.parse(text))
    else call.reject(new Error(text))
  }

  #fail(error: Error): void {
    for (const call of this.#calls.values()) call.reject(error)
    this.#calls.clear()
  }
}

/** The worker's classes, compiled once per content of the sources and Kafka version. */
async function compiled(java: string, version: string, classpath: string): Promise<string> {
  const files = (await readdir(SOURCES)).filter((file) => file.endsWith('.java')).sort()
  const hash = createHash('sha256').update(version)
  for (const file of files) hash.update(await readFile(join(SOURCES, file)))
  const folder = join(cacheFolder(TEST_ENV), 'classes', hash.digest('hex').slice(0, 16))
  if (await stat(folder).catch(() => undefined)) return folder
  const work = `${folder}.${process.pid}`
  await mkdir(work, { recursive: true })
  const paths = files.map((file) => join(SOURCES, file))
  const args = ['-m', 'jdk.compiler/com.sun.tools.javac.Main', '-proc:none', '-encoding', 'UTF-8', '-nowarn', '-cp', classpath, '-d', work]
  const result = await runCommand(java, [...args, ...paths])
  if (result.code !== 0) throw new Error(`The Java worker does not compile:\n${result.stderr}`)
  await rename(work, folder).catch(() => rm(work, { recursive: true, force: true }))
  return folder
}

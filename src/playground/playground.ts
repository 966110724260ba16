import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Cluster } from '../client/cluster.js'
import { clientConfigOf } from '../client/config.js'
import { findJava } from './java.js'
import { type KafkaBroker, startBroker } from './kafka-broker.js'
import { kafkaJars } from './kafka-jars.js'
import { LiveView } from './live-view.js'
import { Watchdog } from './process.js'
import { RunnerProcess } from './runner-process.js'
import { SAMPLE_TOPICS, SampleProducer } from './sample-producer.js'

export interface PlaygroundOptions {
  /** Whether records are written all the while, not only once at the beginning. Default: true. */
  readonly producer?: boolean
  readonly sourceVersion?: string
  readonly destinationVersion?: string
  /** Ends by itself after so many milliseconds of mirroring. Default: when the signal is aborted. */
  readonly durationMs?: number
}

/** What the playground needs of `MirrorAdmin`; `Description` is what it shows. */
export interface PlaygroundAdmin<Description> {
  createMirror(name: string, configs: Readonly<Record<string, string>>): Promise<unknown>
  addTopicsToMirror(topicToMirror: Readonly<Record<string, string>>): Promise<{ readonly topics: readonly AddedTopic[] }>
  waitForMirroring(mirror: string, topics: Iterable<string>, timeoutMs: number): Promise<void>
  describeMirrors(): Promise<Description>
  close(): Promise<void>
}

type AddedTopic = { readonly ok: true } | { readonly ok: false; readonly error: Error }

/** The world around the playground. */
export interface PlaygroundIo<Description> {
  /** Data: the description and the commands. */
  readonly print: (text: string) => void
  /** Progress, a line at a time. */
  readonly tell: (line: string) => void
  /** Whether `print` goes to a terminal. */
  readonly live: boolean
  readonly env: NodeJS.ProcessEnv
  /** Aborted when the user has had enough. */
  readonly signal: AbortSignal
  /** The command line that starts our program, for the runner: for example node and `bin/run.js`. */
  readonly program: readonly string[]
  /** How a user types our program's name here. */
  readonly programName: string
  readonly createAdmin: (bootstrap: string) => PlaygroundAdmin<Description> | Promise<PlaygroundAdmin<Description>>
  readonly render: (description: Description) => string | Promise<string>
}

const MIRROR = 'playground'
const RECORDS_AT_FIRST = 1_000
const MIRRORING_WITHIN_MS = 120_000
const LAST_STEP_WITHIN_MS = 10_000
const REFRESH_MS = 1_000
/** Without a terminal every refresh stays on the page. */
const SLOW_REFRESH_MS = 5_000

/**
 * Two real clusters with a mirror between them, to try things on: resolves after `durationMs`, or when the signal is
 * aborted, with everything stopped and deleted again. Whatever goes wrong, nothing is left behind.
 *
 * @throws SetupError without Java, Maven or the Kafka version; Error of whatever failed.
 */
export async function runPlayground<Description>(options: PlaygroundOptions, io: PlaygroundIo<Description>): Promise<void> {
  const cleanups: (() => Promise<unknown>)[] = []
  const playing = play(options, io, cleanups)
  try {
    await Promise.race([playing, rejectWhenAborted(io.signal)])
  } catch (error) {
    if (!io.signal.aborted) throw error
  } finally {
    if (cleanups.length > 0) io.tell('Stopping and deleting everything …')
    await cleanUp(cleanups, io.tell)
    // Interrupted in the middle of a step, that step may have begun one thing more.
    await Promise.race([playing.catch(() => {}), pause(LAST_STEP_WITHIN_MS, undefined, { ref: false })])
    await cleanUp(cleanups, io.tell)
  }
}

/** What was begun last goes first. One that fails must not keep the others. */
async function cleanUp(cleanups: (() => Promise<unknown>)[], tell: (line: string) => void): Promise<void> {
  for (let cleanup = cleanups.pop(); cleanup; cleanup = cleanups.pop()) {
    await cleanup().catch((error: Error) => tell(`Cleaning up: ${error.message}`))
  }
}

async function play<Description>(
  options: PlaygroundOptions,
  io: PlaygroundIo<Description>,
  cleanups: (() => Promise<unknown>)[],
): Promise<void> {
  const [source, destination] = await startClusters(options, io, cleanups)
  const folder = await mkdtemp(join(tmpdir(), 'kafka-mirrors-playground-'))
  const watchdog = new Watchdog(folder)
  cleanups.push(() => {
    watchdog.release()
    return rm(folder, { recursive: true, force: true })
  })
  const cluster = new Cluster(clientConfigOf(new Map([['bootstrap.servers', source.bootstrap]])).config)
  cleanups.push(() => cluster.close())
  const producer = new SampleProducer(cluster)
  io.tell(`Writing ${RECORDS_AT_FIRST} records into each partition of ${topicNames().join(' and ')} …`)
  await producer.prepare(RECORDS_AT_FIRST)

  const admin = await io.createAdmin(destination.bootstrap)
  cleanups.push(() => admin.close())
  await admin.createMirror(MIRROR, { 'bootstrap.servers': source.bootstrap })
  const added = await admin.addTopicsToMirror(Object.fromEntries(topicNames().map((topic) => [topic, MIRROR])))
  for (const topic of added.topics) if (!topic.ok) throw topic.error

  io.signal.throwIfAborted()
  const logFile = join(folder, 'runner.log')
  io.tell('Starting a runner …')
  const runner = new RunnerProcess(io.program, destination.bootstrap, logFile, io.env)
  cleanups.push(() => runner.stop())
  if (options.producer !== false) cleanups.push(inBackground((signal) => producer.run(signal)))
  await Promise.race([admin.waitForMirroring(MIRROR, topicNames(), MIRRORING_WITHIN_MS), runner.failure])
  io.print(introduction(io.programName, source, destination, logFile))
  await Promise.race([watch(options, io, admin), runner.failure])
}

async function startClusters<Description>(
  options: PlaygroundOptions,
  io: PlaygroundIo<Description>,
  cleanups: (() => Promise<unknown>)[],
): Promise<[KafkaBroker, KafkaBroker]> {
  const versions = [options.sourceVersion ?? '3.9.1', options.destinationVersion ?? '4.4.0'] as const
  const common = { env: io.env, onProgress: io.tell, signal: io.signal }
  // One after the other, so that what is missing is said once.
  for (const version of new Set(versions)) {
    await findJava(version, io.env)
    await kafkaJars({ ...common, version })
  }
  io.tell('Starting two clusters …')
  const starting = versions.map((version, index) => startBroker({ ...common, version, preferredPort: [9092, 9094][index] }))
  for (const broker of starting)
    cleanups.push(() =>
      broker.then(
        (started) => started.close(),
        () => undefined,
      ),
    )
  const [source, destination] = await Promise.all(starting)
  return [source!, destination!]
}

/** Shows the description until the time is over. One that can't be had is told, and asked for again. */
async function watch<Description>(
  options: PlaygroundOptions,
  io: PlaygroundIo<Description>,
  admin: PlaygroundAdmin<Description>,
): Promise<void> {
  const end = options.durationMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + options.durationMs
  const view = new LiveView(io.print, io.live)
  for (;;) {
    const text = await admin.describeMirrors().then(io.render, (error: Error) => `${error.message.split('\n')[0]}\n`)
    view.show(text)
    const left = end - Date.now()
    if (left <= 0) return
    await pause(Math.min(left, io.live ? REFRESH_MS : SLOW_REFRESH_MS), undefined, { signal: io.signal })
  }
}

function introduction(program: string, source: KafkaBroker, destination: KafkaBroker, logFile: string): string {
  const at = `--bootstrap-server ${destination.bootstrap}`
  return `
Source       ${source.bootstrap}   Kafka ${source.version}
Destination  ${destination.bootstrap}   Kafka ${destination.version}
Runner's log ${logFile}

Try in another terminal:
  ${program} list ${at}
  ${program} describe ${at} -o wide
  ${program} verify ${at} --mirror ${MIRROR}
  ${program} throttle ${at} --broker ${destination.nodeId} --rate 1kB
  ${program} throttle ${at} --broker ${destination.nodeId} --clear
  ${program} remove ${at} --mirror ${MIRROR} --topic orders
  ${program} add ${at} --mirror ${MIRROR} --topic orders
  ${program} delete ${at} --mirror ${MIRROR}
Ctrl-C ends it all.

`
}

function topicNames(): string[] {
  return SAMPLE_TOPICS.map(({ name }) => name)
}

/** Starts work that goes on until the returned function is called, which waits for its end. */
function inBackground(work: (signal: AbortSignal) => Promise<void>): () => Promise<void> {
  const controller = new AbortController()
  const done = work(controller.signal)
  return () => {
    controller.abort()
    return done
  }
}

function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  const rejection = new Promise<never>((_, reject) => {
    const abort = () => reject(new Error('Interrupted'))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
  rejection.catch(() => {})
  return rejection
}

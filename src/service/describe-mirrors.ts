import { listOffsets, type OffsetPoint } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { type OpenTransaction, openTransactions, waitsForTransaction } from '../engine/open-transactions.js'
import { failure } from '../mirror/errors.js'
import { DESTINATION, toMirrorError } from '../mirror/failures.js'
import { parsePattern } from '../mirror/filters.js'
import { isActive } from '../mirror/fold.js'
import type { PartitionState } from '../mirror/partition-states.js'
import { withoutSecrets } from '../mirror/secrets.js'
import { type Mirror, mustExist } from '../mirror/spec-store.js'
import type { PartitionStatus, TopicSpec } from '../mirror/state.js'
import { type ServiceContext, within } from './context.js'
import { listingOf } from './list-mirrors.js'
import { failedSyncs, metadataOf } from './metadata-view.js'
import { partitionsOf } from './partitions.js'
import { liveRunners } from './runners.js'
import { checkedClusterId, withSource } from './source-connection.js'
import type { DescribeMirrorsOptions, DescribeMirrorsResult, MirrorPartition } from './types.js'

const DEFAULT_TIMEOUT_MS = 3_000

/** One partition to be shown. */
interface Shown {
  readonly mirror: Mirror
  readonly topic: string
  readonly spec: TopicSpec
  readonly partition: number
}

/** topic/partition → offset, for what is known. */
type Offsets = ReadonlyMap<string, bigint>

/** What the source says. */
interface SourceView {
  readonly ends: Offsets
  readonly stable: Offsets
  readonly transactions: ReadonlyMap<string, OpenTransaction>
}

const NONE: Offsets = new Map()

/** See {@link MirrorAdmin.describeMirrors}. */
export async function describeMirrors(
  context: ServiceContext,
  names: Iterable<string> | undefined,
  options: DescribeMirrorsOptions,
): Promise<DescribeMirrorsResult> {
  const state = await context.store.read()
  const wanted = [...new Set(names)]
  const mirrors = (wanted.length === 0 ? state.mirrors() : wanted.map((name) => mustExist(state, name))).sort((a, b) =>
    a.name < b.name ? -1 : 1,
  )
  const shown = mirrors.flatMap((mirror) => shownOf(mirror, options))
  checkTopics(mirrors, options)
  const warnings: string[] = []
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS
  const [destination, sources] = await Promise.all([
    destinationOffsets(context.destination, shown, timeoutMs, warnings),
    Promise.all(
      mirrors.map((mirror) =>
        sourceOffsets(
          mirror,
          shown.filter((one) => one.mirror === mirror),
          timeoutMs,
          warnings,
        ),
      ),
    ),
    warnIfNobodyRuns(context.destination, shown, timeoutMs, warnings),
  ])
  const bySource = new Map(mirrors.map((mirror, i) => [mirror.name, sources[i]!]))
  const metadata = new Map(mirrors.map((mirror) => [mirror, metadataOf(mirror)]))
  warnings.push(
    ...unfinishedAdditions(mirrors),
    ...unfinishedReseeds(mirrors),
    ...[...metadata].flatMap(([{ name }, known]) => failedSyncs(name, known)),
  )
  const partitions = shown.map((one) => rowOf(one, destination, bySource.get(one.mirror.name)!))
  return {
    mirrors: mirrors.map((mirror) => ({ ...listingOf(mirror), configs: withoutSecrets(mirror.configs), ...metadata.get(mirror)! })),
    partitions: options.failed ? partitions.filter((row) => row.state === 'FAILED') : partitions,
    warnings,
  }
}

function shownOf(mirror: Mirror, options: DescribeMirrorsOptions): Shown[] {
  const patterns = options.topics?.map(parsePattern)
  return [...mirror.topics]
    .filter(([topic, spec]) => (options.all || isActive(spec)) && (patterns?.some((pattern) => pattern.matches(topic)) ?? true))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([topic, spec]) => partitionsOf(spec).map((partition) => ({ mirror, topic, spec, partition })))
}

/** A topic asked for by name must be there. */
function checkTopics(mirrors: readonly Mirror[], options: DescribeMirrorsOptions): void {
  for (const pattern of options.topics?.map(parsePattern) ?? []) {
    const known = mirrors.some((mirror) =>
      [...mirror.topics].some(([topic, spec]) => (options.all || isActive(spec)) && pattern.matches(topic)),
    )
    if (known) continue
    const where = mirrors.length === 1 ? `mirror ${mirrors[0]!.name} has` : 'no mirror has'
    throw failure('TOPIC_NOT_MIRRORED', `${where} ${mirrors.length === 1 ? 'no' : 'a'} topic ${pattern.text}`)
  }
}

function rowOf({ mirror, topic, spec, partition }: Shown, destination: Offsets, source: SourceView): MirrorPartition {
  const known = mirror.statuses.get(topic)?.get(partition)
  // A status of an earlier addition of the topic says nothing about this one.
  const status = known?.addedAt === spec.addedAt ? known : undefined
  const key = `${topic}/${partition}`
  const active = isActive(spec)
  const removedAt = mirror.results.get(topic)?.partitions.find((one) => one.partition === partition)?.logEndOffset
  const sourceOffset = source.ends.get(key)
  const destinationOffset = active ? destination.get(key) : removedAt
  const lastStableOffset = source.stable.get(key)
  const waits = active && waitsForTransaction({ sourceHighWatermark: sourceOffset, lastStableOffset, logEndOffset: destinationOffset })
  const bothKnown = active && sourceOffset !== undefined && destinationOffset !== undefined
  return {
    mirror: mirror.name,
    topic,
    partition,
    sourceOffset,
    destinationOffset,
    // Read a moment apart, the destination may seem ahead by what was copied between.
    lag: bothKnown ? (sourceOffset > destinationOffset ? sourceOffset - destinationOffset : 0n) : undefined,
    state: stateOf(spec, status),
    since: status?.since,
    lastStableOffset,
    owner: status?.owner,
    error: status?.error?.message,
    retries: status?.error?.retries ?? 0,
    errorSince: status?.error?.at,
    fillMode: status?.fillMode,
    held: spec.held,
    lostRanges: status?.lostRanges ?? [],
    lostOffsets: (status?.lostRanges ?? []).reduce((sum, { from, to }) => sum + to - from + 1n, 0n),
    openTransaction: waits ? source.transactions.get(key) : undefined,
  }
}

function stateOf(spec: TopicSpec, status: PartitionStatus | undefined): PartitionState {
  if (spec.desired === 'STOPPED') return 'STOPPED'
  // Whatever owners have said: it is not writable yet.
  if (spec.desired === 'STOPPING') return 'STOPPING'
  // A verdict stays one until somebody looks again.
  if (spec.desired === 'PAUSED' && status?.state !== 'PAUSED' && status?.state !== 'FAILED') return 'PAUSING'
  return status?.state ?? 'LOG_ALIGNMENT'
}

async function offsetsOf(cluster: Cluster, shown: readonly Shown[], at: OffsetPoint): Promise<Offsets> {
  const answers = await listOffsets(
    cluster,
    shown.map(({ topic, partition }) => ({ topic, partition, at })),
  )
  return new Map(
    answers.flatMap((answer, i) => (answer.ok ? [[`${shown[i]!.topic}/${shown[i]!.partition}`, answer.value.offset] as const] : [])),
  )
}

async function destinationOffsets(cluster: Cluster, shown: readonly Shown[], timeoutMs: number, warnings: string[]): Promise<Offsets> {
  const active = shown.filter(({ spec }) => isActive(spec))
  if (active.length === 0) return NONE
  const told = (error: unknown) => warnings.push(toMirrorError(error, DESTINATION).message)
  return (await within(timeoutMs, offsetsOf(cluster, active, 'latest'), told)) ?? NONE
}

async function sourceOffsets(mirror: Mirror, shown: readonly Shown[], timeoutMs: number, warnings: string[]): Promise<SourceView> {
  const nothing = { ends: NONE, stable: NONE, transactions: new Map() }
  const active = shown.filter(({ spec }) => isActive(spec))
  if (active.length === 0) return nothing
  const asked = withSource({ mirror: mirror.name, configs: mirror.configs }, async (source) => {
    await checkedClusterId(source, mirror.name, mirror.spec.sourceClusterId)
    const [ends, stable] = await Promise.all([offsetsOf(source, active, 'latest'), offsetsOf(source, active, 'lastStable')])
    const isHeld = ({ topic, partition }: Shown) => (stable.get(`${topic}/${partition}`) ?? 0n) < (ends.get(`${topic}/${partition}`) ?? 0n)
    const transactions = await openTransactions(source, active.filter(isHeld))
    return { ends, stable, transactions }
  })
  const told = (error: unknown) =>
    warnings.push(`mirror ${mirror.name}: source offsets are unknown: ${error instanceof Error ? error.message : error}`)
  return (await within(timeoutMs, asked, told)) ?? nothing
}

/** Somebody may be at it just now; if not, the topic waits for it to be finished, by a runner if a pattern matches it. */
const unfinishedAdditions = (mirrors: readonly Mirror[]): string[] =>
  mirrors.flatMap(({ name, topics }) =>
    [...topics]
      .filter(([, { desired }]) => desired === 'ADDING')
      .map(
        ([topic, { addedAt }]) =>
          `topic ${topic} is being added to mirror ${name} since ${new Date(addedAt).toISOString()}; if that was interrupted: kafka-mirrors add --mirror ${name} --topic ${topic} goes on with it, remove undoes it`,
      ),
  )

/** Somebody may be at it just now; if not, the topic waits for it to be finished. */
function unfinishedReseeds(mirrors: readonly Mirror[]): string[] {
  return mirrors.flatMap(({ name, topics }) =>
    [...topics].flatMap(([topic, { reseed }]) => {
      if (reseed === undefined) return []
      const command = `kafka-mirrors recover --mirror ${name} --topic ${topic} --on-divergence reseed --yes`
      return [
        `topic ${topic} of mirror ${name} is being copied again since ${new Date(reseed.at).toISOString()}; if that was interrupted: ${command}`,
      ]
    }),
  )
}

async function warnIfNobodyRuns(destination: Cluster, shown: readonly Shown[], timeoutMs: number, warnings: string[]): Promise<void> {
  if (!shown.some(({ spec }) => isActive(spec))) return
  const runners = await within(timeoutMs, liveRunners(destination), (error) =>
    warnings.push(`whether a runner is alive is unknown: ${error instanceof Error ? error.message : error}`),
  )
  if (runners === 0)
    warnings.push('no runner is alive: states are the last ones known, and nothing is copied until one is started with run')
}

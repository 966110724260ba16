import { setTimeout as sleep } from 'node:timers/promises'
import { listOffsets, type TopicPartition } from '../client/admin.js'
import { failure, type MirrorError } from '../mirror/errors.js'
import { about, DESTINATION } from '../mirror/failures.js'
import type { MirrorState } from '../mirror/fold.js'
import { type Mirror, mustExist } from '../mirror/spec-store.js'
import type { ServiceContext } from './context.js'
import { liveRunners } from './runners.js'
import { keyOf, type Offsets, type SourceContact } from './source-contact.js'
import type { DrainProgress } from './types.js'

/** Between two looks: who writes at all is seen to. */
const LOOK_EVERY_MS = 1_000
const NAMED = 5
/** Looks without a runner before it is given up: one may just be restarting. */
const LOOKS_WITHOUT_RUNNER = 10

export interface DrainWork {
  readonly context: ServiceContext
  readonly mirror: Mirror
  readonly partitions: readonly TopicPartition[]
  readonly source: SourceContact
  readonly timeoutMs: number
  readonly onProgress?: ((progress: DrainProgress) => void) | undefined
}

/** Both sides of the partitions at one look. */
export interface Look {
  readonly ends: Offsets
  readonly stable: Offsets
  readonly here: Offsets
}

/**
 * Waits until the writers have stopped and everything they wrote is here: for all partitions at once the destination ends where the
 * source's last stable offset and its end are, and where the source ended a look before. Changes nothing. Throws MirrorError:
 * SOURCE_UNREACHABLE, or TIMEOUT naming the partitions that still move, and why.
 */
export async function drain(work: DrainWork): Promise<void> {
  const { context, mirror, partitions, source, timeoutMs, onProgress = () => {} } = work
  const until = performance.now() + timeoutMs
  if ((await source.whenReached()) === undefined) throw needsSource(source)
  let before: Offsets = new Map()
  let withoutRunner = 0
  for (;;) {
    const look = await lookAtBoth(work)
    const open = partitions.filter((one) => whyOpen(one, look, before) !== undefined)
    onProgress({ partitions: partitions.length, drained: partitions.length - open.length, lag: lagOf(open, look) })
    if (open.length === 0) return
    const runners = await liveRunners(context.destination).catch(() => undefined)
    withoutRunner = runners === 0 ? withoutRunner + 1 : 0
    if (performance.now() >= until || withoutRunner >= LOOKS_WITHOUT_RUNNER)
      throw stillMoving(await context.store.read(), mirror, open, look, before, runners)
    before = look.ends
    await sleep(Math.max(1, Math.min(LOOK_EVERY_MS, until - performance.now())))
  }
}

/** The destination is asked last: what it has then, the source had before. */
async function lookAtBoth({ context, partitions, source }: DrainWork): Promise<Look> {
  const [ends, stable] = await Promise.all([source.offsets(partitions, 'latest'), source.offsets(partitions, 'lastStable')])
  const here = await endsHere(context, partitions)
  return { ends, stable, here }
}

/** Where these partitions end on the destination, as far as their leaders say. Throws MirrorError if it is out of reach. */
export async function endsHere({ destination }: ServiceContext, partitions: readonly TopicPartition[]): Promise<Offsets> {
  const queries = partitions.map(({ topic, partition }) => ({ topic, partition, at: 'latest' as const }))
  const answers = await about(DESTINATION, undefined, () => listOffsets(destination, queries))
  return new Map(answers.flatMap((answer, i) => (answer.ok ? [[keyOf(partitions[i]!), answer.value.offset] as const] : [])))
}

/** Why more may come, as a phrase behind the partition's name; undefined if nothing can. Pure. */
export function whyOpen(one: TopicPartition, { ends, stable, here }: Look, before: Offsets): string | undefined {
  const key = keyOf(one)
  const [end, lastStable, copied, endBefore] = [ends.get(key), stable.get(key), here.get(key), before.get(key)]
  if (end === undefined || lastStable === undefined) return 'is not told about by the source'
  if (copied === undefined) return 'has no leader on the destination'
  if (endBefore !== undefined && endBefore !== end) return `is still written to on the source, from offset ${endBefore} to ${end}`
  if (lastStable < end) return `waits on the source for the transaction open since offset ${lastStable}`
  if (copied < end) return `lacks ${end - copied} offset(s)`
  if (copied > end) return `is ${copied - end} offset(s) ahead of the source`
  return endBefore === undefined ? 'was looked at only once' : undefined
}

const lagOf = (partitions: readonly TopicPartition[], { ends, here }: Look): bigint =>
  partitions.reduce((sum, one) => {
    const lag = (ends.get(keyOf(one)) ?? 0n) - (here.get(keyOf(one)) ?? 0n)
    return lag > 0n ? sum + lag : sum
  }, 0n)

function stillMoving(
  state: MirrorState,
  { name }: Mirror,
  open: readonly TopicPartition[],
  look: Look,
  before: Offsets,
  runners: number | undefined,
): MirrorError {
  const topics = mustExist(state, name).topics
  const told = open.slice(0, NAMED).map((one) => {
    const status = state.status(name, one.topic, one.partition)
    const error = status?.addedAt === topics.get(one.topic)?.addedAt ? status?.error?.message : undefined
    return `${one.topic}-${one.partition} ${whyOpen(one, look, before)}${error === undefined ? '' : ` (${error})`}`
  })
  const more = open.length > NAMED ? ` and ${open.length - NAMED} more` : ''
  const advice =
    runners === 0
      ? 'No runner is alive; start one with run. Nothing was changed.'
      : 'Nothing was changed and mirroring goes on; see that the writers have stopped and try again.'
  return failure('TIMEOUT', `mirror ${name} is not drained: ${told.join('; ')}${more}`, advice)
}

const needsSource = (source: SourceContact): MirrorError =>
  failure(
    'SOURCE_UNREACHABLE',
    `a drain needs the source: ${source.trouble}`,
    'Nothing was changed; without --drain topics are removed without the source.',
  )

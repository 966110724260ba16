import { listOffsets } from '../client/admin.js'
import type { KeyedRecord } from '../client/keyed-log.js'
import { type ActiveTopic, isActive, type MirrorState } from '../mirror/fold.js'
import { releaseSettings } from '../mirror/held.js'
import type { PartitionStatus, RemovalResult } from '../mirror/state.js'
import { DEFAULT_SESSION_TIMEOUT_MS } from '../mirror/state-topic.js'
import { transactionalIdOf } from '../mirror/transactional-id.js'
import type { ServiceContext } from './context.js'
import { about, DESTINATION } from './failures.js'
import { endTransactions, type Fence, fencePartition } from './fence.js'
import { liveRunners } from './runners.js'
import { erase, type Mirror, mustExist, put } from './state-store.js'
import { watchState } from './state-watch.js'
import { applyTopicSettings, refusalWarnings } from './topic-settings.js'

const MARGIN_MS = 5_000

/** A topic on its way out: the spec as it was when the removal was written down. */
export interface Leaving {
  readonly topic: string
  readonly spec: ActiveTopic
}

/** Waits until the owners have confirmed, or nobody is left to, or time is up. Gives the state as last seen. */
export async function awaitConfirmation(
  { destination }: ServiceContext,
  name: string,
  leaving: readonly Leaving[],
  timeoutMs = DEFAULT_SESSION_TIMEOUT_MS + MARGIN_MS,
): Promise<MirrorState> {
  const nobody = async () => (await liveRunners(destination)) === 0
  return about(DESTINATION, undefined, async () => {
    const runners = await liveRunners(destination).catch(() => 1)
    const done = (state: MirrorState) =>
      runners === 0 ||
      leaving.every(({ topic, spec }) => partitionsOf(spec).every((partition) => isOver(statusOf(state, name, topic, spec, partition))))
    return watchState(destination, done, { timeoutMs, givenUp: nobody })
  })
}

const partitionsOf = ({ partitions }: ActiveTopic): number[] => Array.from({ length: partitions }, (_, partition) => partition)

/** A status of an earlier addition says nothing about this one. */
function statusOf(state: MirrorState, mirror: string, topic: string, spec: ActiveTopic, partition: number): PartitionStatus | undefined {
  const status = state.status(mirror, topic, partition)
  return status?.addedAt === spec.addedAt ? status : undefined
}

/** Whether the owner has said all that it will. */
const isOver = (status: PartitionStatus | undefined): boolean => confirmed(status) || status?.needsFence === true

const confirmed = (status: PartitionStatus | undefined): boolean => status?.state === 'STOPPED'

/** What became of whoever copied a topic; the log ends are those before fence markers. */
export interface ShutOut {
  readonly how: RemovalResult['how']
  readonly partitions: RemovalResult['partitions']
}

/** Fences every partition whose owner did not confirm. Safe to repeat. Throws KafkaError, ConnectionError, MirrorError. */
export async function shutOut(
  context: ServiceContext,
  state: MirrorState,
  name: string,
  { topic, spec }: Leaving,
  warnings: string[],
): Promise<ShutOut> {
  const fences = await Promise.all(
    partitionsOf(spec).map(async (partition) => {
      const status = statusOf(state, name, topic, spec, partition)
      return { partition, fence: await letGo(context, name, topic, spec, partition, status) }
    }),
  )
  const how = fences.some(({ fence }) => fence.how === 'unfenced')
    ? 'unfenced'
    : fences.some(({ fence }) => fence.how === 'fenced')
      ? 'fenced'
      : 'confirmed'
  if (how === 'unfenced' && fences.some(({ fence }) => fence.logEndOffset !== undefined)) {
    warnings.push(`topic ${topic}: a runner that still copies could not be shut out, for want of ALTER on the cluster of the destination`)
  }
  const partitions = fences.flatMap(({ partition, fence }) =>
    fence.logEndOffset === undefined ? [] : [{ partition, logEndOffset: fence.logEndOffset }],
  )
  return { how, partitions }
}

/** Fences what nobody confirmed, gives the topic its real settings, and records the outcome. Safe to repeat. */
export async function finishRemoval(
  context: ServiceContext,
  state: MirrorState,
  name: string,
  leaving: Leaving,
  warnings: string[],
): Promise<RemovalResult> {
  const { topic, spec } = leaving
  const { how, partitions } = await shutOut(context, state, name, leaving, warnings)
  const settings = await applyTopicSettings(context.destination, topic, releaseSettings(spec.held))
  warnings.push(...refusalWarnings(topic, settings))
  if (!settings.exists) warnings.push(`topic ${topic} is not on the destination any more`)
  const result: RemovalResult = { how, at: context.now(), partitions }
  await context.store.update((latest) => {
    const mirror = mustExist(latest, name)
    const now = mirror.topics.get(topic)
    if (!isActive(now) || now.addedAt !== spec.addedAt) return { records: [], result: undefined }
    const records = [
      put({ kind: 'result', mirror: name, topic }, result),
      put({ kind: 'topic', mirror: name, topic }, { ...now, desired: 'STOPPED', held: {}, reseed: undefined }),
      ...eraseRecoveries(mirror, topic),
    ]
    return { records, result: undefined }
  })
  return result
}

/** Wishes for partitions of a topic that is not what it was. */
export const eraseRecoveries = (mirror: Mirror, topic: string): KeyedRecord[] =>
  [...(mirror.recoveries.get(topic)?.keys() ?? [])].map((partition) => erase({ kind: 'recovery', mirror: mirror.name, topic, partition }))

interface LetGo extends Omit<Fence, 'how'> {
  readonly how: Fence['how'] | 'confirmed'
}

async function letGo(
  { destination }: ServiceContext,
  name: string,
  topic: string,
  spec: ActiveTopic,
  partition: number,
  status: PartitionStatus | undefined,
): Promise<LetGo> {
  // Without a status no runner ever took the partition up, so there is nobody to shut out.
  if (status !== undefined && !confirmed(status)) {
    if (status.fillMode === 'transactions') await endTransactions(destination, transactionalIdOf(name, topic, partition))
    return fencePartition(destination, topic, partition, spec.producers[partition]!, status)
  }
  if (status?.stoppedAt !== undefined) return { how: 'confirmed', logEndOffset: status.stoppedAt }
  const [end] = await listOffsets(destination, [{ topic, partition, at: 'latest' }])
  return { how: 'confirmed', logEndOffset: end!.ok ? end!.value.offset : undefined }
}

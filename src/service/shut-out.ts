import { failed, listOffsets, type Result, success } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { inPool } from '../client/many.js'
import { about, DESTINATION } from '../mirror/failures.js'
import type { ActiveTopic, MirrorState } from '../mirror/fold.js'
import type { PartitionStatus, RemovalResult } from '../mirror/state.js'
import { DEFAULT_SESSION_TIMEOUT_MS } from '../mirror/state-topic.js'
import { transactionalIdOf } from '../mirror/transactional-id.js'
import type { ServiceContext } from './context.js'
import { endTransactions, type Fence, fencePartitions } from './fence.js'
import { liveRunners } from './runners.js'
import { watchState } from './state-watch.js'

const MARGIN_MS = 5_000
/** InitProducerId requests in flight at once, of partitions that are filled by transactions. */
const CLAIMS_AT_ONCE = 32

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

export const partitionsOf = ({ partitions }: ActiveTopic): number[] => Array.from({ length: partitions }, (_, partition) => partition)

/** A status of an earlier addition says nothing about this one. */
export function statusOf(
  state: MirrorState,
  mirror: string,
  topic: string,
  spec: ActiveTopic,
  partition: number,
): PartitionStatus | undefined {
  const status = state.status(mirror, topic, partition)
  return status?.addedAt === spec.addedAt ? status : undefined
}

/** Whether the owner has said all that it will. */
const isOver = (status: PartitionStatus | undefined): boolean => confirmed(status) || status?.needsFence === true

/** With an error it is the source's topic that is gone: its owner may still see it come back. */
const confirmed = (status: PartitionStatus | undefined): boolean => status?.state === 'STOPPED' && status.error === undefined

/** What became of whoever copied a topic; the log ends are those before fence markers. */
export interface ShutOut {
  readonly how: RemovalResult['how']
  readonly partitions: RemovalResult['partitions']
}

/** {@link shutOutAll} for one topic. Throws KafkaError, ConnectionError, MirrorError. */
export async function shutOut(
  context: ServiceContext,
  state: MirrorState,
  name: string,
  leaving: Leaving,
  warnings: string[],
): Promise<ShutOut> {
  const result = (await shutOutAll(context, state, name, [leaving], warnings)).get(leaving.topic)!
  if (!result.ok) throw result.error
  return result.value
}

/** One partition of the topics that leave. */
interface LeavingPartition {
  readonly topic: string
  readonly partition: number
  readonly spec: ActiveTopic
  readonly status: PartitionStatus | undefined
}

interface LetGo extends Omit<Fence, 'how'> {
  readonly how: Fence['how'] | 'confirmed'
}

/**
 * Fences every partition whose owner did not confirm, all topics together: what takes one round trip for a partition takes one
 * for a thousand. Topic → outcome; one topic's failure is not another's. Safe to repeat.
 */
export async function shutOutAll(
  { destination }: ServiceContext,
  state: MirrorState,
  name: string,
  leaving: readonly Leaving[],
  warnings: string[],
): Promise<Map<string, Result<ShutOut>>> {
  const all = leaving.flatMap(({ topic, spec }) =>
    partitionsOf(spec).map((partition) => ({ topic, partition, spec, status: statusOf(state, name, topic, spec, partition) })),
  )
  const results = new Map<LeavingPartition, Result<LetGo>>()
  // Without a status no runner ever took the partition up, so there is nobody to shut out.
  const [quiet, unconfirmed] = parted(all, ({ status }) => status === undefined || confirmed(status))
  await Promise.all([letGo(destination, quiet, results), fence(destination, name, unconfirmed, results)])
  return new Map(
    leaving.map(({ topic }) => {
      const partitions = all.filter((one) => one.topic === topic)
      return [
        topic,
        outcomeOf(
          topic,
          partitions.map((one) => ({ partition: one.partition, result: results.get(one)! })),
          warnings,
        ),
      ]
    }),
  )
}

/** Where the owner said that it left, or where the log ends if nobody ever copied. */
async function letGo(
  destination: Cluster,
  partitions: readonly LeavingPartition[],
  results: Map<LeavingPartition, Result<LetGo>>,
): Promise<void> {
  const unknown = partitions.filter(({ status }) => status?.stoppedAt === undefined)
  const ends = await listOffsets(
    destination,
    unknown.map(({ topic, partition }) => ({ topic, partition, at: 'latest' })),
  )
  for (const one of partitions) results.set(one, success({ how: 'confirmed', logEndOffset: one.status?.stoppedAt }))
  for (const [i, one] of unknown.entries()) {
    const end = ends[i]!
    results.set(one, success({ how: 'confirmed', logEndOffset: end.ok ? end.value.offset : undefined }))
  }
}

async function fence(
  destination: Cluster,
  name: string,
  partitions: readonly LeavingPartition[],
  results: Map<LeavingPartition, Result<LetGo>>,
): Promise<void> {
  const withTransactions = partitions.filter(({ status }) => status?.fillMode === 'transactions')
  await inPool(CLAIMS_AT_ONCE, withTransactions, async (one) => {
    try {
      await endTransactions(destination, transactionalIdOf(name, one.topic, one.partition))
    } catch (error) {
      results.set(one, failed(error as Error))
    }
  })
  const open = partitions.filter((one) => !results.has(one))
  const requests = open.map(({ topic, partition, spec, status }) => ({
    topic,
    partition,
    producer: spec.producers[partition]!,
    ownerEpoch: status!.ownerEpoch,
  }))
  const fences = await fencePartitions(destination, requests)
  for (const [i, one] of open.entries()) results.set(one, fences[i]!)
}

function outcomeOf(
  topic: string,
  partitions: readonly { readonly partition: number; readonly result: Result<LetGo> }[],
  warnings: string[],
): Result<ShutOut> {
  const fences: { readonly partition: number; readonly fence: LetGo }[] = []
  for (const { partition, result } of partitions) {
    if (!result.ok) return result
    fences.push({ partition, fence: result.value })
  }
  const some = (how: LetGo['how']) => fences.some(({ fence }) => fence.how === how)
  const how = some('unfenced') ? 'unfenced' : some('fenced') ? 'fenced' : 'confirmed'
  if (how === 'unfenced' && fences.some(({ fence }) => fence.logEndOffset !== undefined)) {
    warnings.push(`topic ${topic}: a runner that still copies could not be shut out, for want of ALTER on the cluster of the destination`)
  }
  const ends = fences.flatMap(({ partition, fence: { logEndOffset } }) => (logEndOffset === undefined ? [] : [{ partition, logEndOffset }]))
  return success({ how, partitions: ends })
}

function parted<T>(items: readonly T[], test: (item: T) => boolean): [yes: T[], no: T[]] {
  return [items.filter(test), items.filter((item) => !test(item))]
}

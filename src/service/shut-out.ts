import { failed, type Result, success } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { inPool } from '../client/many.js'
import type { ActiveTopic, MirrorState } from '../mirror/fold.js'
import type { PartitionStatus } from '../mirror/state.js'
import { transactionalIdOf } from '../mirror/transactional-id.js'
import type { Leaving } from './confirmation.js'
import type { ServiceContext } from './context.js'
import { endTransactions, type Fence, fencePartitions } from './fence.js'
import { recordLogEnds, type ShutOut } from './log-ends.js'
import { partitionsOf, statusOf } from './partitions.js'

/** InitProducerId requests in flight at once, of partitions that are filled by transactions. */
const CLAIMS_AT_ONCE = 32

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
  /** Where its owner let go; null if it has to be fenced. */
  readonly logEnd: bigint | null
}

interface LetGo extends Omit<Fence, 'how'> {
  readonly how: Fence['how'] | 'confirmed'
}

/**
 * Fences every partition whose owner did not confirm, all topics together: what takes one round trip for a partition takes one
 * for a thousand. Topic → outcome; one topic's failure is not another's. Safe to repeat. Throws MirrorError if nothing can be put on
 * record.
 */
export async function shutOutAll(
  context: ServiceContext,
  state: MirrorState,
  name: string,
  leaving: readonly Leaving[],
  warnings: string[],
): Promise<Map<string, Result<ShutOut>>> {
  const onRecord = await recordLogEnds(context, state, name, leaving, warnings)
  const all = leaving.flatMap(({ topic, spec }) => {
    const known = onRecord.get(topic)!
    if (!known.ok || !('logEnds' in known.value)) return []
    const { logEnds } = known.value
    return partitionsOf(spec).map((partition) => {
      const status = statusOf(state, name, topic, spec, partition)
      return { topic, partition, spec, status, logEnd: logEnds[partition] ?? null }
    })
  })
  const results = new Map<LeavingPartition, Result<LetGo>>()
  for (const one of all) if (one.logEnd !== null) results.set(one, success({ how: 'confirmed', logEndOffset: one.logEnd }))
  const unconfirmed = all.filter(({ logEnd }) => logEnd === null)
  await fence(context.destination, name, unconfirmed, results)
  return new Map(
    leaving.map(({ topic }) => {
      const known = onRecord.get(topic)!
      if (!known.ok) return [topic, known]
      if ('outcome' in known.value) return [topic, success(known.value.outcome)]
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
    ownerEpoch: status?.ownerEpoch ?? 0,
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
  // Nobody writes to a topic that is gone.
  const some = (how: LetGo['how']) => fences.some(({ fence }) => fence.how === how && fence.logEndOffset !== undefined)
  const how = some('unfenced') ? 'unfenced' : some('fenced') ? 'fenced' : 'confirmed'
  if (how === 'unfenced') {
    warnings.push(`topic ${topic}: a runner that still copies could not be shut out, for want of ALTER on the cluster of the destination`)
  }
  const ends = fences.flatMap(({ partition, fence: { logEndOffset } }) => (logEndOffset === undefined ? [] : [{ partition, logEndOffset }]))
  return success({ how, partitions: ends })
}

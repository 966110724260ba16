import { describeConfigs } from '../client/admin.js'
import { KafkaError } from '../protocol/errors.js'
import { seeWhatDiffers } from './alignment.js'
import { compareTails, OWN_TAIL, type TailComparison, unknownTail } from './compare-tails.js'
import { PartitionFailure, Realign } from './errors.js'
import type { PartitionContext } from './partition-context.js'

/** What is compared of a partition: its last records before `end`, none before `from`. */
export interface ComparedLogs {
  readonly ids: { readonly source: string; readonly destination: string }
  readonly from: bigint
  readonly end: bigint
  /** Whether this mirror copied what is there, unless something else wrote too. */
  readonly own: boolean
}

/**
 * Compares the last records of a partition with the source's, few partitions at once.
 *
 * @throws PartitionFailure where they differ; Realign if the partition was let go meanwhile; any other error means "try again".
 */
export async function compareWithSource(context: PartitionContext, { ids, from, end, own }: ComparedLogs): Promise<void> {
  const { topic, partition, destination } = context
  const release = await context.compareSlots.acquire()
  try {
    if (context.isReleased()) throw new Realign('the partition was let go before its logs were compared')
    const how = own ? OWN_TAIL : await howToCompare(context)
    await compareTails(context.source().cluster, destination.cluster, topic, partition, ids, from, end, how)
  } catch (error) {
    if (!(error instanceof PartitionFailure)) throw error
    throw new PartitionFailure(`${error.message}. ${seeWhatDiffers(context)}`)
  } finally {
    release()
  }
}

/**
 * The destination's own policy is the held one while it is mirrored: what it gets at failover is what it had before. The source is asked,
 * as far as the right to ask goes, for its brokers' default can be a policy too.
 */
async function howToCompare(context: PartitionContext): Promise<TailComparison> {
  const [outcome] = await describeConfigs(context.source().cluster, [{ type: 'topic', name: context.topic }])
  if (!outcome!.ok && !(outcome!.error instanceof KafkaError)) throw outcome!.error
  const source = outcome!.ok ? outcome!.value.find(({ name }) => name === 'cleanup.policy')?.value : undefined
  return unknownTail(source, context.spec().held['cleanup.policy'])
}

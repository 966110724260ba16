import { describeProducers } from '../../client/admin.js'
import type { Cluster } from '../../client/cluster.js'
import { failure, type MirrorError } from '../../mirror/errors.js'

const NAMED = 3

/** A partition whose last stable offset is below its end. */
export interface Unstable {
  readonly partition: number
  readonly lastStableOffset: bigint
}

/** Says which transactions are open in a topic of this cluster, as far as the broker tells, and what to do about them. */
export async function openTransactionsError(here: Cluster, topic: string, unstable: readonly Unstable[]): Promise<MirrorError> {
  const named = unstable.slice(0, NAMED)
  const found = await describeProducers(
    here,
    named.map(({ partition }) => ({ topic, partition })),
  )
  const told = named.flatMap(({ partition, lastStableOffset }, i) => {
    const answer = found[i]!
    const open = answer.ok ? answer.value.filter(({ currentTransactionStartOffset }) => currentTransactionStartOffset >= 0n) : []
    if (open.length === 0) return [`one since offset ${lastStableOffset} of partition ${partition}`]
    return open.map(
      ({ producerId, producerEpoch, currentTransactionStartOffset: since }) =>
        `one of producer id ${producerId} (epoch ${producerEpoch}) since offset ${since} of partition ${partition}`,
    )
  })
  const more = unstable.length > NAMED ? `, and in ${unstable.length - NAMED} more partition(s)` : ''
  const { partition, lastStableOffset } = named[0]!
  return failure(
    'CONFLICT',
    `topic ${topic} cannot be copied to while transactions are open in it on this cluster: ${told.join(', ')}${more}`,
    `Let their producers end them, or end them with kafka-transactions.sh abort --topic ${topic} --partition ${partition} --start-offset ${lastStableOffset}; then run reverse again.`,
  )
}

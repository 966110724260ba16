import type { Cluster } from '../../client/cluster.js'
import { KeyedLog } from '../../client/keyed-log.js'
import { failure } from '../../mirror/errors.js'
import { isMissingRight } from '../../mirror/failures.js'
import { MirrorState } from '../../mirror/fold.js'
import { type Mirror, mustExist, readable } from '../../mirror/spec-store.js'
import type { RemovalResult } from '../../mirror/state.js'
import { STATE_TOPIC } from '../../mirror/state-topic.js'

/**
 * The mirror as the cluster has it that copied from this one. Throws MirrorError: there is none of that name, the right to read the
 * state is missing, or it copies from another cluster than this.
 */
export async function readFirstMirror(remote: Cluster, name: string, hereClusterId: string): Promise<Mirror> {
  let records: Awaited<ReturnType<KeyedLog['load']>>
  try {
    records = await new KeyedLog(remote, STATE_TOPIC).load()
  } catch (error) {
    if (!isMissingRight(error)) throw error
    const right = `rights are missing on topic ${STATE_TOPIC} of ${remote.name}, which holds what became of mirror ${name}`
    throw failure('RIGHTS_MISSING', right, 'Grant READ and DESCRIBE on it.', error)
  }
  const state = readable(MirrorState.of(records ?? []), STATE_TOPIC)
  if (state.mirror(name) === undefined) {
    const known = state.mirrors().map((entry) => entry.name)
    throw failure(
      'UNKNOWN_MIRROR',
      `there is no mirror ${name} on ${remote.name}, so there is nothing to reverse`,
      known.length === 0 ? 'It has no mirrors; use create and add to begin a new one.' : `It has: ${known.slice(0, 20).join(', ')}.`,
    )
  }
  const mirror = mustExist(state, name)
  const { sourceClusterId } = mirror.spec
  if (sourceClusterId === undefined || sourceClusterId === hereClusterId) return mirror
  throw failure(
    'OTHER_CLUSTER',
    `mirror ${name} on ${remote.name} copies from cluster ${sourceClusterId}, this one is ${hereClusterId}`,
    'Reverse it on the cluster it copied from; to copy to another one use create and add.',
  )
}

/** What became of a topic when it left the first mirror. Throws MirrorError if it did not leave yet. */
export function resultOf(first: Mirror, topic: string, remote: Cluster, bootstrap: string): RemovalResult {
  const result = first.results.get(topic)
  const spec = first.topics.get(topic)
  if (spec?.desired === 'STOPPED' && result !== undefined) return result
  const how = spec?.desired === 'STOPPING' ? 'is being removed from' : 'is still in'
  throw failure(
    'NOT_CONFIRMED',
    `topic ${topic} ${how} mirror ${first.name} on ${remote.name}`,
    `Run there first: kafka-mirrors remove --bootstrap-server ${bootstrap} --mirror ${first.name} --topic ${topic} (with --drain for a planned move).`,
  )
}

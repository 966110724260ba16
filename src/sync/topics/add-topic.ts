import type { Cluster } from '../../client/cluster.js'
import { failure, MirrorError } from '../../mirror/errors.js'
import { isActive, type MirrorState } from '../../mirror/fold.js'
import { mustExist, put, type SpecStore } from '../../mirror/spec-store.js'
import type { FoundLog, TopicSpec } from '../../mirror/state.js'
import { Errors, KafkaError } from '../../protocol/errors.js'
import { checkNotTaken } from './add-checks.js'
import type { Addition, Plan } from './add-plan.js'
import { prepareTopic } from './destination-topic.js'
import { logBounds } from './log-bounds.js'

export interface AddingOptions {
  /** Of a topic that is created; default is the broker's. */
  readonly replicationFactor?: number | undefined
  /** `mirror.topic.properties.exclude`. */
  readonly excludedSettings: readonly string[]
  /** Asked under the lock, last of all: whether the topic is still to be added. */
  readonly stillWanted?: (state: MirrorState) => boolean
  readonly now: () => number
}

export interface Added {
  readonly topicId: string
  readonly warnings: readonly string[]
  /** False if it turned out not to be wanted any more, or to be there already. */
  readonly added: boolean
}

/** Prepares the destination's topic, then records the addition, which makes runners begin. Throws MirrorError. */
export async function addPlanned(addition: Addition, plan: Plan, store: SpecStore, options: AddingOptions): Promise<Added> {
  const { mirror, source, destination } = addition
  const { there, here } = plan
  const { replicationFactor, excludedSettings } = options
  const prepared = await prepareTopic({ source, destination, there, here, replicationFactor, excludedSettings })
  const found = here && (await foundLogs(destination, plan))
  const added = await store.update((state) => {
    const now = mustExist(state, mirror)
    checkNotTaken(state, mirror, there.name)
    const before = now.topics.get(there.name)
    if (isActive(before) || options.stillWanted?.(state) === false) return { records: [], result: false }
    const spec: TopicSpec = {
      desired: 'MIRRORING',
      sourceTopicId: there.topicId,
      destinationTopicId: prepared.topicId,
      partitions: there.partitions.length,
      producers: prepared.producers,
      held: prepared.held,
      taken: prepared.taken,
      found,
      // It tells this addition from earlier ones, so it must differ from them whatever the clock says.
      addedAt: Math.max(options.now(), (before?.addedAt ?? 0) + 1),
    }
    const pinned =
      now.spec.sourceClusterId === undefined
        ? [put({ kind: 'mirror', mirror }, { ...now.spec, sourceClusterId: addition.sourceClusterId })]
        : []
    return { records: [...pinned, put({ kind: 'topic', mirror, topic: there.name }, spec)], result: true }
  })
  return { topicId: prepared.topicId, warnings: prepared.warnings, added }
}

/**
 * What the destination holds now that its settings delete nothing any more. Throws MirrorError if it has grown since it was looked at:
 * nobody knows what is there now.
 */
async function foundLogs(destination: Cluster, { there, found }: Plan): Promise<FoundLog[]> {
  const now = await logBounds(destination, there.name, found.length)
  const moving = now.findIndex(({ highWatermark }, partition) => highWatermark !== found[partition]!.highWatermark)
  if (moving < 0) return now.map(({ logStartOffset, highWatermark }) => ({ logStartOffset, logEndOffset: highWatermark }))
  throw failure(
    'CONFLICT',
    `partition ${moving} of topic ${there.name} is written to on the destination by something else`,
    'Stop its writers there, they belong on the source; then try again.',
  )
}

const ATTEMPTS = 3

/** Runs `attempt` again when somebody else created the topic since it looked. */
export async function unlessCreatedMeanwhile<T>(attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isExisting(error) || attempts === ATTEMPTS) throw error
    }
  }
}

const isExisting = (error: unknown): boolean =>
  error instanceof MirrorError && error.cause instanceof KafkaError && error.cause.code === Errors.TOPIC_ALREADY_EXISTS

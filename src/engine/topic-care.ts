import { deleteRecords, describeConfigs, incrementalAlterConfigs, topicChange, unwrap } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import type { MirrorState } from '../mirror/fold.js'
import { forcedSettings, releaseSettings } from '../mirror/held.js'
import type { TopicSpec } from '../mirror/state.js'
import { Errors, KafkaError } from '../protocol/errors.js'
import { LostPlace } from './errors.js'

const FRESH_MS = 30_000

/** Whose a topic is that an addition has had: still its own, nobody's or on its way to be, or another's, which holds the same settings. */
export type Holder = 'us' | 'nobody' | 'another'

/** What is on record of who has the topic. Pure. */
export function holderOf(state: MirrorState, mirror: string, topic: string, addedAt: number): Holder {
  const spec = state.mirror(mirror)?.topics.get(topic)
  if (spec?.addedAt !== addedAt || spec.desired === 'STOPPED') return state.mirrorOf(topic) === undefined ? 'nobody' : 'another'
  if (spec.desired !== 'STOPPING') return 'us'
  // What is copied again must lose nothing before it is kept.
  return spec.reseed === undefined ? 'nobody' : 'another'
}

/** The little that copying needs of the destination's topics beside their logs. */
export class TopicCare {
  private readonly limits = new Map<string, { readonly value: Promise<number>; readonly at: number }>()

  constructor(
    private readonly destination: Cluster,
    private readonly now: () => number = Date.now,
  ) {}

  /** `max.message.bytes` of the topic, at most half a minute old; partitions of a topic share one look. Throws KafkaError. */
  async maxMessageBytes(topic: string): Promise<number> {
    const known = this.limits.get(topic)
    if (known !== undefined && this.now() - known.at < FRESH_MS) return known.value
    const value = this.readMaxMessageBytes(topic)
    this.limits.set(topic, { value, at: this.now() })
    value.catch(() => this.limits.delete(topic))
    return value
  }

  /** What was known of the topic's limits may have changed. */
  forget(topic: string): void {
    this.limits.delete(topic)
  }

  /**
   * Holds the settings of a topic that was rebuilt by somebody. `holder` asks who has it, by the operators' word of that moment: settings
   * that a failover has taken off must not be put back by a runner that was frozen meanwhile, so it is asked before, and what was put on
   * behind a failover comes off again, unless another addition holds the same by then. Throws LostPlace then, KafkaError.
   */
  async hold(topic: string, { held }: Pick<TopicSpec, 'held'>, holder: () => Promise<Holder>): Promise<void> {
    if ((await holder()) !== 'us') throw new LostPlace()
    await this.apply(topic, forcedSettings(Object.keys(held)))
    const now = await holder()
    if (now === 'us') return
    if (now === 'nobody') await this.apply(topic, releaseSettings(held))
    throw new LostPlace()
  }

  /** Sets topic settings, leaving all others alone; null removes an override. */
  private async apply(topic: string, settings: ReadonlyMap<string, string | null>): Promise<void> {
    this.forget(topic)
    const [outcome] = await incrementalAlterConfigs(this.destination, [topicChange(topic, settings)])
    unwrap(outcome!)
  }

  /**
   * Moves the destination's log start to `before`. A compact-only topic forbids it (POLICY_VIOLATION), and needs it less:
   * what lies below is superseded. Throws KafkaError.
   */
  async deleteRecords(topic: string, partition: number, before: bigint): Promise<void> {
    const [outcome] = await deleteRecords(this.destination, [{ topic, partition, beforeOffset: before }])
    if (!outcome!.ok && !(outcome!.error instanceof KafkaError && outcome!.error.code === Errors.POLICY_VIOLATION)) throw outcome!.error
  }

  private async readMaxMessageBytes(topic: string): Promise<number> {
    const [outcome] = await describeConfigs(this.destination, [{ type: 'topic', name: topic }])
    const value = unwrap(outcome!).find(({ name }) => name === 'max.message.bytes')?.value
    return value === undefined ? Number.MAX_SAFE_INTEGER : Number(value)
  }
}

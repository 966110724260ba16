import { Cluster } from '../client/cluster.js'
import { clientConfigOf } from '../client/config.js'
import { DESTINATION, toMirrorError } from '../mirror/failures.js'
import { addTopicsToMirror } from './add-topics.js'
import { alterMirror } from './alter-mirror.js'
import { entriesOf, type ServiceContext } from './context.js'
import { createMirror } from './create-mirror.js'
import { deleteMirror } from './delete-mirror.js'
import { describeMirrors } from './describe-mirrors.js'
import { listMirrors } from './list-mirrors.js'
import { pauseMirror, resumeMirror } from './pause.js'
import { recoverMirror } from './recovery/recover-mirror.js'
import { removeTopicsFromMirror } from './remove-topics.js'
import { reverseMirror } from './reverse/reverse-mirror.js'
import { StateStore } from './state-store.js'
import { describeThrottles, setThrottle } from './throttle.js'
import type {
  AddTopicsToMirrorOptions,
  AddTopicsToMirrorResult,
  AlterMirrorChanges,
  AlterMirrorOptions,
  AlterMirrorResult,
  CreateMirrorOptions,
  CreateMirrorResult,
  DeleteMirrorResult,
  DescribeMirrorsOptions,
  DescribeMirrorsResult,
  DescribeThrottlesOptions,
  DescribeThrottlesResult,
  ListMirrorsOptions,
  ListMirrorsResult,
  PauseOptions,
  PauseResult,
  RecoverMirrorOptions,
  RecoverMirrorResult,
  RemoteProperties,
  RemoveTopicsFromMirrorOptions,
  RemoveTopicsFromMirrorResult,
  ReverseMirrorOptions,
  ReverseMirrorResult,
  TextMap,
  ThrottleOptions,
  ThrottleTarget,
  ThrottleValue,
  VerifyMirrorOptions,
  VerifyMirrorResult,
} from './types.js'
import { verifyMirror } from './verify/verify-mirror.js'
import { waitForMirroring, waitForPaused } from './wait-for-mirroring.js'

/**
 * Creates, changes and shows mirrors on the destination cluster it is connected to: the Admin methods of KIP-1279.
 * Connects when first used; call {@link close} when done.
 *
 * ```ts
 * const admin = new MirrorAdmin({ 'bootstrap.servers': 'localhost:9094' })
 * await admin.createMirror('my-mirror', { 'bootstrap.servers': 'localhost:9092' })
 * const { topics } = await admin.addTopicsToMirror({ 'my-topic': 'my-mirror' })
 * await admin.close()
 * ```
 */
export class MirrorAdmin {
  /** Properties no Kafka client knows: probably misspelt. */
  readonly unknownProperties: readonly string[]
  private readonly context: ServiceContext

  /** Client properties of the destination, as a Java client takes them. Throws MirrorError (usage) for a wrong value. */
  constructor(properties: TextMap) {
    try {
      const { config, unknownKeys } = clientConfigOf(entriesOf(properties))
      this.unknownProperties = unknownKeys
      const destination = new Cluster(config)
      this.context = { destination, store: new StateStore(destination), now: Date.now }
    } catch (error) {
      throw toMirrorError(error, DESTINATION)
    }
  }

  /** Throws {@link MirrorError}: name or config not allowed, mirror exists, source out of reach or the same cluster, rights missing. */
  createMirror(name: string, configs: TextMap, options: CreateMirrorOptions = {}): Promise<CreateMirrorResult> {
    return createMirror(this.context, name, configs, options)
  }

  /** Keys are topic names or whole-name regexes matched against the source's topics; values are mirrors. */
  addTopicsToMirror(topicToMirror: TextMap, options: AddTopicsToMirrorOptions = {}): Promise<AddTopicsToMirrorResult> {
    return addTopicsToMirror(this.context, topicToMirror, options)
  }

  /**
   * Failover: stops copying and makes the topics writable. `topics` are names or whole-name regexes over the mirror's topics,
   * undefined is all. Works with the source gone and with no runner; safe to repeat.
   */
  removeTopicsFromMirror(
    mirror: string,
    topics: Iterable<string> | undefined,
    options: RemoveTopicsFromMirrorOptions = {},
  ): Promise<RemoveTopicsFromMirrorResult> {
    return removeTopicsFromMirror(this.context, mirror, topics, options)
  }

  /** Removes every topic as {@link removeTopicsFromMirror} does, then the mirror. Data stays. */
  deleteMirror(name: string, options: RemoveTopicsFromMirrorOptions = {}): Promise<DeleteMirrorResult> {
    return deleteMirror(this.context, name, options)
  }

  /** Stops copying until {@link resumeMirror}; the topics stay the mirror's and not writable. Safe to repeat. */
  pauseMirror(name: string, options: PauseOptions = {}): Promise<PauseResult> {
    return pauseMirror(this.context, name, options)
  }

  /** Lets paused topics be copied again, from where they were. Safe to repeat. */
  resumeMirror(name: string, options: PauseOptions = {}): Promise<PauseResult> {
    return resumeMirror(this.context, name, options)
  }

  /**
   * Looks at what has failed, and at both logs, and says per partition what is wrong and what helps. Without options runners are made to
   * try again at once; `onGap` and `onDivergence` allow what loses data or replaces it. Safe to repeat after an interruption.
   */
  recoverMirror(name: string, options: RecoverMirrorOptions = {}): Promise<RecoverMirrorResult> {
    return recoverMirror(this.context, name, options)
  }

  /**
   * Failback: called on the cluster that the mirror `name` of another cluster (`remote` are the client properties to it) copied from
   * until its topics were removed there. The same mirror is set up here the other way, with the other one's own settings. Per topic it
   * begins only if nothing is open here; where this cluster did not go on alone only the difference is copied. Safe to repeat.
   */
  reverseMirror(name: string, remote: RemoteProperties, options: ReverseMirrorOptions = {}): Promise<ReverseMirrorResult> {
    return reverseMirror(this.context, name, remote, options)
  }

  alterMirror(name: string, changes: AlterMirrorChanges, options: AlterMirrorOptions = {}): Promise<AlterMirrorResult> {
    return alterMirror(this.context, name, changes, options)
  }

  listMirrors(_options: ListMirrorsOptions = {}): Promise<ListMirrorsResult> {
    return listMirrors(this.context)
  }

  /** Offsets are read live from both clusters. `names` empty or undefined: all mirrors. Throws for an unknown mirror or topic. */
  describeMirrors(names?: Iterable<string>, options: DescribeMirrorsOptions = {}): Promise<DescribeMirrorsResult> {
    return describeMirrors(this.context, names, options)
  }

  /** Sets a throttle, or clears it with null. Throws MirrorError (usage) for a rate or replica list that cannot be read. */
  setThrottle(target: ThrottleTarget, value: ThrottleValue, options: ThrottleOptions = {}): Promise<void> {
    return setThrottle(this.context, target, value, options)
  }

  describeThrottles(options: DescribeThrottlesOptions = {}): Promise<DescribeThrottlesResult> {
    return describeThrottles(this.context, options)
  }

  /**
   * Resolves when every partition of these topics (or only those given per topic) is MIRRORING; rejects with TIMEOUT naming
   * those that are not, and why, or with UNKNOWN_TOPIC at once when the source has lost one of the topics.
   */
  waitForMirroring(mirror: string, topics: Iterable<string> | ReadonlyMap<string, readonly number[]>, timeoutMs: number): Promise<void> {
    return waitForMirroring(this.context, mirror, topics, timeoutMs)
  }

  /**
   * Resolves when every partition of these topics is PAUSED, or no runner is alive, so that nobody copies; rejects with TIMEOUT naming
   * those that are not.
   */
  waitForPaused(mirror: string, topics: Iterable<string>, timeoutMs: number): Promise<void> {
    return waitForPaused(this.context, mirror, topics, timeoutMs)
  }

  /**
   * Compares source and destination record by record. Reads both clusters and changes nothing; copying may go on meanwhile.
   * A difference is a result, not an error: see `equal`. Throws for an unknown mirror or topic, or a cluster out of reach.
   */
  verifyMirror(name: string, options: VerifyMirrorOptions = {}): Promise<VerifyMirrorResult> {
    return verifyMirror(this.context, name, options)
  }

  /** Ends every connection; calls under way are rejected. */
  close(): Promise<void> {
    return this.context.destination.close()
  }
}

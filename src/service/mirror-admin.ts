import { MirrorError } from '../mirror/errors.js'
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
  RemoveTopicsFromMirrorOptions,
  RemoveTopicsFromMirrorResult,
  TextMap,
  ThrottleOptions,
  ThrottleTarget,
  ThrottleValue,
} from './types.js'

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
  /** Client properties of the destination, as a Java client takes them. Throws MirrorError (usage) for a wrong value. */
  constructor(readonly properties: TextMap) {}

  /** Throws {@link MirrorError}: name or config not allowed, mirror exists, source out of reach or the same cluster, rights missing. */
  createMirror(name: string, configs: TextMap, options: CreateMirrorOptions = {}): Promise<CreateMirrorResult> {
    return todo(name, configs, options)
  }

  /** Keys are topic names or whole-name regexes matched against the source's topics; values are mirrors. */
  addTopicsToMirror(topicToMirror: TextMap, options: AddTopicsToMirrorOptions = {}): Promise<AddTopicsToMirrorResult> {
    return todo(topicToMirror, options)
  }

  /** Failover: stops copying and makes the topics writable. `topics` are names or whole-name regexes over the mirror's topics. */
  removeTopicsFromMirror(
    mirror: string,
    topics: Iterable<string>,
    options: RemoveTopicsFromMirrorOptions = {},
  ): Promise<RemoveTopicsFromMirrorResult> {
    return todo(mirror, topics, options)
  }

  /** Removes every topic as {@link removeTopicsFromMirror} does, then the mirror. Data stays. */
  deleteMirror(name: string, options: RemoveTopicsFromMirrorOptions = {}): Promise<DeleteMirrorResult> {
    return todo(name, options)
  }

  alterMirror(name: string, changes: AlterMirrorChanges, options: AlterMirrorOptions = {}): Promise<AlterMirrorResult> {
    return todo(name, changes, options)
  }

  listMirrors(options: ListMirrorsOptions = {}): Promise<ListMirrorsResult> {
    return todo(options)
  }

  /** Offsets are read live from both clusters. `names` empty or undefined: all mirrors. Throws for an unknown mirror or topic. */
  describeMirrors(names?: Iterable<string>, options: DescribeMirrorsOptions = {}): Promise<DescribeMirrorsResult> {
    return todo(names, options)
  }

  /** Sets a throttle, or clears it with null. Throws MirrorError (usage) for a rate or replica list that cannot be read. */
  setThrottle(target: ThrottleTarget, value: ThrottleValue, options: ThrottleOptions = {}): Promise<void> {
    return todo(target, value, options)
  }

  describeThrottles(options: DescribeThrottlesOptions = {}): Promise<DescribeThrottlesResult> {
    return todo(options)
  }

  /** Resolves when every partition of these topics is MIRRORING; rejects with TIMEOUT naming those that are not, and why. */
  waitForMirroring(mirror: string, topics: Iterable<string>, timeoutMs: number): Promise<void> {
    return todo(mirror, topics, timeoutMs)
  }

  async close(): Promise<void> {}
}

function todo(..._unused: unknown[]): Promise<never> {
  return Promise.reject(new MirrorError('INVALID_REQUEST', 'not built yet'))
}

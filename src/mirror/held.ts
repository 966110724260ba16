import { filterOf } from './filters.js'

/**
 * Held settings: while a topic is mirrored, the destination's copy must be harmless to old data, whatever the topic's
 * real settings say. They are forced at creation and replaced by the real values at failover.
 */
const LONG_MAX = '9223372036854775807'

const FORCED: Readonly<Record<string, string>> = {
  'retention.ms': '-1',
  'retention.bytes': '-1',
  'cleanup.policy': 'delete',
  'compression.type': 'producer',
  'message.timestamp.type': 'CreateTime',
  'message.timestamp.before.max.ms': LONG_MAX,
  'message.timestamp.after.max.ms': LONG_MAX,
  // Before 3.6 (KIP-937) the two limits were one.
  'message.timestamp.difference.max.ms': LONG_MAX,
}

/** One topic's settings as DescribeConfigs gives them. */
export interface TopicConfigs {
  /** Overrides set on the topic itself. */
  readonly overrides: ReadonlyMap<string, string>
  /** What is in force for every key the cluster knows, defaults included. */
  readonly effective: ReadonlyMap<string, string>
}

export interface HeldSettings {
  /** To be set on the destination's topic while it is mirrored, held and ordinary ones. */
  readonly apply: ReadonlyMap<string, string>
  /** Held key → real value to be applied at failover; null removes the override. */
  readonly held: Readonly<Record<string, string | null>>
  /** The source's own values among all these: what may be taken away again once the source has it no more. */
  readonly taken: Readonly<Record<string, string>>
  /** What the destination's topic had itself of all that is to be set, held and ordinary; null for none. It undoes an addition. */
  readonly own: Readonly<Record<string, string | null>>
}

/**
 * What the destination's topic gets. `known` are the topic settings the destination has at all (older and newer brokers
 * differ); `local` are overrides the destination's topic already had, which stay unless the source overrides them;
 * `exclude` is `mirror.topic.properties.exclude`.
 */
export function holdSettings(
  source: TopicConfigs,
  destinationDefaults: ReadonlyMap<string, string>,
  exclude: readonly string[],
  local: ReadonlyMap<string, string> = new Map(),
): HeldSettings {
  const excluded = filterOf(exclude, [])
  const taken = new Map([...source.overrides].filter(([key]) => !excluded.passes(key)))
  const forced = new Map(Object.entries(FORCED).filter(([key]) => destinationDefaults.has(key)))
  const limit = largest([source.effective, destinationDefaults, local].map((configs) => configs.get('max.message.bytes')))
  if (limit !== undefined) forced.set('max.message.bytes', limit)
  const ordinary = [...taken].filter(([key]) => !forced.has(key) && destinationDefaults.has(key))
  const known = [...taken].filter(([key]) => destinationDefaults.has(key))
  const apply = new Map([...ordinary, ...forced])
  const own = Object.fromEntries([...apply.keys()].map((key) => [key, local.get(key) ?? null]))
  const given = Object.fromEntries(known)
  return { apply, held: realValues([...forced.keys()], given, own), taken: given, own }
}

/** Key → what it is at failover: the source's own value, or else what the destination's topic had itself; null for none. */
export function realValues(keys: readonly string[], taken: HeldSettings['taken'], own: HeldSettings['own']): HeldSettings['held'] {
  const ours = areForced(own)
  return Object.fromEntries(keys.map((key) => [key, taken[key] ?? (ours ? null : (own[key] ?? null))]))
}

/** Overrides that are all as we force them are an unfinished addition's, not the owner's: they must not be put back. */
export const areForced = (own: HeldSettings['own']): boolean =>
  Object.entries(own).every(([key, value]) => FORCED[key] === undefined || value === FORCED[key])

function largest(values: readonly (string | undefined)[]): string | undefined {
  const numbers = values.filter((value) => value !== undefined && value !== '').map(Number)
  return numbers.length === 0 ? undefined : String(Math.max(...numbers))
}

/** The changes that apply the real values at failover: value to set, or null to remove the override. */
export const releaseSettings = (held: Readonly<Record<string, string | null>>): ReadonlyMap<string, string | null> =>
  new Map(Object.entries(held).sort(([a], [b]) => (a < b ? -1 : 1)))

/** The forced values of the given held keys, to put a topic that somebody rebuilt back into the mirror's hands. */
export const forcedSettings = (heldKeys: readonly string[]): ReadonlyMap<string, string> =>
  new Map(heldKeys.flatMap((key) => (FORCED[key] === undefined ? [] : [[key, FORCED[key]] as const])))

/** The parts of a `cleanup.policy`, which may be several. */
export const policiesIn = (cleanupPolicy: string | null | undefined): string[] =>
  (cleanupPolicy ?? '').split(',').map((part) => part.trim())

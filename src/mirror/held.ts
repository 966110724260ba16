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
  // Overrides that are all as we force them are an unfinished addition's, not the owner's: they must not be put back.
  const ours = Object.keys(FORCED).every((key) => !forced.has(key) || local.get(key) === FORCED[key])
  const held: Record<string, string | null> = {}
  for (const key of forced.keys()) held[key] = taken.get(key) ?? (ours ? null : (local.get(key) ?? null))
  const ordinary = [...taken].filter(([key]) => !forced.has(key) && destinationDefaults.has(key))
  const known = [...taken].filter(([key]) => destinationDefaults.has(key))
  return { apply: new Map([...ordinary, ...forced]), held, taken: Object.fromEntries(known) }
}

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

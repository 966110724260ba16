import { filterOf } from '../../mirror/filters.js'
import { forcedSettings, type TopicConfigs } from '../../mirror/held.js'
import type { TopicSpec } from '../../mirror/state.js'

/** What makes a mirrored topic's settings what they should be. */
export interface ConfigPlan {
  /** To be sent to the destination; null removes the override. Empty when all is as it should be. */
  readonly changes: ReadonlyMap<string, string | null>
  /** For the spec: held key → real value to be applied at failover, null for the broker's default. */
  readonly held: Readonly<Record<string, string | null>>
  /** Overrides of the source that the destination has no such setting for. */
  readonly unknown: readonly string[]
}

export interface ConfigSides {
  readonly source: TopicConfigs
  readonly destination: TopicConfigs
  /** `mirror.topic.properties.exclude`. */
  readonly exclude: readonly string[]
}

/** Never below what the source has, since its batches are to be appended whole; larger ones of the destination stay. */
const SIZE = 'max.message.bytes'

/**
 * Pure. The source's overrides are set; one that it has no more is removed if the destination still has the source's value of
 * then, which is what `taken` remembers: what somebody has set on the destination stays. For held settings the same goes on
 * in the spec instead, and on the topic they are held again if somebody changed them.
 */
export function planConfigs(
  { held, taken = {} }: Pick<TopicSpec, 'held' | 'taken'>,
  { source, destination, exclude }: ConfigSides,
): ConfigPlan {
  const excluded = filterOf(exclude, [])
  const wanted = new Map([...source.overrides].filter(([key]) => !excluded.passes(key)))
  const changes = new Map<string, string | null>()
  const realValues: Record<string, string | null> = { ...held }
  const isHeld = (key: string) => Object.hasOwn(held, key)
  const unknown: string[] = []
  for (const [key, value] of wanted) {
    if (isHeld(key)) realValues[key] = value
    else if (!destination.effective.has(key)) unknown.push(key)
    else if (destination.overrides.get(key) !== value) changes.set(key, value)
  }
  for (const [key, value] of Object.entries(taken)) {
    if (wanted.has(key) || excluded.passes(key)) continue
    if (isHeld(key)) {
      if (held[key] === value) realValues[key] = null
    } else if (destination.overrides.get(key) === value) changes.set(key, null)
  }
  for (const [key, value] of forcedSettings(Object.keys(held))) if (destination.effective.get(key) !== value) changes.set(key, value)
  const size = isHeld(SIZE) ? largerSize(source, destination) : undefined
  if (size !== undefined) changes.set(SIZE, size)
  return { changes, held: realValues, unknown }
}

/** The source's limit where it is above the destination's. */
function largerSize(source: TopicConfigs, destination: TopicConfigs): string | undefined {
  const [theirs, ours] = [source.effective.get(SIZE), destination.effective.get(SIZE)]
  return theirs !== undefined && ours !== undefined && Number(theirs) > Number(ours) ? theirs : undefined
}

/**
 * What to remember once the changes were sent: the source's overrides that the destination now has or holds. Of one it does not
 * take (`refused`), the value it had of the source before is remembered on.
 */
export function takenAfter(
  { held, taken = {} }: Pick<TopicSpec, 'held' | 'taken'>,
  { source, destination, exclude }: ConfigSides,
  refused: ReadonlySet<string>,
): Readonly<Record<string, string>> {
  const excluded = filterOf(exclude, [])
  const after: [string, string][] = []
  for (const [key, value] of source.overrides) {
    if (excluded.passes(key) || (!destination.effective.has(key) && !Object.hasOwn(held, key))) continue
    if (!refused.has(key) || Object.hasOwn(held, key)) after.push([key, value])
    else if (taken[key] !== undefined) after.push([key, taken[key]])
  }
  // Of one that the source has no more, only if it could not be removed.
  for (const [key, value] of Object.entries(taken)) if (!source.overrides.has(key) && refused.has(key)) after.push([key, value])
  return Object.fromEntries(after.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Equal as records, whatever their order. */
export function sameValues(
  a: Readonly<Record<string, string | null>> | undefined,
  b: Readonly<Record<string, string | null>> | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key])
}

/** Version ranges of Kafka's message schemas. */

/** Versions as Kafka's schemas write them: `3`, `0-4`, `2+`. */
export type Versions = `${number}` | `${number}-${number}` | `${number}+`

/** A parsed version range, both ends included. */
export interface VersionRange {
  readonly min: number
  readonly max: number
}

export function parseVersions(text: Versions): VersionRange {
  const [from, to] = text.split('-')
  const min = Number.parseInt(from!, 10)
  return { min, max: text.endsWith('+') ? Number.POSITIVE_INFINITY : to === undefined ? min : Number(to) }
}

export const within = (range: VersionRange | undefined, version: number): boolean =>
  range !== undefined && version >= range.min && version <= range.max

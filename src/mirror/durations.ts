import { usageError } from './errors.js'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** As {@link parseDuration}; undefined stays what it is, as a flag that was not given. */
export const optionalDuration = (text: string | undefined, what: string): number | undefined =>
  text === undefined ? undefined : parseDuration(text, what)

/** `500ms`, `30s`, `5m`, `1h`, `2d`, `1.5s` → milliseconds. Throws MirrorError (usage) naming `what`. */
export function parseDuration(text: string, what = 'duration'): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim()) ?? []
  if (amount === undefined || unit === undefined) {
    throw usageError(
      'INVALID_REQUEST',
      `${what} '${text}' is not a duration`,
      'A duration is a number with a unit: 500ms, 30s, 5m, 1h, 2d.',
    )
  }
  return Math.round(Number(amount) * UNITS[unit]!)
}

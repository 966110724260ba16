import { parsePattern } from './filters.js'

export interface Selection {
  /** Names to act on, sorted, each once. */
  readonly topics: readonly string[]
  /** Names given literally that do not exist, in the order given. */
  readonly missing: readonly string[]
  /** Patterns that match nothing. */
  readonly unmatched: readonly string[]
}

/**
 * Picks topics for `add`, `remove` and `describe`: each selector is a name or a whole-name regex over `existing`.
 * `exclude` binds patterns only: a topic given by name is taken whatever the excludes say.
 * Throws MirrorError (usage) for a regex that cannot be read.
 */
export function selectTopics(selectors: Iterable<string>, exclude: readonly string[], existing: Iterable<string>): Selection {
  const names = new Set(existing)
  const excluded = exclude.map(parsePattern)
  const topics = new Set<string>()
  const missing: string[] = []
  const unmatched: string[] = []
  for (const selector of new Set(selectors)) {
    const pattern = parsePattern(selector)
    if (pattern.literal) {
      if (names.has(selector)) topics.add(selector)
      else missing.push(selector)
      continue
    }
    const matched = [...names].filter((name) => pattern.matches(name) && !excluded.some((other) => other.matches(name)))
    if (matched.length === 0) unmatched.push(selector)
    for (const name of matched) topics.add(name)
  }
  return { topics: [...topics].sort(), missing, unmatched }
}

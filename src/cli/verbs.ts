/** A verb of the program and the other words for it. The list is what the argument rewrite, the dispatcher and the tests read. */
export interface Verb {
  readonly name: string
  readonly aliases: readonly string[]
}

export const VERBS: readonly Verb[] = [
  { name: 'create', aliases: [] },
  { name: 'add', aliases: ['start'] },
  { name: 'list', aliases: [] },
  { name: 'describe', aliases: [] },
  { name: 'remove', aliases: ['stop'] },
  { name: 'delete', aliases: [] },
  { name: 'pause', aliases: [] },
  { name: 'resume', aliases: [] },
  { name: 'alter', aliases: [] },
  { name: 'recover', aliases: [] },
  { name: 'reverse', aliases: [] },
  { name: 'throttle', aliases: [] },
  { name: 'verify', aliases: [] },
  { name: 'run', aliases: [] },
  { name: 'playground', aliases: [] },
]

/** Every word a verb may be typed as, in the table's order. */
export const VERB_WORDS: readonly string[] = VERBS.flatMap((verb) => [verb.name, ...verb.aliases])

/** The verb a word stands for, also through an alias. */
export function findVerb(word: string): Verb | undefined {
  return VERBS.find((verb) => verb.name === word || verb.aliases.includes(word))
}

/** The candidate nearest to what was typed, if it is near enough to be worth suggesting. */
export function nearest(typed: string, candidates: readonly string[]): string | undefined {
  let best: { word: string; distance: number } | undefined
  for (const word of candidates) {
    const distance = editDistance(typed.toLowerCase(), word.toLowerCase())
    if (!best || distance < best.distance) best = { word, distance }
  }
  return best && best.distance <= Math.max(2, Math.floor(typed.length / 3)) ? best.word : undefined
}

/** Levenshtein's distance, row by row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(substitution, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}

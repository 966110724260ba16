const SHOWN = 3

/** The first names of a list as part of a sentence, and how many more there are: `a, b, and 3 more`. */
export const shown = (names: readonly string[]): string =>
  `${names.slice(0, SHOWN).join(', ')}${names.length > SHOWN ? `, and ${names.length - SHOWN} more` : ''}`

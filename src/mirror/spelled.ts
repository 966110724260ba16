/** The first names of a list as part of a sentence, and how many more there are: `a, b and 3 more`. */
export function spelled(names: readonly string[], most = 5): string {
  const more = names.length - most
  return more > 0 ? `${names.slice(0, most).join(', ')} and ${more} more` : names.join(', ')
}

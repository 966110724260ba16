/**
 * JSON as the program prints it: int64 (`bigint`) as decimal strings, always, so that they stay exact in every reader;
 * what is not known is null, not left out.
 */
export function toJson(value: unknown, compact = false): string {
  const replacer = (_: string, item: unknown) => {
    if (typeof item === 'bigint') return item.toString()
    return item === undefined ? null : item
  }
  return `${JSON.stringify(value, replacer, compact ? undefined : 2)}\n`
}

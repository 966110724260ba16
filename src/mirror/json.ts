/** Reading JSON whose shape is not to be trusted. Every function throws {@link ShapeError} naming the field. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError'
}

export type Json = Readonly<Record<string, unknown>>

export function objectOf(value: unknown, field: string): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json
  throw new ShapeError(`${field} is not an object`)
}

export function arrayOf<T>(value: unknown, field: string, element: (value: unknown, field: string) => T): T[] {
  if (Array.isArray(value)) return value.map((item, i) => element(item, `${field}[${i}]`))
  throw new ShapeError(`${field} is not an array`)
}

export function textOf(value: unknown, field: string): string {
  if (typeof value === 'string') return value
  throw new ShapeError(`${field} is not text`)
}

export function numberOf(value: unknown, field: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value
  throw new ShapeError(`${field} is not a whole number`)
}

export function booleanOf(value: unknown, field: string): boolean {
  if (typeof value === 'boolean') return value
  throw new ShapeError(`${field} is not true or false`)
}

/** int64 is stored as decimal text. */
export function int64Of(value: unknown, field: string): bigint {
  if (typeof value === 'string' && /^-?\d{1,19}$/.test(value)) return BigInt(value)
  throw new ShapeError(`${field} is not a whole number as text`)
}

export function choiceOf<T extends string>(value: unknown, field: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value)
  if (found !== undefined) return found
  throw new ShapeError(`${field} is none of ${choices.join(', ')}`)
}

/** Absent and null are both undefined. */
export function optionally<T>(value: unknown, field: string, read: (value: unknown, field: string) => T): T | undefined {
  return value === undefined || value === null ? undefined : read(value, field)
}

export function mapValuesOf<T>(value: unknown, field: string, read: (value: unknown, field: string) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(objectOf(value, field)).map(([key, item]) => [key, read(item, `${field}.${key}`)]))
}

/** JSON text with every bigint as decimal text. */
export const stringify = (value: unknown): string => JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? item.toString() : item))

import { setTimeout as pause } from 'node:timers/promises'

/** Bounds are those of a machine that is at nobody else's service; a busy one gets so many times as long. They cost only what fails. */
const PATIENCE = 4

export interface WaitOptions {
  /** Bound in milliseconds, on a quiet machine. Default: 20 seconds. */
  readonly within?: number
  /** Time between two looks in milliseconds. Default: 50. */
  readonly every?: number
  /** What is waited for, for the error. */
  readonly what?: string
}

/** What a value is once it is known to be neither false nor missing. */
type Held<T> = Exclude<T, false | null | undefined>

/**
 * Looks again and again until the condition returns something truthy, and returns that. A condition that throws counts as
 * not yet, so it may be made of expectations.
 *
 * @throws Error with the condition's last error or value when the bound is hit.
 */
export async function eventually<T>(condition: () => T | Promise<T>, options: WaitOptions = {}): Promise<Held<T>> {
  const within = (options.within ?? 20_000) * PATIENCE
  const deadline = Date.now() + within
  for (;;) {
    let last: unknown
    try {
      const value = await condition()
      if (value) return value as Held<T>
      last = value
    } catch (error) {
      last = error
    }
    if (Date.now() > deadline) {
      const cause = last instanceof Error ? last.message : String(last)
      throw new Error(`${options.what ?? 'The condition'} did not hold within ${within} ms: ${cause}`, { cause: last })
    }
    await pause(options.every ?? 50)
  }
}

/** What the promise gives, unless that takes too long. Throws Error saying what. */
export async function inTime<T>(promise: Promise<T>, within: number, what: string): Promise<T> {
  const bound = new AbortController()
  const late = pause(within, undefined, { signal: bound.signal }).then(() => {
    throw new Error(`${what} took longer than ${within} ms`)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    bound.abort()
    late.catch(() => {})
  }
}

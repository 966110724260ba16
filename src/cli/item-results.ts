import type { TopicResult } from '../service/types.js'

type Succeeded<T> = Extract<TopicResult<T>, { ok: true }>

/** Those that worked, in order. */
export function succeeded<T>(results: readonly TopicResult<T>[]): Succeeded<T>[] {
  return results.filter((result): result is Succeeded<T> => result.ok)
}

/** Results as JSON: an error is its code, sentence and advice. */
export function resultJson<T>(results: readonly TopicResult<T>[]): unknown[] {
  return results.map((result) => {
    if (result.ok) return result
    const { code, message, advice } = result.error
    return { ...result, error: { code, message, advice } }
  })
}

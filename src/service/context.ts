import type { Cluster } from '../client/cluster.js'

import type { StateStore } from './state-store.js'
import type { TextMap } from './types.js'

/** What every use case works on. */
export interface ServiceContext {
  readonly destination: Cluster
  readonly store: StateStore
  /** Milliseconds since the epoch. */
  now(): number
}

export const entriesOf = (map: TextMap): Map<string, string> =>
  new Map(map instanceof Map ? (map as ReadonlyMap<string, string>) : Object.entries(map))

export const byName = (a: { readonly topic: string }, b: { readonly topic: string }): number =>
  a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : 0

/** The promise's value, or undefined if it fails or takes longer; `failed` is told why. */
export async function within<T>(milliseconds: number, promise: Promise<T>, failed: (error: unknown) => void): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${milliseconds} ms`)), milliseconds)
  })
  try {
    return await Promise.race([promise, late])
  } catch (error) {
    failed(error)
    return undefined
  } finally {
    clearTimeout(timer)
  }
}
